"""The database: models' base, the session, and the units of work ``transaction`` and ``reading``.

Verbs flush and never commit; only edges open a unit of work. How each engine keeps its promises
(one writer on SQLite, time limits on PostgreSQL) is in ``connect.py``.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

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
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, ORMExecuteState, Session
from sqlalchemy.orm.exc import StaleDataError

from app.core.errors import Unavailable
from app.core.ids import as_uuid
from app.database.compiled_statements import Compiled, Statement, compiled, run, wrapped
from app.database.connect import for_writing
from app.database.connections import connected
from app.database.failures import is_retryable, outages
from app.database.writer_lock import writer_lock

T = TypeVar("T")
Model = TypeVar("Model", bound="Base")

# A query, and a row of one, with any columns.
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
    """The declarative base of all models."""

    metadata = MetaData(naming_convention=NAMING)


# The connection of the unit of work at hand: of one that only reads, or of one that writes.
reader: ContextVar[Connection | None] = ContextVar("reader", default=None)
writer: ContextVar[Connection | None] = ContextVar("writer", default=None)
# What is to be done once the unit of work at hand has committed, each thing once.
_afterwards: ContextVar[dict[Callable[[], None], None] | None] = ContextVar(
    "afterwards", default=None
)


class UnitSession(FlaskSession):
    """The session: it takes part in the unit of work at hand, which begins and ends without it."""

    def get_bind(self, *args: Any, **kwargs: Any) -> Engine | Connection:
        """The connection at hand, or the engine."""
        connection = reader.get() or writer.get()
        return connection if connection is not None else super().get_bind(*args, **kwargs)


db = SQLAlchemy(
    metadata=Base.metadata,
    session_options={"autoflush": False, "expire_on_commit": False, "class_": UnitSession},
)
session = cast("Session", db.session)


class Prepared:
    """A statement of plain columns, made once at import, for what every request does."""

    def __init__(self, statement: Statement, *, planned_once: bool = False) -> None:
        """``planned_once`` where lists are looked up by a key: see ``prepared.compiled``."""
        self.statement = statement
        self._planned_once = planned_once
        self._compiled: dict[str, Compiled] = {}

    def all(self, **values: Any) -> list[Any]:
        """All rows for these values of its parameters, in the unit of work at hand."""
        connection = reader.get()
        if connection is None:
            connection = writer.get() or session.connection()
        elif isinstance(self.statement, Insert | Update | Delete):
            raise RuntimeError("a reading unit of work tried to write")
        return run(connection, self.compiled(connection.dialect), values)

    def compiled(self, dialect: Dialect) -> Compiled:
        """The statement in the language of this database."""
        ready = self._compiled.get(dialect.name)
        if ready is None:
            ready = self._compiled[dialect.name] = compiled(
                self.statement, dialect, planned_once=self._planned_once
            )
        return ready

    def first(self, **values: Any) -> Any:
        """The first row, or None."""
        rows = self.all(**values)
        return rows[0] if rows else None


def by_id(model: type[Model], identifier: str) -> Model | None:
    """The row of this id; None where there is none, or where the text is no id at all.

    REST checks the form of ids before, pages and commands pass on what a person sent.
    """
    canonical = as_uuid(identifier)
    return session.get(model, canonical) if canonical is not None else None


@event.listens_for(Session, "before_flush")
def _only_writers_flush(*_: object) -> None:
    """A read must never turn into a write: on SQLite it could fail halfway."""
    if reader.get() is not None:
        raise RuntimeError("a reading unit of work tried to write")


@event.listens_for(Session, "do_orm_execute")
def _only_writers_execute(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete:
        _only_writers_flush()


@contextmanager
def transaction(*, async_commit: bool = False) -> Iterator[None]:
    """A unit of work that writes: commits at its end, rolls back on any exception.

    With ``async_commit`` the commit does not wait for the disk: it is seen by all and survives the
    end of this process like any other, and the next commit that waits carries it to the disk.
    Raises Unavailable without a database, and LaneRequired on the event loop.
    """
    by_session = db.session.registry.has() and db.session().in_transaction()
    if reader.get() is not None or writer.get() is not None or by_session:
        raise RuntimeError("a unit of work is open already")
    queue: dict[Callable[[], None], None] = {}
    with (
        outages(),
        writer_lock(db.engine),
        db.engine.connect() as connection,
        for_writing(connection, async_commit=async_commit).begin(),
    ):
        wrote, afterwards = writer.set(connection), _afterwards.set(queue)
        try:
            yield
            if db.session.registry.has():
                # It flushes, and ends its part; the commit is the connection's.
                session.commit()
        finally:
            _afterwards.reset(afterwards)
            writer.reset(wrote)
            _end_session()
    for act in queue:
        act()


@contextmanager
def savepoint() -> Iterator[None]:
    """In a ``transaction``: what fails in here is undone alone.

    The session sets its savepoint only once it is used; prepared statements would come before it.
    """
    with session.begin_nested():
        session.connection()
        yield


def after_commit(act: Callable[[], None]) -> None:
    """Do this, once, when the ``transaction`` at hand has committed; not if it fails."""
    queue = _afterwards.get()
    if queue is None:
        raise RuntimeError("nothing is being written")
    queue[act] = None


def is_postgresql() -> bool:
    """Whether the database is PostgreSQL; else it is SQLite."""
    connection = reader.get() or writer.get()
    dialect = connection.dialect if connection is not None else db.engine.dialect
    return dialect.name == "postgresql"


@contextmanager
def pipeline() -> Iterator[None]:
    """In a ``transaction``: statements go to PostgreSQL without waiting for each one's result.

    An error is raised by any later statement, or at the end. What has rows must be prepared.
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
    """Have nobody use the connection of the unit of work at hand after it, which has failed."""
    connection = reader.get() or writer.get()
    if connection is not None and not connection.invalidated:
        connection.invalidate()


