"""How each database is opened."""

import sqlite3
import time
from functools import partial
from typing import Any

import orjson
import psycopg
from psycopg.types.string import TextLoader
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from app.core.lanes import LONG_THREADS
from app.database.compiled_statements import wrapped

# The execution option of a connection that writes.
WRITES = "docket_writes"
# The execution option of a connection that only reads.
READS = "docket_reads"
# The execution option of one whose commit need not wait for the disk.
ASYNC_COMMIT = "docket_async_commit"

# Ids are text to everyone here (``columns.Id``), so no connection makes an object of each.
psycopg.adapters.register_loader("uuid", TextLoader)

# A connection that was used less than this ago is not asked whether it still lives.
FRESH_SECONDS = 1.0
# When a connection was used last.
SEEN = "docket_seen"
_SYNCHRONOUS = "docket_synchronous"

SQLITE_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "busy_timeout=10000",
    "journal_size_limit=67108864",
    "wal_autocheckpoint=1000",
    "cache_size=-4000",
    "temp_store=MEMORY",
    "trusted_schema=OFF",
    "cell_size_check=ON",
    "mmap_size=0",
    # Some builds (Debian's) write zeros over all that is deleted. Pages that become free would have
    # to be written for nothing else: a fifth of what creating a ticket writes, its index included.
    "secure_delete=FAST",
)

POSTGRES_OPTIONS = (
    # No statement of ours runs for so long that compiling it would pay.
    "-c jit=off -c statement_timeout=15000 -c lock_timeout=5000 "
    "-c idle_in_transaction_session_timeout=30000 -c timezone=UTC"
)


def engine_options(*, sqlite: bool, threads: int) -> dict[str, Any]:
    """The options of ``create_engine`` for one process with this many threads for requests."""
    common: dict[str, Any] = {
        # And those of the jobs.
        "pool_size": threads + LONG_THREADS + 4,
        "max_overflow": 0,
        # The connection that was used last has its pages in its cache, and was there a moment ago.
        "pool_use_lifo": True,
        # SQL errors must not print what clients sent (secrets among it).
        "hide_parameters": True,
        "json_serializer": lambda value: orjson.dumps(value).decode(),
        "json_deserializer": orjson.loads,
    }
    if sqlite:
        return common | {"pool_timeout": 10, "connect_args": {"timeout": 10.0}}
    return common | {
        "pool_timeout": 5,
        "pool_recycle": 1800,
        "isolation_level": "READ COMMITTED",
        "connect_args": {
            "connect_timeout": 3,
            "application_name": "docket",
            "keepalives": 1,
            "keepalives_idle": 15,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15000,
            "options": POSTGRES_OPTIONS,
        },
    }


def prepare(engine: Engine) -> None:
    """Attach what this engine needs to each new connection and transaction."""
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _open_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _open_postgres)
        event.listen(engine, "begin", _begin_postgres)
        event.listen(engine, "checkout", partial(_check_out, engine))
        event.listen(engine, "checkin", _check_in)


def for_writing(connection: Connection, *, async_commit: bool = False) -> Connection:
    """The connection, whose transactions write; ``async_commit`` as in ``db.transaction``."""
    return connection.execution_options(**{WRITES: True, ASYNC_COMMIT: async_commit})


def for_reading(connection: Connection) -> Connection:
    """The connection, which until it is back in the pool opens no transaction on PostgreSQL.

    At READ COMMITTED each statement sees what is committed when it starts, so around what only
    reads a transaction would add nothing but two turns to the server.
    """
    return connection.execution_options(**{READS: True})


def is_alive(engine: Engine, driver: Any, info: dict[Any, Any]) -> bool:
    """Whether the server is still there; it is not asked where it was a moment ago."""
    if time.monotonic() - info.get(SEEN, 0.0) < FRESH_SECONDS:
        return True
    try:
        engine.dialect.do_ping(driver)
    except engine.dialect.loaded_dbapi.Error:
        return False
    return True


def _open_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Take BEGIN into our own hands and make commits durable."""
    connection.isolation_level = None
    for pragma in SQLITE_PRAGMAS:
        row = connection.execute(f"PRAGMA {pragma}").fetchone()
        if pragma == "journal_mode=WAL" and row[0] not in ("wal", "memory"):
            raise RuntimeError(
                f"SQLite cannot use a write-ahead log here (it answered {row[0]}); "
                "put the database on a local file system."
            )


def _begin_sqlite(connection: Connection) -> None:
    """Writers take the write lock at once: a read that upgrades fails under load."""
    driver: Any = connection.connection.dbapi_connection
    if driver.in_transaction:
        # A prepared statement of a unit of work that reads began it (prepared.py).
        return
    options = connection.get_execution_options()
    if options.get(WRITES, False):
        _set_synchronous(connection, "NORMAL" if options.get(ASYNC_COMMIT, False) else "FULL")
        _run(connection, "BEGIN IMMEDIATE")
    else:
        _run(connection, "BEGIN")


def _set_synchronous(connection: Connection, level: str) -> None:
    """Whether commits of this connection wait for the disk; it remembers the level."""
    if connection.info.get(_SYNCHRONOUS, "FULL") != level:
        _run(connection, f"PRAGMA synchronous={level}")
        connection.info[_SYNCHRONOUS] = level


def _run(connection: Connection, sql: str) -> None:
    """Run this straight on SQLite: by SQLAlchemy it would take a fourth of a short write."""
    driver: Any = connection.connection.dbapi_connection
    try:
        driver.execute(sql)
    except sqlite3.Error as error:
        raise wrapped(connection, sql, error) from error


def _open_postgres(driver: Any, _record: object) -> None:
    driver.autocommit = True


def _begin_postgres(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get(READS, False):
        return
    driver: Any = connection.connection.dbapi_connection
    driver.autocommit = False
    if options.get(ASYNC_COMMIT, False):
        connection.exec_driver_sql("SET LOCAL synchronous_commit = off")


def _check_out(engine: Engine, driver: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Raise DisconnectionError where it is dead, on which the pool opens another connection."""
    if not is_alive(engine, driver, record.info):
        raise DisconnectionError


def _check_in(driver: Any, record: ConnectionPoolEntry) -> None:
    if driver is not None:
        driver.autocommit = True
        record.info[SEEN] = time.monotonic()
