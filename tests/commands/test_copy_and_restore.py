"""Restoring a backup, and copying to PostgreSQL: all rows are the same."""

import json
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from functools import lru_cache
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from app import create_app
from app.config import Settings
from app.database.session import db
from app.exporting.copying import tables
from tests.conftest import REAL_DATA
from tests.support.authenticator import Authenticator
from tests.support.forking import FORKED, Forked, ended, fork
from tests.support.postgres import unused_name
from tests.support.serving import ROOT, refused_start, serving, unused_port
from tests.support.sizes import every
from tests.support.workspace import SETUP, Owner, owner_of

pytestmark = pytest.mark.slow

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
KEY = "a secret key of the tests, long enough"
# Things that only pages create.
FORMS = {
    "/projects/OPS/settings/templates": "name=Bug&body=Steps&type=story&priority=high",
    "/views": "project=OPS&name=Due&query=due=this_week&shared=yes&back=/tickets",
    "/tickets/OPS-2/mute": "",
}
# The tables of these and of reactions; a ticket's rank is a column.
ARRANGED = ("ticket_templates", "saved_views", "ticket_mutes", "comment_reactions")
# Holds a passkey of the owner.
DEVICE = Authenticator()


@lru_cache(4)
def application(**env):
    """Creating the application takes most of a command's time."""
    return create_app(Settings.from_env(env))


def command(instance, *args, code=0, **settings):
    """Run a command on an instance in this process, which saves most of its time."""
    app = application(INSTANCE_DIR=str(instance), **{"SECRET_KEY": KEY, **settings})
    with pytest.MonkeyPatch.context() as patched:
        if "TARGET_DATABASE_URL" in settings:
            patched.setenv("TARGET_DATABASE_URL", settings["TARGET_DATABASE_URL"])
        done = app.test_cli_runner().invoke(args=args)
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def command_of_operator(instance, *args, code=0):
    """Run a command in its own process, with a umask that lets everyone read what it writes."""
    env = {"PATH": os.environ["PATH"], "INSTANCE_DIR": str(instance), "SECRET_KEY": KEY}
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        process = fork(Forked("wsgi", args), ROOT, env, log)
        assert ended(process, log) == code, log.read_text()
        return log.read_text()


A_FILE = (
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    b"Words\r\n--b--\r\n"
)


@pytest.fixture(scope="module")
def once_used(tmp_path_factory):
    """Create an instance with some of everything; return its directory and the owner's cookie."""
    instance = tmp_path_factory.mktemp("used") / "instance"
    with serving(instance, SECRET_KEY=KEY, command=FORKED) as served:
        owner = owner_of(served)
        project = owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})["id"]
        path = f"/projects/{project}/tickets"
        child = owner.call("POST", path, {"title": "Story"})
        epic = owner.call("POST", path, {"title": "Epic", "type": "epic"})
        # The parent is newer than its child.
        changed = {"parent_ticket_id": epic["id"], "body": "lantern \u6771 \U0001f41e"}
        owner.call("PATCH", f"/tickets/{child['id']}", changed)
        comment = owner.call("POST", f"/tickets/{child['id']}/comments", {"body": "Words"})
        owner.call("PUT", f"/comments/{comment['id']}/reactions/heart")
        owner.call("POST", f"/tickets/{child['id']}/watchers", {})
        sent = {"Cookie": owner.cookie, "Content_Type": "multipart/form-data; boundary=b"}
        path = f"/api/v1/tickets/{child['id']}/files"
        assert served.request("POST", path, A_FILE, **sent).status == 201
        owner.call("PATCH", "/tickets/OPS-2", {"rank_before": child["id"]})
        owner.call("POST", "/wiki/pages", {"title": "Lantern", "body": "[[other]]"})
        owner.call("POST", "/sticky-notes", {"body": "Mine", "color": "#ffee00"})
        hook = {"url": "https://10.0.0.1/", "secret": "x" * 16, "event_types": ["wiki.*"]}
        owner.call("POST", "/webhooks", hook)
        bot = owner.bot("bot-1")
        used = {"traceparent": TRACE, "usage": {"input_tokens": 12, "cost_usd": 0.5}}
        read = {"name": "get_ticket", "arguments": {"ticket": "OPS-1"}, "_meta": used}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": read}
        assert served.request("POST", f"/mcp/bot/{bot.token}/mcp", message).status == 200
        said = {"body": "From the bot"}
        path = "/api/v1/tickets/OPS-1/comments"
        assert served.request("POST", path, said, X_API_Key=bot.token).status == 201
        owner.call("PATCH", f"/projects/{project}", {"sign_off": True, "bot_creation_limit": 50})
        state = {"name": "Limited", "category": "active", "wip_limit": 2}
        owner.call("POST", f"/projects/{project}/workflow-states", state)
        password = {"current_password": SETUP["password"]}
        begun = owner.call("POST", "/users/me/passkeys/options", password)
        DEVICE.origin = f"http://localhost:{served.port}"
        made = {"name": "Phone", "state": begun["state"], **DEVICE.make(begun["options"])}
        owner.call("POST", "/users/me/passkeys", made)
        for page, form in FORMS.items():
            kind = "application/x-www-form-urlencoded"
            sent = {"Cookie": owner.cookie, "Content_Type": kind}
            assert served.request("POST", page, form.encode(), **sent).status == 303
        # An orderly stop, so that everything is in the file.
        assert served.stop() == 0
    command(instance, "audit", "checkpoint")
    return instance, owner.cookie