def is_writing() -> bool:
    """Whether the unit of work at hand writes."""
    return writer.get() is not None


@contextmanager
def reading() -> Iterator[None]:
    """A unit of work that only reads, from one snapshot on SQLite; ends without a trace.

    Raises Unavailable without a database.
    """
    with outages(), connected(db.engine) as connection:
        read = reader.set(connection)
        try:
            yield
        finally:
            # First of all: whatever fails below, this thread is no longer in a unit of work.
            reader.reset(read)
            _end_session()


@contextmanager
def between_snapshots() -> Iterator[None]:
    """In a ``reading``: others can be opened meanwhile; it goes on with a new snapshot."""
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


def _end_session() -> None:
    """Close the session, if there is one; one whose connection is lost gives way to another.

    Objects stay readable for the rest of the request.
    """
    if not db.session.registry.has():
        return
    try:
        session.close()
    except DBAPIError:
        db.session.registry.clear()
        raise


def run_write(work: Callable[[], T], *, async_commit: bool = False) -> T:
    """Run ``work`` in a ``transaction``, again when the database asks for it.

    PostgreSQL refuses one of two that collide (``failures.is_retryable``), and a row that changed
    between being read and written is a StaleDataError: the whole of the work runs anew, at most
    three times more. ``work`` must have no effect outside the database.
    """
    for attempt in range(ATTEMPTS):
        try:
            with transaction(async_commit=async_commit):
                return work()
        except (DBAPIError, StaleDataError) as error:
            stale = isinstance(error, StaleDataError)
            if attempt == ATTEMPTS - 1 or not (stale or is_retryable(error)):
                raise
        time.sleep(random.uniform(0.01, 0.1))  # noqa: S311 - spreads collisions, hides nothing
    raise Unavailable


class AfterCommitSignal:
    """Rung once a transaction has committed; calls whoever listens."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def listen(self, act: Callable[[], None]) -> None:
        """Call this each time; it must not wait for anything."""
        self._listeners.append(act)

    def forget(self, act: Callable[[], None]) -> None:
        """Stop calling it, if it is called."""
        if act in self._listeners:
            self._listeners.remove(act)

    def emit(self) -> None:
        """Call all who listen, now."""
        for act in tuple(self._listeners):
            act()

    def emit_after_commit(self) -> None:
        """Ring once the transaction at hand has committed; not if it fails."""
        after_commit(self.emit)
