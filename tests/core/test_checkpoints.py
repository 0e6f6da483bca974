"""SQLite's write-ahead log is copied into the database every so many commits, and only then."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text

from app import create_app, schema
from app.core import checkpoints
from app.core.db import db, run_write, session
from tests.support.databases import settings_for


@pytest.fixture
def file(tmp_path):
    """A database file of its own, in which a table of numbers is."""
    path = tmp_path / "docket.db"
    app = create_app(settings_for(f"sqlite:///{path}", tmp_path))
    with app.app_context():
        schema.upgrade()
        run_write(lambda: session.execute(text("CREATE TABLE numbers (number INTEGER)")))
        # From here on commits are counted anew.
        checkpoints.copy_now(db.engine)
        yield path
        db.engine.dispose()


def write(times, size=1):
    statement = text("INSERT INTO numbers SELECT zeroblob(:size)")
    for _ in range(times):
        run_write(lambda: session.execute(statement, {"size": size}))


def copied(path, tmp_path):
    """The rows that stand in the database without its log."""
    alone = shutil.copy(path, tmp_path / "alone.db")
    with closing(sqlite3.connect(alone)) as connection:
        return connection.execute("SELECT count(*) FROM numbers").fetchone()[0]


def test_the_log_is_copied_every_so_many_commits(file, tmp_path):
    write(checkpoints.COMMITS - 1)
    assert copied(file, tmp_path) == 0
    write(2)
    assert copied(file, tmp_path) == checkpoints.COMMITS


def test_a_commit_that_writes_much_is_copied_at_once(file, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 2**20)
    write(1, size=4 * 2**20)
    assert copied(file, tmp_path) == 1


def test_a_copy_that_fails_takes_nothing_back(file, tmp_path, monkeypatch, caplog):
    def refuse(_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(checkpoints, "_copy", refuse)
    write(checkpoints.COMMITS)
    assert "could not be copied" in caplog.text
    assert session.scalar(text("SELECT count(*) FROM numbers")) == checkpoints.COMMITS
