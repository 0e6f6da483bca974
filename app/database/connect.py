"""Connections to each database: how they are opened and reused, and how transactions begin."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import orjson
import psycopg
from psycopg.types.string import TextLoader
from sqlalchemy import Connection, Engine, event, make_url
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from app.core import clock, ids
from app.core.lanes import LONG_THREADS
from app.database.compiled_statements import wrapped

# Execution options of a connection: it writes, only reads, or commits without waiting for the disk.
WRITES = "docket_writes"
READS = "docket_reads"
ASYNC_COMMIT = "docket_async_commit"

# Ids are text (``columns.Id``), so psycopg does not need to make UUID objects.
psycopg.adapters.register_loader("uuid", TextLoader)

# A connection that was used within this time is not tested before its next use.
FRESH_SECONDS = 1.0
# Keys of a connection's ``info``: when it was last used, and its level of synchronous commit.
SEEN = "docket_seen"
_SYNCHRONOUS = "docket_synchronous"

_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

# More than two units of work rarely read at once, and the pool needs its connections.
MAX_IDLE_CONNECTIONS = 2
_adding = threading.Lock()
_idle: WeakKeyDictionary[Engine, list[Connection]] = WeakKeyDictionary()

SQLITE_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "busy_timeout=10000",
    "journal_size_limit=67108864",
    # 16 MB, in pages. Writers wait for checkpoints, which write each changed page once.
    "wal_autocheckpoint=4000",
    "cache_size=-4000",
    "temp_store=MEMORY",
    "trusted_schema=OFF",
    "cell_size_check=ON",
    "mmap_size=0",
    # Some builds (Debian's) overwrite deleted data with zeros. That also writes free pages: a
    # fifth of the bytes that creating a ticket writes.
    "secure_delete=FAST",
)

_POSTGRES_OPTIONS = (
    # No statement runs long enough for JIT compilation to pay off.
    "-c jit=off -c statement_timeout=15000 -c lock_timeout=5000 "
    "-c idle_in_transaction_session_timeout=30000 -c timezone=UTC"
)

_POSTGRES = {
    "connect_timeout": 3,
    "application_name": "docket",
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15000,
}


def engine_options(address: str, *, threads: int) -> dict[str, Any]:
    """The options of ``create_engine`` for a process with this many request threads.

    What the address sets for PostgreSQL counts, as ``connect_args`` would replace it.
    """
    url = make_url(address)
    common: dict[str, Any] = {
        # One per request thread, and four for the jobs.
        "pool_size": threads + LONG_THREADS + 4,
        "max_overflow": 0,
        # The last used connection has a warm cache and is probably still alive.
        "pool_use_lifo": True,
        # SQL errors must not print values from clients, which can be secret.
        "hide_parameters": True,
        "json_serializer": lambda value: orjson.dumps(value).decode(),
        "json_deserializer": orjson.loads,
    }
    if url.get_backend_name() == "sqlite":
        return common | {"pool_timeout": 10, "connect_args": {"timeout": 10.0}}
    defaults = {name: value for name, value in _POSTGRES.items() if name not in url.query}
    options = " ".join((_POSTGRES_OPTIONS, *url.normalized_query.get("options", ())))
    return common | {
        "pool_timeout": 5,
        "pool_recycle": 1800,
        "isolation_level": "READ COMMITTED",
        "connect_args": defaults | {"client_encoding": "utf8", "options": options},
    }


def prepare(engine: Engine) -> None:
    """Attach the listeners for new connections and transactions."""
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _open_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _open_postgres)
        event.listen(engine, "begin", _begin_postgres)
        event.listen(engine, "checkout", partial(_check_out, engine))
        event.listen(engine, "checkin", _check_in)


def for_writing(connection: Connection, *, async_commit: bool = False) -> Connection:
    """Make the connection's transactions write; ``async_commit`` is as in ``transaction``."""
    return connection.execution_options(**{WRITES: True, ASYNC_COMMIT: async_commit})


@contextmanager
def read_connection(engine: Engine) -> Iterator[Connection]:
    """A connection for reading; after an exception it returns to the pool.

    Recently used connections are reused without the pool, whose checkout and checkin would take a
    quarter of a short request.
    """
    connection = _acquire(engine)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    _release(engine, connection)


def _for_reading(connection: Connection) -> Connection:
    """Make the connection open no transaction on PostgreSQL until it returns to the pool.

    At READ COMMITTED each statement has its own snapshot anyway. A transaction around reads would
    only add two round trips.
    """
    return connection.execution_options(**{READS: True})


def _is_alive(engine: Engine, driver: Any, info: dict[Any, Any]) -> bool:
    """Whether the connection still works; one that was just used is not tested."""
    if time.monotonic() - info.get(SEEN, 0.0) < FRESH_SECONDS:
        return True
    try:
        engine.dialect.do_ping(driver)
    except engine.dialect.loaded_dbapi.Error:
        return False
    return True


