"""Backups and moves: what they refuse, and what is left of one that ends early."""

import os
import shutil
import sqlite3
from contextlib import ExitStack, closing, contextmanager

import pytest

from app.commands.moving import copies
from app.commands.moving.messages import another_program_uses as reads
from tests.commands.test_copy_and_restore import command, once_used, rows_of, used
from tests.commands.test_ending_early import interrupt
from tests.support.postgres import unused_name

__all__ = ["once_used", "used"]


def test_a_backup_is_of_an_installation_and_becomes_an_ordinary_file(used, tmp_path):
    instance, _ = used
    os.mkfifo(tmp_path / "fifo")
    said = command(instance, "backup", str(tmp_path / "fifo"), "--force", code=1)
    assert "fifo is not an ordinary file." in said
    # A wrong INSTANCE_DIR has an empty database once a command has asked it.
    empty = tmp_path / "empty"
    command(empty, "users", "list", code=1)
    assert (empty / "docket.db").exists()
    assert "No database at" in command(empty, "backup", str(tmp_path / "none.db"), code=1)
    assert not (tmp_path / "none.db").exists()


def test_a_restore_that_crashes_leaves_no_wal_of_another_database(used, tmp_path, monkeypatch):
    instance, _ = used
    file, other = tmp_path / "copy.db", tmp_path / "other"
    command(instance, "backup", str(file))
    command(other, "users", "list", code=1)
    left = sqlite3.connect(other / "docket.db", isolation_level=None)
    left.execute("CREATE TABLE anything (id)")
    wal = other / "docket.db-wal"
    assert wal.stat().st_size > 0
    sizes = []

    def crash(source, target):
        sizes.append(wal.stat().st_size)
        raise KeyboardInterrupt

    monkeypatch.setattr(copies, "copy_database", crash)
    command(other, "restore-backup", str(file), code=130)
    left.close()
    assert sizes == [0]


@pytest.mark.slow
def test_a_copy_that_was_interrupted_while_indexing_continues(cluster, used, monkeypatch):
    instance, _ = used
    url = cluster.create_database(unused_name())
    with monkeypatch.context() as patched:
        patched.setattr(copies, "_set_aside", interrupt)
        command(instance, "copy-to", TARGET_DATABASE_URL=url, code=130)
    assert (instance / "docket.db").exists()
    assert "rows and indexed" in command(instance, "copy-to", TARGET_DATABASE_URL=url)
    assert rows_of(url) == rows_of(f"sqlite:///{instance / 'docket.db.moved'}")


@contextmanager
def read_since(database, change):
    """Read a database as another program from before a change, whose rows stay in the WAL."""
    with closing(sqlite3.connect(database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        with closing(sqlite3.connect(database)) as writer, writer:
            writer.execute(change)
        yield


def test_a_restore_waits_for_a_program_that_reads_the_database(used, tmp_path):
    instance, _ = used
    file, other = tmp_path / "copy.db", tmp_path / "other"
    command(instance, "backup", str(file))
    command(other, "users", "list", code=1)
    path = other / "docket.db"
    with read_since(path, "CREATE TABLE anything (id)"):
        said = command(other, "restore-backup", str(file), code=1)
    assert said == f"Error: {reads(path)}\n"
    assert "Restored" in command(other, "restore-backup", str(file))


@pytest.mark.slow
def test_a_program_that_begins_to_read_during_a_copy_is_noticed(cluster, used, monkeypatch):
    instance, _ = used
    url = cluster.create_database(unused_name())
    path, copy = instance / "docket.db", copies._copy
    with ExitStack() as program, monkeypatch.context() as patched:

        def copied(source, *others):
            program.enter_context(read_since(path, "CREATE TABLE anything (id)"))
            copy(source, *others)

        patched.setattr(copies, "_copy", copied)
        said = command(instance, "copy-to", TARGET_DATABASE_URL=url, code=1)
    assert said.endswith(f"Error: {reads(path)}\n")
    assert path.exists()


@pytest.mark.slow
def test_a_moved_file_has_what_the_wal_had(cluster, used):
    instance, _ = used
    url = cluster.create_database(unused_name())
    path = instance / "docket.db"
    with read_since(path, "UPDATE projects SET description = 'In the WAL'"):
        said = command(instance, "copy-to", TARGET_DATABASE_URL=url, code=1)
    # Nothing was copied yet.
    assert said == f"Error: {reads(path)}\n"
    command(instance, "copy-to", TARGET_DATABASE_URL=url)
    # Without its WAL.
    moved = shutil.copy(instance / "docket.db.moved", instance / "alone.db")
    assert rows_of(url) == rows_of(f"sqlite:///{moved}")
