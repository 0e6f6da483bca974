"""What units of work see of a database that temporarily cannot be written to."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

from app.database import connect
from app.database.connect import for_writing
from app.database.failures import is_outage

pytestmark = pytest.mark.one_database


def test_another_program_that_writes_to_the_file_is_an_outage(tmp_path, monkeypatch):
    """For example sqlite3 on a command line, which does not use our lock."""
    monkeypatch.setattr(connect, "SQLITE_PRAGMAS", (*connect.SQLITE_PRAGMAS, "busy_timeout=20"))
    engine = create_engine(f"sqlite:///{tmp_path / 'some.db'}")
    connect.prepare(engine)
    with engine.connect() as plain, closing(sqlite3.connect(tmp_path / "some.db")) as other:
        connection = for_writing(plain)
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError) as refused:
            connection.begin()
        assert is_outage(refused.value)
        other.execute("ROLLBACK")
        with connection.begin():
            connection.exec_driver_sql("CREATE TABLE some_table (id INTEGER)")
    engine.dispose()


def test_what_is_deleted_is_not_written_once_more(tmp_path):
    """Freed pages keep their content, however SQLite was built."""
    engine = create_engine(f"sqlite:///{tmp_path / 'some.db'}")
    connect.prepare(engine)
    log = tmp_path / "some.db-wal"
    with engine.connect() as plain:
        connection = for_writing(plain)
        with connection.begin():
            connection.exec_driver_sql("CREATE TABLE some_table (text TEXT)")
            for _ in range(300):
                connection.exec_driver_sql("INSERT INTO some_table VALUES (?)", ("x" * 3000,))
        connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with connection.begin():
            connection.exec_driver_sql("DELETE FROM some_table WHERE rowid < 300")
        assert log.stat().st_size < 100 * 4096
    engine.dispose()
