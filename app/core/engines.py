"""How each database is opened."""

import sqlite3
import time
from functools import partial
from typing import Any

import orjson
import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.string import TextLoader
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from app.core.lanes import LONG_THREADS
from app.core.prepared import wrapped

# The execution option, and the session's mark, of a unit of work that writes.
WRITES = "docket_writes"
# The execution option of one whose commit need not wait for the disk.
HASTY = "docket_hasty"

# Ids are text to everyone here (``columns.Id``), so no connection makes an object of each.
psycopg.adapters.register_loader("uuid", TextLoader)

# A connection that was used less than this ago is not asked whether it still lives.
FRESH_SECONDS = 1.0
_SEEN = "docket_seen"
# When a connection was used last, where that was before it comes back to the pool.
USED = "docket_used"
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
        # SQL errors must not print what clients sent (secrets among it).
        "hide_parameters": True,
        "json_serializer": lambda value: orjson.dumps(value).decode(),
        "json_deserializer": orjson.loads,
    }
    if sqlite:
        # Last in, first out: the connection that is used next has its pages in its cache.
        return common | {
            "pool_timeout": 10,
            "pool_use_lifo": True,
            "connect_args": {"timeout": 10.0},
        }
    return common | {
        "pool_timeout": 5,
        "pool_recycle": 1800,
        "pool_use_lifo": True,
        # Rolled back where there is something to roll back (_reset_postgres).
        "pool_reset_on_return": None,
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
        event.listen(engine, "reset", _reset_postgres)
        event.listen(engine, "checkin", _check_in)


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
        # A unit of work that reads, and did so by a prepared select before (prepared.py).
        return
    options = connection.get_execution_options()
    if options.get(WRITES, False):
        _set_synchronous(connection, "NORMAL" if options.get(HASTY, False) else "FULL")
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
    """Read without a transaction.

    At READ COMMITTED each statement sees what is committed when it starts, so around what only
    reads a transaction would add nothing but two turns to the server.
    """
    driver.autocommit = True


def _begin_postgres(connection: Connection) -> None:
    driver: Any = connection.connection.dbapi_connection
    if driver.autocommit:
        driver.autocommit = False
    if connection.get_execution_options().get(HASTY, False):
        connection.exec_driver_sql("SET LOCAL synchronous_commit = off")


def _end(driver: Any) -> None:
    """End what is open, if anything can be; what cannot, the driver's own way tells why."""
    if driver.pgconn.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        driver.pgconn.exec_(b"ROLLBACK")


def _reset_postgres(driver: Any, _record: object, _state: object) -> None:
    """End what was begun; most only read, and began nothing. Raises OperationalError if lost."""
    _end(driver)
    if driver.pgconn.transaction_status != TransactionStatus.IDLE:
        driver.rollback()


def _check_out(engine: Engine, driver: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """See that the server is still there, unless it was a moment ago.

    Raises DisconnectionError, on which the pool opens another connection.
    """
    if time.monotonic() - record.info.get(_SEEN, 0.0) < FRESH_SECONDS:
        return
    try:
        engine.dialect.do_ping(driver)
    except engine.dialect.loaded_dbapi.Error as error:
        raise DisconnectionError from error


def _check_in(driver: Any, record: ConnectionPoolEntry) -> None:
    if driver is not None:
        if not driver.autocommit:
            driver.autocommit = True
        record.info[_SEEN] = record.info.pop(USED, None) or time.monotonic()
