"""The database: models' base, the session, and the units of work ``transaction`` and ``reading``.

Verbs flush and never commit; only edges open a unit of work. How each engine keeps its promises
(one writer on SQLite, time limits on PostgreSQL) is in ``engines.py``.
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
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.orm.exc import StaleDataError

from app.core.at_work import reader, writer
from app.core.engines import HASTY, WRITES
from app.core.errors import Unavailable
from app.core.failures import is_retryable, outages, tell_outage
from app.core.ids import as_uuid
from app.core.prepared import Compiled, Statement, compiled, run, wrapped
from app.core.soon import Question, asked_soon
from app.core.spare_connections import end_left, give_back, leave, lent, taken_up
from app.core.writer_lock import writer_lock

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

    def asked(self, **values: Any) -> Question:
        """The statement with these values, to be asked now or ``soon``."""
        return Question(self, values)

    def all(self, **values: Any) -> list[Any]:
        """All rows for these values of its parameters, in the unit of work at hand."""
        connection = reader.get()
        if connection is None:
            connection = writer.get() or session.connection()
        elif isinstance(self.statement, Insert | Update | Delete):
            raise RuntimeError("a reading unit of work tried to write")
        elif (along := asked_soon.get()) is not None:
            rows = along.answer(connection, Question(self, values))
            if rows is not None:
                return rows
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
def _only_writers_flush(flushing: Session, *_: object) -> None:
    """A read must never turn into a write: on SQLite it could fail halfway."""
    if reader.get() is not None:
        raise RuntimeError("a reading unit of work tried to write")


@contextmanager
def transaction(*, hasty: bool = False) -> Iterator[None]:
    """A unit of work that writes: commits at its end, rolls back on any exception.

    A ``hasty`` one is seen by all and survives the end of this process like any other, but its
    commit does not wait for the disk: the next one that does carries it there. Raises Unavailable
    without a database, and LaneRequired on the event loop.
    """
    by_session = db.session.registry.has() and db.session().in_transaction()
    if reader.get() is not None or writer.get() is not None or by_session:
        raise RuntimeError("a unit of work is open already")
    end_left()
    engine = db.engine
    queue: dict[Callable[[], None], None] = {}
    with outages(), writer_lock(engine), lent(engine) as connection:
        begun = connection.execution_options(**{WRITES: True, HASTY: hasty}).begin()
        wrote, afterwards = writer.set(connection), _afterwards.set(queue)
        try:
            yield
            if db.session.registry.has():
                # It flushes, and ends its part; the commit is ours.
                session.commit()
            begun.commit()
        finally:
            _afterwards.reset(afterwards)
            writer.reset(wrote)
            if db.session.registry.has():
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
def in_one_go() -> Iterator[None]:
    """In a ``transaction``: what is written meanwhile goes to PostgreSQL without waiting for each.

    A refusal is raised by any later statement, or at the end. What has rows must be prepared.
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
def reading(*, goes_on: bool = False) -> Iterator[None]:
    """A unit of work that only reads, from one snapshot on SQLite; ends without a trace.

    One that ``goes_on`` leaves its connection and snapshot to the next of the same request
    (``spare_connections.leave``). To go into ``outages`` and ``lent`` would be a third of its time.
    """
    engine = db.engine
    try:
        connection = taken_up(engine)
        try:
            token, outer = reader.set(connection), asked_soon.set(None)
            try:
                yield
            finally:
                # First of all: whatever fails below, this thread is no longer in a unit of work.
                reader.reset(token)
                asked_soon.reset(outer)
                if db.session.registry.has():
                    _end_session()
        except BaseException:
            connection.close()
            raise
    except (PoolTimeout, DBAPIError) as error:
        tell_outage(error)
        raise
    (leave if goes_on else give_back)(engine, connection)


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
    """Close the session; one that cannot be, its connection being lost, gives way to another.

    Objects stay readable for the rest of the request.
    """
    try:
        session.close()
    except DBAPIError:
        db.session.registry.clear()
        raise


def run_write(work: Callable[[], T], *, hasty: bool = False) -> T:
    """Run ``work`` in a ``transaction``, again when the database asks for it.

    PostgreSQL refuses one of two that collide (``failures.is_retryable``), and a row that changed
    between being read and written is a StaleDataError: the whole of the work runs anew, at most
    three times more. ``work`` must have no effect outside the database.
    """
    for attempt in range(ATTEMPTS):
        try:
            with transaction(hasty=hasty):
                return work()
        except (DBAPIError, StaleDataError) as error:
            stale = isinstance(error, StaleDataError)
            if attempt == ATTEMPTS - 1 or not (stale or is_retryable(error)):
                raise
        time.sleep(random.uniform(0.01, 0.1))  # noqa: S311 - spreads collisions, hides nothing
    raise Unavailable
