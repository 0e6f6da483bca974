"""What a database that cannot be written to now is to the units of work above it."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

from app.core import engines
from app.core.engines import WRITES, is_outage

pytestmark = pytest.mark.at_the_door


def test_another_program_that_writes_to_the_file_is_an_outage(tmp_path, monkeypatch):
    """Such as sqlite3 on a command line, which knows nothing of our lock."""
    monkeypatch.setattr(engines, "SQLITE_PRAGMAS", (*engines.SQLITE_PRAGMAS, "busy_timeout=20"))
    engine = create_engine(f"sqlite:///{tmp_path / 'some.db'}")
    engines.prepare(engine)
    with engine.connect() as plain, closing(sqlite3.connect(tmp_path / "some.db")) as other:
        connection = plain.execution_options(**{WRITES: True})
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError) as refused:
            connection.begin()
        assert is_outage(refused.value)
        other.execute("ROLLBACK")
        with connection.begin():
            connection.exec_driver_sql("CREATE TABLE some_table (id INTEGER)")
    engine.dispose()