def logs_in_with_a_passkey(served):
    """Return whether the owner's passkey still works at another server."""
    DEVICE.origin = f"http://localhost:{served.port}"
    begun = served.request("POST", "/api/v1/auth/passkey/options", {}).json
    sent = {"state": begun["state"], **DEVICE.answer(begun["options"])}
    answer = served.request("POST", "/api/v1/auth/passkey", sent)
    return answer.status == 200 and answer.json["user"]["username"] == "ada"


def is_proved(instance, **settings):
    said = command(instance, "audit", "verify", **settings)
    assert "The log matches its checkpoints." in said
    return " events in 1 checkpoint," in said


@pytest.fixture
def used(once_used, tmp_path):
    """Copy that instance for this test."""
    made, cookie = once_used
    return Path(shutil.copytree(made, tmp_path / "instance")), cookie


def test_commands_say_why_a_database_is_out_of_reach(tmp_path):
    nowhere = "postgresql://docket:secret@127.0.0.1:1/docket"
    # An instance with a table and a person, so that there is something to copy.
    command(tmp_path, "setup-admin", "--username", "ada", "--password", "correct horse battery")
    said = command(tmp_path, "copy-to", nowhere, code=1)
    assert "Error: The database cannot be reached: connection failed" in said
    said = command(tmp_path, "doctor", code=1, DATABASE_URL=nowhere)
    assert said.count("FAIL database: The database cannot be reached: connection failed") == 1
    assert "FAIL" not in said.partition("correct DATABASE_URL")[2]
    assert "ok   disk" in said
    assert "secret" not in said


def test_what_commands_write_is_closed_to_other_users(tmp_path):
    for args in (
        ("setup-admin", "--username", "ada", "--password", "correct horse battery"),
        ("backup", str(tmp_path / "copy.db")),
        ("export", str(tmp_path / "export")),
    ):
        command_of_operator(tmp_path, *args)
    made = {path.name: path.stat().st_mode for path in tmp_path.rglob("*")}
    assert {"docket.db", "copy.db", "export"} <= made.keys()
    assert [name for name, mode in made.items() if mode & 0o077] == []