def _open_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Disable implicit transactions, make commits durable, and make ``lower`` handle Unicode."""
    connection.isolation_level = None
    # SQLite's own ``lower`` only handles ASCII.
    connection.create_function("lower", 1, _lower, deterministic=True)
    for pragma in SQLITE_PRAGMAS:
        row = connection.execute(f"PRAGMA {pragma}").fetchone()
        if pragma == "journal_mode=WAL" and row[0] not in ("wal", "memory"):
            raise RuntimeError(
                f"SQLite cannot use a write-ahead log here (it answered {row[0]}); "
                "put the database on a local file system."
            )


def _lower(value: object) -> str | None:
    return None if value is None else str(value).lower()


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction; a writer takes the write lock at once, as upgrading a read can fail."""
    driver: Any = connection.connection.dbapi_connection
    if driver.in_transaction:
        # A compiled statement began the transaction (compiled_statements.py).
        return
    options = connection.get_execution_options()
    if options.get(WRITES, False):
        _set_synchronous(connection, "NORMAL" if options.get(ASYNC_COMMIT, False) else "FULL")
        run_on_driver(connection, "BEGIN IMMEDIATE")
    else:
        run_on_driver(connection, "BEGIN")


def _set_synchronous(connection: Connection, level: str) -> None:
    """Set whether commits wait for the disk, unless the connection is already set so."""
    if connection.info.get(_SYNCHRONOUS, "FULL") != level:
        run_on_driver(connection, f"PRAGMA synchronous={level}")
        connection.info[_SYNCHRONOUS] = level


def run_on_driver(connection: Connection, sql: str, **options: Any) -> Any:
    """Run SQL on the driver; through SQLAlchemy it would take a quarter of a short write."""
    driver: Any = connection.connection.dbapi_connection
    try:
        return driver.execute(sql, **options)
    except connection.dialect.loaded_dbapi.Error as error:
        raise wrapped(connection, sql, error) from error


def _open_postgres(driver: Any, _record: object) -> None:
    """Let ``_begin_postgres`` begin transactions instead of psycopg, and follow the clock."""
    driver.autocommit = True
    _follow_clock(partial(driver.execute, _CLOCK))


def follow_clock(connection: Connection) -> None:
    """Measure again how far the clock of PostgreSQL is ahead, as clocks drift and are set."""
    _follow_clock(partial(run_on_driver, connection, _CLOCK))


def _follow_clock(ask: Callable[[], Any]) -> None:
    """Measure with the last result of the statements that ``ask`` sends."""
    before = time.monotonic_ns()
    answer = ask()
    after = time.monotonic_ns()
    while answer.nextset():
        pass
    (now_us,) = answer.fetchone()
    if clock.follow(now_us * 1000, before, after):
        # A command gave itself an id before it connected.
        ids.start_over()


def _begin_postgres(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get(READS, False):
        return
    begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
    if not options.get(WRITES, False):
        run_on_driver(connection, begin)
        return
    # All in one round trip. Events of the transaction must not get a time before its start, even
    # if the monotonic clock stood still while the machine did.
    then = "; SET LOCAL synchronous_commit = off" if options.get(ASYNC_COMMIT, False) else ""
    begin = f"{begin}{then}; {_CLOCK}"
    _follow_clock(partial(run_on_driver, connection, begin, prepare=False))


def _check_out(engine: Engine, driver: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Raise DisconnectionError if the connection is dead: the pool then opens another."""
    if not _is_alive(engine, driver, record.info):
        raise DisconnectionError


def _check_in(driver: Any, record: ConnectionPoolEntry) -> None:
    if driver is not None:
        record.info[SEEN] = time.monotonic()


def _acquire(engine: Engine) -> Connection:
    idle = _idle.get(engine)
    while idle:
        try:
            connection = idle.pop()
        except IndexError:
            # Another thread took the last one.
            break
        if _is_alive(engine, connection.connection.dbapi_connection, connection.info):
            return connection
        connection.invalidate()
        connection.close()
    return _for_reading(engine.connect())


def _release(engine: Engine, connection: Connection) -> None:
    idle = _idle.get(engine)
    if idle is None:
        idle = _idle.setdefault(engine, [])
        event.listen(engine, "engine_disposed", _discard_all)
    if connection.invalidated or connection.in_transaction():
        connection.close()
        return
    driver: Any = connection.connection.dbapi_connection
    if engine.dialect.name == "sqlite" and driver.in_transaction:
        # A compiled statement began it without SQLAlchemy's knowledge.
        driver.rollback()
    connection.info[SEEN] = time.monotonic()
    with _adding:
        has_room = len(idle) < MAX_IDLE_CONNECTIONS
        if has_room:
            idle.append(connection)
    if not has_room:
        connection.close()


def _discard_all(engine: Engine) -> None:
    """Discard the idle connections of a disposed engine, as a fork must not share them."""
    idle = _idle[engine]
    while idle:
        connection = idle.pop()
        connection.invalidate()
        connection.close()
