"""Commands that are interrupted, cannot write their output, or meet a database they cannot use."""

import io
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import click
import pytest

from app import cli
from app.core.errors import Unavailable
from app.database import schema
from app.database.failures import outage_in_words
from app.search import reindexing
from app.serving import demo, parent
from tests.commands.test_copy_and_restore import KEY, command, once_used, used
from tests.support.serving import ROOT

__all__ = ["once_used", "used"]


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_ctrl_c_is_one_line_and_exit_code_130(flask, monkeypatch):
    monkeypatch.setattr(reindexing, "total", interrupt)
    assert flask("reindex", code=130) == "Interrupted.\n"


def run(instance, stdout, *args):
    """Run a command in its own process; without ``stdout``, its standard output is closed."""
    env = {"INSTANCE_DIR": str(instance), "SECRET_KEY": KEY, "LOG_LEVEL": "ERROR"}
    command = [sys.executable, "-m", "flask", "--app", "wsgi", *args]
    if stdout is None:
        command = ["/bin/sh", "-c", 'exec "$0" "$@" >&-', *command]
    pipes = {"stdout": stdout, "stderr": subprocess.PIPE}
    return subprocess.run(command, **pipes, text=True, cwd=ROOT, env=env, check=False)


@pytest.mark.slow
def test_output_that_cannot_be_written_is_said_and_no_secret_is_lost(used):
    instance, _ = used
    with Path("/dev/full").open("w") as full:
        listed = run(instance, full, "users", "list")
        made = run(instance, full, "bots", "create", "scout", "--mode", "read")
        linked = run(instance, full, "users", "link", "ada")
    assert (listed.returncode, made.returncode, linked.returncode) == (1, 1, 1)
    assert listed.stderr == "Error: No space left on device (while reading or writing).\n"
    assert made.stderr == (
        "Error: The new token of scout cannot be written: No space left on device. Run 'flask bots "
        "rotate scout' for another.\n"
    )
    assert linked.stderr == (
        "Error: The link of ada cannot be written: No space left on device. Run 'flask users link "
        "ada' for another.\n"
    )
    reading, writing = os.pipe()
    os.close(reading)
    closed = run(instance, writing, "audit", "export")
    os.close(writing)
    assert (closed.returncode, closed.stderr) == (1, "")


@pytest.mark.slow
def test_output_to_a_closed_standard_output_is_said_and_no_secret_is_lost(used):
    instance, _ = used
    for arguments in (("users", "list"), ("db", "heads")):
        listed = run(instance, None, *arguments)
        assert (listed.returncode, listed.stderr) == (1, "Error: Standard output is closed.\n")
    made = run(instance, None, "bots", "create", "hidden", "--mode", "read")
    assert made.returncode == 1
    assert "Run 'flask bots rotate hidden' for another." in made.stderr
    # It prints nothing.
    assert run(instance, None, "db", "upgrade").returncode == 0


def test_a_server_serves_and_ends_without_a_standard_output(app, monkeypatch):
    monkeypatch.setattr(parent.socket, "create_connection", lambda *_, **__: io.StringIO())
    monkeypatch.setattr(sys, "stdout", None)
    with cli._in_words(is_server=True):
        parent._say_when_up(app.config["SETTINGS"], needs_setup=False)
    sys.stdout.close()


@pytest.mark.parametrize(
    "arguments",
    [
        ("users", "list"),
        ("setup-code",),
        ("sweep",),
        ("audit", "export"),
        ("webhooks", "retry"),
        ("db", "upgrade"),
        ("db", "stamp"),
    ],
)
def test_the_database_of_a_newer_release_is_refused(flask, monkeypatch, arguments):
    monkeypatch.setattr(schema, "newest_revision", lambda: "0001")
    assert flask(*arguments, code=1) == (
        "Error: A newer release made this database. Start that release, or restore the backup "
        "made before it.\n"
    )
    assert "search" in flask("tools")


def test_revisions_are_compared_on_the_database_of_a_newer_release(tmp_path, capfd):
    command(tmp_path, "db", "upgrade")
    with closing(sqlite3.connect(tmp_path / "docket.db")) as newer, newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    for arguments in (("heads",), ("history",), ("show", "0001"), ("branches",)):
        command(tmp_path, "db", *arguments)
    command(tmp_path, "db", "current", code=1)
    assert "'9999'" in capfd.readouterr().err


def test_a_command_in_another_group_is_refused_whatever_its_name(app, cast, monkeypatch):
    monkeypatch.setattr(schema, "newest_revision", lambda: "0001")
    other = click.Group(
        "other", commands=[click.Command("key", callback=lambda: click.echo("ran"))]
    )
    cli._prepare(other, "other")
    result = app.test_cli_runner().invoke(other, ["key"])
    assert result.output.startswith("Error: A newer release made this database.")


def test_what_is_wrong_with_the_revisions_is_said_in_the_words_of_alembic(tmp_path):
    command(tmp_path, "db", "upgrade")
    with closing(sqlite3.connect(tmp_path / "docket.db")) as older, older:
        older.execute("UPDATE alembic_version SET version_num = '0000'")
    said = command(tmp_path, "setup-code", code=1)
    assert said == "Error: Can't locate revision identified by '0000'\n"


def test_a_file_that_is_no_database_is_no_traceback(tmp_path):
    (tmp_path / "docket.db").write_bytes(b"no database at all" * 100)
    said = command(tmp_path, "users", "list", code=1)
    assert "Error: Cannot use the database: file is not a database." in said


def test_an_operator_reads_why_the_writer_lock_cannot_be_taken():
    error = Unavailable()
    error.__cause__ = PermissionError(13, "Permission denied", "docket.db.write")
    assert "Permission denied: 'docket.db.write'" in outage_in_words(error)


def test_the_password_of_a_demo_is_not_lost(app, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    for one in ("human_actor", "run_write"):
        monkeypatch.setattr(demo, one, lambda _: None)
    monkeypatch.setattr(demo.setup, "create_admin", lambda *_, **__: None)
    monkeypatch.setattr(click, "echo", full)
    with app.app_context(), pytest.raises(click.ClickException, match="reset-password demo'"):
        demo._populate()


def test_migrations_say_why_the_database_is_out_of_reach(tmp_path):
    nowhere = "postgresql://docket:secret@127.0.0.1:1/docket"
    said = command(tmp_path, "db", "upgrade", code=1, DATABASE_URL=nowhere)
    assert "connection failed" in said
    assert "Traceback" not in said
