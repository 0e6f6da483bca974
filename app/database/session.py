"""The session, the base of models, and the units of work ``transaction`` and ``reading``.

Verbs flush and never commit; only edges open a unit of work.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session as FlaskSession
from sqlalchemy import (
    Connection,
    Delete,
    Dialect,
    Engine,
    Insert,
    MetaData,
    Row,
    Select,
    Update,
    event,
)
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import DeclarativeBase, ORMExecuteState, Session
from sqlalchemy.orm.exc import StaleDataError

from app.core import measuring
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.core.lanes import Lane, current
from app.database.compiled_statements import Compiled, Statement, compiled, run, wrapped
from app.database.connect import for_writing, read_connection
from app.database.failures import is_outage, is_retryable, unavailable
from app.database.shared_transactions import SharedTransactionFailed, SharedTransactions
from app.database.writer_lock import writer_lock

T = TypeVar("T")
Model = TypeVar("Model", bound="Base")

# A query and a result row, with any columns.
AnySelect = Select[*tuple[Any, ...]]
AnyRow = Row[*tuple[Any, ...]]

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

ATTEMPTS = 4


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)


# The connection of the current unit of work, if it only reads and if it writes.
reader: ContextVar[Connection | None] = ContextVar("reader", default=None)
writer: ContextVar[Connection | None] = ContextVar("writer", default=None)
# Callbacks to run once each after the commit, in order.
_callbacks: ContextVar[dict[Callable[[], None], None] | None] = ContextVar(
    "callbacks", default=None
)
# Values that verbs keep until the end of a writing unit of work.
_values: ContextVar[dict[str, Any] | None] = ContextVar("values", default=None)

_transactions: WeakKeyDictionary[Engine, SharedTransactions] = WeakKeyDictionary()
# A fork can copy locks that another thread holds.
os.register_at_fork(after_in_child=_transactions.clear)


class UnitSession(FlaskSession):
    """A session that uses the connection of the current unit of work."""

    def get_bind(self, *args: Any, **kwargs: Any) -> Engine | Connection:
        connection = reader.get() or writer.get()
        return connection if connection is not None else super().get_bind(*args, **kwargs)


db = SQLAlchemy(
    metadata=Base.metadata,
    session_options={"autoflush": False, "expire_on_commit": False, "class_": UnitSession},
)
session = cast("Session", db.session)


class Prepared:
    """A statement of plain columns that is compiled once, for code in every request."""

    def __init__(self, statement: Statement, *, planned_once: bool = False) -> None:
        """``planned_once`` is as in ``compiled``; use it for lists of keys."""
        self.statement = statement
        self._planned_once = planned_once
        self._compiled: dict[str, Compiled] = {}

    def all(self, **values: Any) -> list[Any]:
        """All rows for these parameters, in the current unit of work."""
        connection = reader.get()
        if connection is None:
            connection = writer.get() or session.connection()
        elif isinstance(self.statement, Insert | Update | Delete):
            raise RuntimeError("a reading unit of work tried to write")
        dialect = connection.dialect
        return run(connection, self._compiled.get(dialect.name) or self.compiled(dialect), values)

    def compiled(self, dialect: Dialect) -> Compiled:
        """The statement for this database."""
        if dialect.name not in self._compiled:
            result = compiled(self.statement, dialect, planned_once=self._planned_once)
            self._compiled[dialect.name] = result
        return self._compiled[dialect.name]

    def first(self, **values: Any) -> Any:
        rows = self.all(**values)
        return rows[0] if rows else None


def by_id(model: type[Model], identifier: str) -> Model | None:
    """The row with this id; None if it does not exist or the text is not an id."""
    canonical = as_uuid(identifier)
    return session.get(model, canonical) if canonical is not None else None


def by_id_or_not_found(model: type[Model], identifier: str, resource: str) -> Model:
    """The row with this id; raises NotFound."""
    row = by_id(model, identifier)
    if row is None:
        raise NotFound(resource, identifier)
    return row


@event.listens_for(Session, "before_flush")
def _only_writers_flush(*_: object) -> None:
    """Forbid flushes in a reading unit of work: SQLite may refuse, as its snapshot is old."""
    if reader.get() is not None:
        raise RuntimeError("a reading unit of work tried to write")


@event.listens_for(Session, "do_orm_execute")
def _only_writers_execute(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete:
        _only_writers_flush()


@contextmanager
def _outages() -> Iterator[None]:
    """Turn errors of an outage into Unavailable."""
    try:
        yield
    except (PoolTimeout, DBAPIError) as error:
        if isinstance(error, PoolTimeout) or is_outage(error):
            raise unavailable(error) from error
        raise


@contextmanager
def transaction(*, async_commit: bool = False) -> Iterator[None]:
    """A unit of work that writes: commits at its end, rolls back on any exception.

    With ``async_commit`` the commit does not wait for the disk: a crash of the machine may lose it,
    a crash of this process does not. The next commit that waits also writes it to the disk. Raises
    Unavailable in an outage, and LaneRequired on the event loop.
    """
    with _unit_of_work(_begin_writing(async_commit=async_commit)):
        yield


@contextmanager
def _begin_writing(
    *, async_commit: bool = False, deadline: float | None = None
) -> Iterator[Connection]:
    """A connection in a transaction that writes."""
    with (
        _outages(),
        writer_lock(db.engine, deadline),
        db.engine.connect() as connection,
        for_writing(connection, async_commit=async_commit).begin(),
    ):
        yield connection


def _shared_transactions() -> SharedTransactions | None:
    """The shared transactions of this process; only on SQLite, for requests in the POOL lane."""
    engine = db.engine
    if current() is not Lane.POOL or engine.dialect.name != "sqlite":
        return None
    found = _transactions.get(engine)
    return found or _transactions.setdefault(engine, SharedTransactions(_begin_writing))


@contextmanager
def _unit_of_work(begun: AbstractContextManager[Connection]) -> Iterator[None]:
    """Work with the connection of ``begun``, then run the callbacks."""
    is_session_open = db.session.registry.has() and db.session().in_transaction()
    if reader.get() is not None or writer.get() is not None or is_session_open:
        raise RuntimeError("a unit of work is open already")
    callbacks: dict[Callable[[], None], None] = {}
    started = time.perf_counter()
    with _outages(), begun as connection:
        if measuring.measurements is not None and connection.dialect.name == "sqlite":
            measuring.measurements.writer_lock(time.perf_counter() - started)
        writer_token, callbacks_token = writer.set(connection), _callbacks.set(callbacks)
        values_token = _values.set({})
        try:
            yield
            if db.session.registry.has():
                # This flushes; the connection commits.
                session.commit()
        finally:
            _values.reset(values_token)
            _callbacks.reset(callbacks_token)
            writer.reset(writer_token)
            _end_session()
    _measure("write", started)
    for callback in callbacks:
        callback()


@contextmanager
def savepoint() -> Iterator[None]:
    """In a ``transaction``: a failure inside rolls back only this block."""
    with session.begin_nested():
        # A session sets its savepoint on first use, which may be after a prepared statement.
        session.connection()
        yield


def after_commit(callback: Callable[[], None]) -> None:
    """Run ``callback`` once after the current ``transaction`` commits; never if it fails."""
    callbacks = _callbacks.get()
    if callbacks is None:
        raise RuntimeError("nothing is being written")
    callbacks[callback] = None


def unit_values() -> dict[str, Any] | None:
    """The values that verbs keep until the end of the current ``transaction``; None outside."""
    return _values.get()


def is_postgresql() -> bool:
    connection = reader.get() or writer.get()
    dialect = connection.dialect if connection is not None else db.engine.dialect
    return dialect.name == "postgresql"


@contextmanager
def pipeline() -> Iterator[None]:
    """In a ``transaction``: do not wait for PostgreSQL's response to each statement.

    A later statement, or the end, raises the error. Statements with rows must be ``Prepared``.
    """
    connection = writer.get()
    if connection is None:
        raise RuntimeError("nothing is being written")
    driver: Any = connection.connection.dbapi_connection
    if not hasattr(driver, "pipeline"):
        yield
        return
    try:
        with driver.pipeline():
            yield
    except connection.dialect.loaded_dbapi.Error as error:
        raise wrapped(connection, None, error) from error


def discard() -> None:
    """Invalidate the connection of the current, failed unit of work."""
    connection = reader.get() or writer.get()
    if connection is not None and not connection.invalidated:
        connection.invalidate()


def is_writing() -> bool:
    return writer.get() is not None


@contextmanager
def reading() -> Iterator[None]:
    """A unit of work that only reads, on SQLite from one snapshot; raises Unavailable."""
    started = time.perf_counter()
    with _outages(), read_connection(db.engine) as connection:
        token = reader.set(connection)
        try:
            yield
        finally:
            # Reset first, so that the unit of work ends even if closing the session fails.
            reader.reset(token)
            _end_session()
    _measure("read", started)


@contextmanager
def between_snapshots() -> Iterator[None]:
    """In a ``reading``: allow other units of work inside; afterwards the snapshot is new."""
    connection = reader.get()
    if connection is None:
        raise RuntimeError("nothing is being read")
    if db.session.registry.has():
        _end_session()
    driver: Any = connection.connection.dbapi_connection
    if connection.dialect.name == "sqlite" and driver.in_transaction:
        driver.rollback()
    token = reader.set(None)
    try:
        yield
    finally:
        reader.reset(token)


def _measure(kind: measuring.UnitOfWorkKind, started: float) -> None:
    if measuring.measurements is not None:
        measuring.measurements.unit_of_work(kind, time.perf_counter() - started)


def _end_session() -> None:
    """Close the session, if there is one, or replace it if closing fails.

    Its objects stay readable for the rest of the request.
    """
    if not db.session.registry.has():
        return
    try:
        session.close()
    except DBAPIError:
        db.session.registry.clear()
        raise


def run_write(work: Callable[[], T], *, async_commit: bool = False) -> T:
    """Run ``work`` in a ``transaction``, and again after a collision, up to ATTEMPTS times.

    A collision is a PostgreSQL error (``failures.is_retryable``) or a StaleDataError: the row
    changed after it was read. Requests on SQLite share a transaction with others that wait; if it
    fails, ``work`` runs again alone. ``work`` must have no effect outside the database.
    After the last collision, raises Unavailable, or the IntegrityError of a foreign key.
    """
    shared = None if async_commit else _shared_transactions()
    if shared is not None:
        with suppress(SharedTransactionFailed):
            return _run_with_retries(work, shared.member)
        _measure_collision()
    return _run_with_retries(work, partial(_begin_writing, async_commit=async_commit))


def _run_with_retries(
    work: Callable[[], T], begin: Callable[[], AbstractContextManager[Connection]]
) -> T:
    collision: Exception = StaleDataError()
    for _ in range(ATTEMPTS):
        try:
            with _unit_of_work(begin()):
                return work()
        except (DBAPIError, StaleDataError) as error:
            if not isinstance(error, StaleDataError) and not is_retryable(error):
                raise
            collision = error
        _measure_collision()
        time.sleep(random.uniform(0.01, 0.1))  # noqa: S311 - spreads collisions
    if isinstance(collision, IntegrityError):
        raise collision  # The row that a foreign key names is missing.
    raise unavailable(collision) from collision


def _measure_collision() -> None:
    if measuring.measurements is not None:
        measuring.measurements.collision()


class AfterCommitSignal:
    """Calls its listeners after a transaction has committed."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Add a listener, which must not block."""
        self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    def emit(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def emit_after_commit(self) -> None:
        """Emit after the current transaction commits; not if it fails."""
        after_commit(self.emit)
