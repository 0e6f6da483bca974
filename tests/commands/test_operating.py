"""Commands that operators use to inspect and move an installation."""

import json
import sqlite3
import threading
import time

import pytest

from app.commands.moving.copies import copy_database
from app.core import clock
from tests.support.story import make_ticket, ok

WRITERS = 4


def test_the_audit_log_as_lines(cast, flask):
    for number in range(3):
        make_ticket(cast.ada, cast.open_project, f"{number}")
    rows = [json.loads(line) for line in flask("audit", "export").splitlines()]
    listed = ok(cast.ada.get("/audit?limit=200"))["data"]
    assert rows == listed[::-1]
    created = [
        json.loads(line) for line in flask("audit", "export", "--type", "ticket.*").splitlines()
    ]
    assert [row["payload"]["title"] for row in created] == ["0", "1", "2"]
    tail = flask("audit", "tail", "-n", "1", "--type", "ticket.created")
    assert json.loads(tail)["payload"]["title"] == "2"
    assert "Unknown event type" in flask("audit", "tail", "--type", "nope", code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ("projects", "create", "AC", "x\udcff"),
        ("users", "link", "\udcff"),
        ("login-limits", "show", "--username", "\udcff"),
    ],
)
def test_an_argument_that_is_not_utf8_is_refused(flask, arguments):
    assert "is not UTF-8." in flask(*arguments, code=2)


def test_a_folder_that_cannot_be_made_is_no_traceback(flask, tmp_path):
    (tmp_path / "file").touch()
    assert "Export failed: " in flask("export", str(tmp_path / "file" / "x"), code=1)


def test_tools_and_openapi(app, client, flask):
    assert len(flask("tools").splitlines()) == 29
    assert len(json.loads(flask("tools", "--json"))["tools"]) == 29
    served = client.get("/api/v1/openapi.json").get_json()
    assert json.loads(flask("openapi")) == served


def test_login_limits(cast, client, flask):
    wrong = {"username": "ada", "password": "wrong wrong wrong"}
    for _ in range(6):
        answer = client.post("/api/v1/auth/login", json=wrong)
    assert answer.status_code == 429
    assert flask("login-limits", "show") == "2 of 2 limits reached\n"
    # As at login, other spellings of a username are equivalent.
    for name in ("ada", " ADA "):
        said = flask("login-limits", "show", "--username", name)
        assert f"username {name}: 5 of 5, resets at" in said
    flask("login-limits", "clear", code=2)
    assert flask("login-limits", "clear", "--username", "Ada", "--address", "127.0.0.1") == (
        "Reset 2 limits.\n"
    )
    assert client.post("/api/v1/auth/login", json=wrong).status_code == 401
    assert flask("login-limits", "clear", "--username", "ada") == "Reset 1 limit.\n"
    assert flask("login-limits", "show") == "0 of 1 limit reached\n"
    assert flask("login-limits", "clear", "--all") == "Reset 1 limit.\n"


def test_login_limits_of_an_address_of_ipv6_are_those_of_its_two_networks(cast, client, flask):
    wrong = {"username": "ada", "password": "wrong wrong wrong"}
    client.post("/api/v1/auth/login", json=wrong, environ_base={"REMOTE_ADDR": "2001:db8:1:2::1"})
    assert flask("login-limits", "show", "--address", "2001:db8:1:2::9").splitlines() == [
        "address 2001:db8:1:2::9: 1 of 5",
        "the /48 of 2001:db8:1:2::9: 1 of 20",
    ]
    # Logs and firewalls write addresses in these forms.
    for pasted in (" 2001:db8:1:2::9\n", "[2001:db8:1:2::9]", "2001:db8:1:2::9/64"):
        said = flask("login-limits", "show", "--address", pasted)
        assert "address 2001:db8:1:2::9: 1 of 5" in said
    said = flask("login-limits", "clear", "--address", "2001:db8:1:2::/64")
    assert said == "Reset 2 limits.\n"


def test_doctor_finds_a_well_installation_well(database, flask):
    said = flask("doctor")
    name = "PostgreSQL" if database.kind == "postgresql" else "SQLite"
    assert f"ok   database: {name}" in said
    assert "FAIL" not in said
    for about in ("version", "database", "schema", "people", "deliveries", "sweeps", "disk"):
        assert f" {about}: " in said


def test_doctor_says_that_the_host_has_another_clock_than_postgresql(database, flask, monkeypatch):
    monkeypatch.setattr(clock, "host_ms", lambda: time.time_ns() // 1_000_000 - 2_500)
    said = flask("doctor")
    is_postgresql = database.kind == "postgresql"
    assert ("note clock: 2.5 seconds behind PostgreSQL" in said) is is_postgresql


def test_doctor_says_what_to_do(app, database, flask):
    database.empty()
    said = flask("doctor", code=1)
    assert "FAIL people: 0" in said
    assert "flask setup-admin" in said


def test_a_backup_under_writes_is_whole(app, cast, database, flask, tmp_path):
    if database.kind == "postgresql":
        assert "pg_dump" in flask("backup", str(tmp_path / "copy.db"), code=1)
        return
    stopping = threading.Event()

    def write():
        while not stopping.is_set():
            make_ticket(cast.smith, cast.open_project)

    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        for number in range(5):
            file = tmp_path / f"copy-{number}.db"
            flask("backup", str(file))
            check_copy(file)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert "exists" in flask("backup", str(file), code=1)
    flask("backup", str(file), "--force")
    assert (file.stat().st_mode & 0o777) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"copy-{number}.db" for number in range(5)
    ]


def check_copy(file):
    """Check that tickets, events, counter and index are of one moment."""
    connection = sqlite3.connect(file)
    try:
        (tickets,) = connection.execute("SELECT count(*) FROM tickets").fetchone()
        created = "SELECT count(*) FROM audit_events WHERE event_type = 'ticket.created'"
        (events,) = connection.execute(created).fetchone()
        (counter,) = connection.execute("SELECT sum(ticket_counter) FROM projects").fetchone()
        (indexed,) = connection.execute("SELECT count(*) FROM search_docs").fetchone()
    finally:
        connection.close()
    assert tickets == events == counter == indexed


def test_a_backup_that_fails_leaves_nothing(tmp_path):
    from click import ClickException

    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all" * 100)
    with pytest.raises(ClickException, match="Backup failed"):
        copy_database(broken, tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.db"]