def rows_of(url):
    """Return every row of every table."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {}
        for table in tables():
            rows = connection.execute(select(table).order_by(*table.primary_key.columns))
            found[table.name] = [tuple(row) for row in rows]
    engine.dispose()
    return found


def copied(cluster, instance):
    """Copy the instance to a new database; return its URL and the output."""
    url = cluster.create_database(unused_name())
    # Not on the command line, which everyone on the machine can read.
    return url, command(instance, "copy-to", TARGET_DATABASE_URL=url)


def by_rank(owner):
    """Return the display ids of all tickets in manual order, and their ranks."""
    tickets = owner.call("GET", "/tickets")["data"]
    return sorted((one["rank"], one["display_id"]) for one in tickets)


def test_a_copy_is_equal_row_by_row_and_works(cluster, used, tmp_path):
    instance, cookie = used
    url, said = copied(cluster, instance)
    assert "rows and indexed" in said
    source = rows_of(f"sqlite:///{instance / 'docket.db.moved'}")
    target = rows_of(url)
    for name, rows in source.items():
        assert target[name] == rows, name
    assert len(source["audit_events"]) > 10
    assert all(source[name] for name in ("audit_checkpoints", "bot_reads"))
    assert any(row[-1] for row in source["audit_events"])
    assert all(source[name] for name in ARRANGED)
    assert is_proved(tmp_path / "third", DATABASE_URL=url)
    assert len(source["bot_usage"]) == 2
    assert TRACE in source["tool_invocations"][0]
    with serving(tmp_path / "other", DATABASE_URL=url, SECRET_KEY=KEY, command=FORKED) as served:
        owner = Owner(served, cookie)
        assert owner.call("GET", "/tickets/OPS-1")["parent"]["display_id"] == "OPS-2"
        assert len(owner.call("GET", "/search?q=lantern")["data"]) == 2
        assert by_rank(owner) == [("3", "OPS-2"), ("60000000001V", "OPS-1")]
        assert logs_in_with_a_passkey(served)
        project = owner.call("GET", "/projects")["data"][0]["id"]
        made = owner.call("POST", f"/projects/{project}/tickets", {"title": "After"})
        assert made["display_id"] == "OPS-3"
    (instance / "docket.db.moved").rename(instance / "docket.db")
    assert "not empty" in command(instance, "copy-to", url, code=1)
    assert (instance / "docket.db").exists()


def test_nobody_serves_the_past_after_a_move(cluster, used):
    instance, cookie = used
    _url, said = copied(cluster, instance)
    moved = instance / "docket.db.moved"
    assert f"The SQLite file is now {moved}" in said
    assert sorted(path.name for path in instance.glob("docket.db*")) == sorted(
        ["docket.db.moved", "docket.db.server", "docket.db.write", "docket.db.write-next"]
    )
    for refused in (
        refused_start(instance, unused_port(), FORKED, SECRET_KEY=KEY),
        command_of_operator(instance, "users", "list", code=1),
    ):
        assert "This installation was moved" in refused
    assert not (instance / "docket.db").exists()
    moved.rename(instance / "docket.db")
    with serving(instance, SECRET_KEY=KEY, command=FORKED) as served:
        assert Owner(served, cookie).call("GET", "/tickets/OPS-1")["title"] == "Story"


def test_what_copy_to_refuses(used):
    instance, _ = used
    assert "Missing argument" in command(instance, "copy-to", code=2)
    command(instance, "copy-to", "sqlite:////tmp/x.db", code=2)
    assert "no database address" not in command(
        instance, "copy-to", "postgresql://127.0.0.1:1/x", code=1
    )


def test_nothing_is_moved_while_the_server_writes(used, tmp_path):
    instance, _ = used
    file = tmp_path / "copy.db"
    with serving(instance, SECRET_KEY=KEY, command=FORKED) as served:
        command(instance, "backup", str(file))
        command(instance, "export", str(tmp_path / "exported"))
        said = f"The server (process {served.process.pid}) is still running"
        assert said in command(instance, "copy-to", "postgresql://127.0.0.1:1/x", code=1)
        assert said in command(instance, "restore-backup", str(file), code=1)
        assert said in command(instance, "import-export", str(tmp_path / "exported"), code=1)


def test_a_backup_is_restored(used, tmp_path):
    instance, cookie = used
    file = tmp_path / "copy.db"
    said = command(instance, "backup", str(file))
    assert f"{file}.files: 1 content of files, verified" in said
    before = rows_of(f"sqlite:///{instance / 'docket.db'}")
    assert "not empty" in command(instance, "restore-backup", str(file), code=1)
    other = tmp_path / "other"
    assert "SECRET_KEY" not in command(other, "restore-backup", str(file))
    assert rows_of(f"sqlite:///{other / 'docket.db'}") == before
    assert all(before[name] for name in ARRANGED)
    assert is_proved(other)
    (content,) = (other / "files").glob("??/*")
    assert content.read_bytes() == b"Words"
    with serving(other, SECRET_KEY=KEY, command=FORKED) as served:
        owner = Owner(served, cookie)
        assert owner.call("GET", "/tickets/OPS-1")["title"] == "Story"
        assert len(owner.call("GET", "/search?q=lantern")["data"]) == 2
        assert [display_id for _, display_id in by_rank(owner)] == ["OPS-2", "OPS-1"]
        assert logs_in_with_a_passkey(served)
    empty = tmp_path / "empty.db"
    empty.touch()
    nothing = tmp_path / "nothing"
    said = command(nothing, "backup", str(tmp_path / "none.db"), code=1)
    assert f"No database at {nothing / 'docket.db'}. Set INSTANCE_DIR" in said
    assert "is not a backup" in command(tmp_path / "third", "restore-backup", str(empty), code=1)
    # A damaged database is not an empty one: its data may be recoverable.
    torn = tmp_path / "torn" / "docket.db"
    torn.parent.mkdir()
    torn.write_bytes(bytes(512) + (instance / "docket.db").read_bytes()[512:])
    before = torn.read_bytes()
    assert "not empty" in command(torn.parent, "restore-backup", str(file), code=1)
    assert torn.read_bytes() == before
    assert "is not a backup" in command(tmp_path / "third", "restore-backup", str(torn), code=1)


def test_the_way_back_to_the_release_before_is_the_backup_of_before(used, tmp_path):
    """The steps of the operator guide; the newer release has a revision unknown to this one."""
    instance, cookie = used
    file = tmp_path / "before.db"
    command(instance, "backup", str(file))
    with closing(sqlite3.connect(instance / "docket.db")) as newer, newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    said = refused_start(instance, unused_port(), FORKED, SECRET_KEY=KEY)
    assert "A newer release made this database." in said
    assert "A newer release made this database." in command(instance, "doctor", code=1)
    # A checkpoint made by the newer release.
    checkpoints = instance / "audit_checkpoints.jsonl"
    kept = checkpoints.read_text()
    checkpoints.write_text(kept + kept.replace('"sequence":1,', '"sequence":2,'))
    aside = instance / "newer"
    aside.mkdir()
    for path in (*instance.glob("docket.db*"), checkpoints):
        path.rename(aside / path.name)
    command(instance, "restore-backup", str(file))
    assert is_proved(instance)
    with serving(instance, SECRET_KEY=KEY, command=FORKED) as served:
        owner = Owner(served, cookie)
        assert owner.call("GET", "/tickets/OPS-1")["title"] == "Story"
        assert len(owner.call("GET", "/search?q=lantern")["data"]) == 2


def test_a_secret_key_of_another_installation_is_told(used, tmp_path):
    instance, _ = used
    file, other = tmp_path / "copy.db", tmp_path / "other"
    command(instance, "backup", str(file))
    another = {"SECRET_KEY": "another secret key of the tests, as long"}
    said = command(other, "restore-backup", str(file), **another)
    assert "differs from the backup's. Its webhook secrets (1) cannot be decrypted" in said
    said = command(other, "doctor", code=1, **another)
    assert "FAIL secret key: cannot decrypt the secrets of 1 webhook\n" in said
    assert "secret key" not in command(other, "doctor")


@pytest.mark.real_data
def test_the_real_data_are_imported_once_and_copied(cluster, used, tmp_path):
    instance, _ = used
    lines = (REAL_DATA / "issues.jsonl").read_bytes().splitlines(keepends=True)
    taken = every(5, lines)
    file = tmp_path / "issues.jsonl"
    file.write_bytes(b"".join(taken))
    issues = ("import-issues", str(file), "--project", "OPS", "--json")
    before = numbers_of_tickets(instance)
    started = time.process_time()
    made = made_by(command(instance, *issues))
    assert time.process_time() - started < 30 * len(taken) / len(lines)
    tickets = sum(made.get(what, 0) for what in ("epics", "stories", "subtasks"))
    assert tickets == len(taken)
    last = len(before) + tickets
    assert numbers_of_tickets(instance) == [*before, *range(len(before) + 1, last + 1)]
    command(instance, "import-wiki", str(REAL_DATA / "wiki"))
    imported = rows_of(f"sqlite:///{instance / 'docket.db'}")
    assert made_by(command(instance, *issues)) == {}
    url, _said = copied(cluster, instance)
    assert rows_of(url) == imported


def made_by(said):
    return json.loads(said[said.index("{") :])["made"]


def numbers_of_tickets(instance):
    with closing(sqlite3.connect(instance / "docket.db")) as database:
        rows = database.execute("SELECT ticket_number FROM tickets ORDER BY ticket_number")
        return [number for (number,) in rows]
