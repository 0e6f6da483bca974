"""The databases for tests: migrated once per session, emptied between tests by real commits."""

import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import psycopg
from flask import Flask
from sqlalchemy import make_url

from app import create_app
from app.config import Settings
from app.database import schema
from app.database.session import Base, db
from tests.support.instances import copy_database, copy_templates
from tests.support.once import made_once
from tests.support.openapi import CheckedClient
from tests.support.postgres import Cluster, start_cluster, unused_name
from tests.support.settings import settings_for

# Children before parents; the search index is not among the tables of the models.
TABLES = ["search_fts", *(table.name for table in reversed(Base.metadata.sorted_tables))]
# Most tests write to few tables, and checking is cheaper than deleting nothing.
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


class Database(Protocol):
    """A migrated database and its application."""

    kind: str
    settings: Settings
    app: Flask

    def empty(self) -> None:
        """Delete all rows, including those of the append-only table."""


def emptied(database: Database) -> Flask:
    """Return the application with an empty database. Commits are real, so rows are deleted."""
    database.empty()
    # Files without a row would be swept in a test that counts files.
    shutil.rmtree(database.settings.files_dir, ignore_errors=True)
    forget(database.app)
    return database.app


def forget(app: Flask) -> None:
    """Drop caches of deleted rows: no server runs that would see all of them being deleted."""
    for name in ("docket_boards", "docket_failure_windows", "docket_read_notes"):
        app.extensions.pop(name, None)


def _application(settings: Settings) -> Flask:
    """Create the application on a migrated database, with clients that check responses."""
    app = create_app(settings)
    app.testing = True
    app.test_client_class = CheckedClient
    return app


def _release(app: Flask) -> None:
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


@dataclass
class SqliteDatabase:
    """A SQLite file, in memory-backed storage if available."""

    settings: Settings
    app: Flask
    connection: sqlite3.Connection = field(repr=False)
    kind: str = "sqlite"

    def empty(self) -> None:
        _delete_all(self.connection)


def empty_sqlite(path: Path) -> None:
    """Delete all rows of a SQLite file."""
    with closing(_opened_for_deleting(path)) as connection:
        _delete_all(connection)


def _opened_for_deleting(path: Path) -> sqlite3.Connection:
    """Open a connection whose statements fire no triggers: SQLite omits the SELECT of each.

    Dropping triggers would make every connection reread the schema and recompile its statements.
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
    """Provide a migrated SQLite database for a session."""
    storage = "/dev/shm" if Path("/dev/shm").is_dir() else None
    directory = Path(tempfile.mkdtemp(prefix="docket-test-", dir=storage))
    try:
        copy_templates(directory)
        copy_database(directory / "docket.db")
        settings = settings_for(f"sqlite:///{directory / 'docket.db'}", directory)
        app = _application(settings)
        with closing(_opened_for_deleting(directory / "docket.db")) as connection:
            yield SqliteDatabase(settings, app, connection)
        _release(app)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def cluster_with_template() -> Cluster:
    """Start a PostgreSQL server with a migrated database; copying it is faster than migrating."""
    if os.environ.get("TEST_DATABASE_URL"):
        # Other processes of the run have their own template on the same server.
        cluster = replace(start_cluster(), template=unused_name())
        _migrate(cluster)
        return cluster
    return start_cluster(data=made_once("postgresql", _make_data) / "data")


def _make_data(directory: Path) -> None:
    """Create the files of a server that has the template."""
    cluster = start_cluster()
    try:
        _migrate(cluster)
        cluster.copy_data(directory / "data")
    finally:
        cluster.stop()


def _migrate(cluster: Cluster) -> None:
    with tempfile.TemporaryDirectory(prefix="docket-test-") as directory:
        url = cluster.create_database(cluster.template)
        app = create_app(settings_for(url, Path(directory)))
        with app.app_context():
            schema.upgrade()
        _release(app)


@dataclass
class PostgresDatabase:
    """A database on the session's PostgreSQL."""

    settings: Settings
    app: Flask
    connection: psycopg.Connection[Any] = field(repr=False)
    kind: str = "postgresql"

    def empty(self) -> None:
        """Delete all rows; in replica mode the server fires no triggers."""
        self.connection.execute("SELECT pg_temp.empty()")


@contextmanager
def postgres_database(cluster: Cluster) -> Iterator[PostgresDatabase]:
    """Provide a migrated PostgreSQL database for a session."""
    name = unused_name()
    url = cluster.create_database(name, cluster.template)
    directory = Path(tempfile.mkdtemp(prefix="docket-test-"))
    try:
        copy_templates(directory)
        app = _application(settings_for(url, directory))
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
