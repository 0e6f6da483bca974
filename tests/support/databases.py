"""The databases tests run on: migrated once a session, emptied between tests by real commits."""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psycopg
from flask import Flask
from sqlalchemy import make_url

from app import create_app
from app.config import Settings
from app.database import schema
from app.database.session import Base, db
from tests.support.openapi import CheckedClient
from tests.support.postgres import Cluster, unused_name

# Children before parents; the terms of the search index are no table of the models.
TABLES = ["search_fts", *(table.name for table in reversed(Base.metadata.sorted_tables))]
# Most tests write to few tables, and a look costs less than to delete nothing.
SQLITE_TABLES_WITH_ROWS = " UNION ALL ".join(
    f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})"
    for table in ["search_fts_waiting", *TABLES]
)
EMPTY_POSTGRES = f"""CREATE FUNCTION pg_temp.empty() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    {" ".join(f"IF EXISTS (SELECT FROM {t}) THEN DELETE FROM {t}; END IF;" for t in TABLES)}
    -- A search takes another look where its places lie on both sides of a block's end.
    PERFORM setval(pg_get_serial_sequence('search_docs', 'place'), 1, false);
END $$"""


def settings_for(database_url: str, directory: Path, **changes: Any) -> Settings:
    """Settings for one test database: passwords cost next to nothing, the rest is as shipped."""
    given: dict[str, Any] = {
        "instance_dir": directory,
        "database_url": database_url,
        "secret_key": "a secret key of the tests, long enough",
        "base_url": "http://localhost",
        "log_level": "WARNING",
        "threads": 8,
        "password_time_cost": 1,
        "password_memory_kib": 8,
        "password_parallelism": 1,
    }
    return Settings(**(given | changes))


class Database(Protocol):
    """A migrated database and the application on it."""

    kind: str
    settings: Settings
    app: Flask

    def empty(self) -> None:
        """Delete every row, those of the append-only table included."""


def _migrated(settings: Settings) -> Flask:
    app = create_app(settings)
    app.testing = True
    app.test_client_class = CheckedClient
    with app.app_context():
        schema.upgrade()
    return app


def _release(app: Flask) -> None:
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


@dataclass
class SqliteDatabase:
    """A SQLite file, in memory-backed storage where there is one."""

    settings: Settings
    app: Flask
    connection: sqlite3.Connection = field(repr=False)
    kind: str = "sqlite"

    def empty(self) -> None:
        _delete_all(self.connection)


def empty_sqlite(path: Path) -> None:
    """Delete every row of a file."""
    with closing(_opened_for_deleting(path)) as connection:
        _delete_all(connection)


def _opened_for_deleting(path: Path) -> sqlite3.Connection:
    """A connection whose statements fire no trigger: SQLite leaves the SELECT of each out.

    To drop the triggers would make each connection read the schema and compile its statements anew.
    """
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    connection.execute("PRAGMA foreign_keys=OFF")
    for (trigger,) in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'"):
        assert re.search(r"BEGIN\s+SELECT RAISE\([^;]*;\s*END", trigger), trigger

    def leave_triggers_out(action: int, *names: str | None) -> int:
        left_out = action == sqlite3.SQLITE_SELECT and names[-1] is not None
        return sqlite3.SQLITE_IGNORE if left_out else sqlite3.SQLITE_OK

    connection.set_authorizer(leave_triggers_out)
    return connection


def _delete_all(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for (table,) in connection.execute(SQLITE_TABLES_WITH_ROWS).fetchall():
            connection.execute(f"DELETE FROM {table}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def sqlite_database() -> Iterator[SqliteDatabase]:
    """A migrated SQLite database for a session."""
    storage = "/dev/shm" if Path("/dev/shm").is_dir() else None
    directory = Path(tempfile.mkdtemp(prefix="docket-test-", dir=storage))
    try:
        settings = settings_for(f"sqlite:///{directory / 'docket.db'}", directory)
        app = _migrated(settings)
        with closing(_opened_for_deleting(directory / "docket.db")) as connection:
            yield SqliteDatabase(settings, app, connection)
        _release(app)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def migrated_template(cluster: Cluster) -> str:
    """Make a migrated PostgreSQL database that nobody uses; its name, to be copied."""
    name = unused_name()
    with tempfile.TemporaryDirectory(prefix="docket-test-") as directory:
        _release(_migrated(settings_for(cluster.create_database(name), Path(directory))))
    return name


@dataclass
class PostgresDatabase:
    """A database on the session's PostgreSQL."""

    settings: Settings
    app: Flask
    connection: psycopg.Connection[Any] = field(repr=False)
    kind: str = "postgresql"

    def empty(self) -> None:
        """Delete every row; as a replica, the server fires no triggers."""
        self.connection.execute("SELECT pg_temp.empty()")


@contextmanager
def postgres_database(cluster: Cluster) -> Iterator[PostgresDatabase]:
    """A migrated PostgreSQL database for a session."""
    name = unused_name()
    url = cluster.create_database(name)
    directory = Path(tempfile.mkdtemp(prefix="docket-test-"))
    try:
        app = _migrated(settings_for(url, directory))
        plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute("SET lock_timeout = '10s'")
            connection.execute(EMPTY_POSTGRES)
            yield PostgresDatabase(app.config["SETTINGS"], app, connection)
        _release(app)
        cluster.drop_database(name)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
