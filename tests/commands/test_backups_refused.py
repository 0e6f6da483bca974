"""Backups that would destroy an installation, or that it cannot read."""

import sqlite3
from contextlib import closing

import pytest

from tests.commands.test_copy_and_restore import KEY, command, once_used, used

__all__ = ["once_used", "used"]


@pytest.mark.parametrize("reached", ["directly", "by a link"])
def test_a_backup_replaces_nothing_of_the_installation(used, tmp_path, reached):
    instance, _ = used
    (instance / "secret_key").write_text(KEY)
    (content,) = (instance / "files").glob("??/*")
    own = [instance / name for name in ("docket.db", "secret_key", "audit_checkpoints.jsonl")]
    for path in [*own, instance / "docket.db-wal", content, content.with_name("new")]:
        kept = path.read_bytes() if path.exists() else None
        target = path
        if reached == "by a link":
            target = tmp_path / path.name
            target.symlink_to(path)
        said = command(instance, "backup", str(target), "--force", code=1)
        assert "belongs to this installation. Choose another file." in said
        assert (path.read_bytes() if path.exists() else None) == kept
    # A folder for backups beside the database is fine.
    (instance / "backups").mkdir()
    command(instance, "backup", str(instance / "backups" / "docket.db"))


def test_a_backup_may_have_any_name(used, tmp_path):
    instance, _ = used
    names = ("50%25.db", "before #2.db", "why?.db")
    for number, name in enumerate(names):
        command(instance, "backup", str(tmp_path / name))
        command(tmp_path / str(number), "restore-backup", str(tmp_path / name))
    assert {one.name for one in tmp_path.glob("*") if one.is_file()} == set(names)


def test_what_sqlite_refuses_is_said_and_nothing_is_restored(used, tmp_path, monkeypatch):
    instance, _ = used
    file, other = tmp_path / "copy.db", tmp_path / "other"
    command(instance, "backup", str(file))
    command(other, "users", "list", code=1)
    database = other / "docket.db"
    connect = sqlite3.connect

    def refusing(name, **options):
        if "mode=ro" not in str(name):
            raise sqlite3.OperationalError("unable to open database file")
        return connect(name, **options)

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", refusing)
        said = command(other, "restore-backup", str(file), code=1)
    assert said == f"Error: SQLite cannot use {database}: unable to open database file.\n"
    database.unlink()
    database.mkdir()
    said = command(other, "restore-backup", str(file), code=1)
    assert said.startswith(f"Error: SQLite cannot use {database}: ")


def test_a_backup_of_a_newer_release_is_not_restored(used, tmp_path):
    instance, _ = used
    file = tmp_path / "newer.db"
    command(instance, "backup", str(file))
    with closing(sqlite3.connect(file)) as newer, newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    other = tmp_path / "other"
    said = command(other, "restore-backup", str(file), code=1)
    assert "newer.db is from a newer Docket. Update Docket first." in said
    assert not (other / "docket.db").exists()
