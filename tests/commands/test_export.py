"""Export everything as files, and import it into an empty installation: byte for byte the same."""

import hashlib
import json
import shutil
import threading

import pytest

from app import create_app
from app.accounts import second_factor
from app.accounts.models import SecondFactor
from app.core.actor import Actor, ActorKind
from app.database.session import db, reading, run_write, session
from app.exporting import layout
from app.exporting.copying import count
from app.projects import loaders
from app.tickets import saved_views, templates, watchers
from tests.support.agent import Agent
from tests.support.cast import in_app
from tests.support.instances import copy_database
from tests.support.postgres import unused_name
from tests.support.settings import settings_for
from tests.support.story import make_label, make_ticket, ok, state_ids

ODD = "first\r\nsecond \u6771 \U0001f41e\n---\ntitle: no\n\u2028end"


@pytest.fixture
def filled(app, cast):
    """Create some of everything, including kinds that are hard to export."""
    ada, project = cast.ada, cast.open_project
    label = make_label(ada, project, "b\u00fcg")
    child = make_ticket(ada, project, 'Story "quoted"', body=ODD, label_ids=[label["id"]])
    epic = make_ticket(ada, project, "Epic", type="epic", due_date="2026-12-01")
    # The parent is newer than its child.
    ok(ada.patch(f"/tickets/{child['id']}", {"parent_ticket_id": epic["id"]}))
    ok(ada.patch(f"/tickets/{epic['id']}", {"rank_before": child["id"]}))
    comment = ok(ada.post("/tickets/OPEN-1/comments", {"body": "Words"}), 201)
    ok(ada.patch(f"/comments/{comment['id']}", {"body": "Better"}))
    ok(cast.smith.call("PUT", f"/comments/{comment['id']}/reactions/heart"))
    ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": ODD}), 201)
    ok(ada.post("/tickets/OPEN-1/watchers", {}), 201)
    ok(ada.post("/tickets/OPEN-1/relations", {"type": "blocks", "target_ticket_id": "OPEN-2"}), 201)
    ok(ada.post("/tickets/OPEN-1/links", {"url": "https://github.com/a/b/pull/5"}), 201)
    make_ticket(ada, project, "Gone", state_id=state_ids(ada, project)[1])
    ok(ada.delete("/tickets/OPEN-3"), 204)
    page = ok(ada.post("/wiki/pages", {"title": "Lantern", "body": f"{ODD} [[x]]"}), 201)
    changed = {"title": 'The "Lantern"', "body": "[[other]]"}
    ok(ada.patch(f"/wiki/pages/{page['id']}", changed))
    ok(ada.post("/wiki/pages", {"title": "Lantern", "project_id": project}), 201)
    ok(ada.post("/sticky-notes", {"body": "Mine", "color": "#ffee00"}), 201)
    ok(cast.smith.post(f"/projects/{project}/sticky-notes", {"body": "Ours"}), 201)
    hook = {"url": "https://10.0.0.1/", "secret": "x" * 16, "event_types": ["wiki.*"]}
    ok(ada.post("/webhooks", hook), 201)
    forge = {"name": "GitHub", "forge": "github", "project_ids": [project]}
    ok(ada.post("/integrations", forge), 201)
    ok(ada.patch(f"/projects/{project}", {"sign_off": True, "bot_creation_limit": 50}))
    in_app(app, lambda: _arrange(cast))
    usage = {"input_tokens": 900_000_000, "cost_usd": 0.25}
    call = {"name": "get_ticket", "arguments": {"ticket": "OPEN-1"}, "_meta": {"usage": usage}}
    Agent(cast.smith).result("tools/call", call)
    return cast


def _arrange(cast):
    """Create what people set up on pages."""
    person = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id)
    templates.create_template(person, cast.open_project, name="Bug", title="Bug: ", priority="high")
    watchers.mute(person, "OPEN-1")
    project = loaders.visible(person, cast.open_project)
    saved_views.save_view(person, project, name="Mine", query="assignee=me", is_shared=True)


ARRANGED = (
    "audit_checkpoints",
    "ticket_templates",
    "ticket_mutes",
    "saved_views",
    "comment_reactions",
)


@pytest.fixture
def other(database, request, tmp_path):
    """Run commands on an empty installation: on the other database, if both are tested."""
    is_both = request.config.getoption("--db") == "both"
    if is_both == (database.kind == "postgresql"):
        copy_database(tmp_path / "other.db")
        yield from commands_on(f"sqlite:///{tmp_path / 'other.db'}", tmp_path)
        return
    cluster, name = request.getfixturevalue("cluster"), unused_name()
    yield from commands_on(cluster.create_database(name, cluster.template), tmp_path)
    cluster.drop_database(name)


@pytest.fixture
def without_tables(empty_url, tmp_path):
    """Run commands on an installation that never started."""
    yield from commands_on(empty_url, tmp_path)


def commands_on(url, directory):
    app = create_app(settings_for(url, directory))

    def run(*args, code=0):
        result = app.test_cli_runner().invoke(args=list(args))
        assert result.exit_code == code, (result.output, result.exception)
        return result.output

    run.app = app
    yield run
    with app.app_context():
        db.engine.dispose()


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def lines_of(folder, name):
    content = (folder / "data" / f"{name}.jsonl").read_bytes()
    return [json.loads(line) for line in content.splitlines()]


def rows_in(app):
    with app.app_context(), db.engine.connect() as connection:
        return sum(count(connection, table) for table in layout.exported())


def test_out_and_in_and_out_again_is_the_same(filled, flask, other, tmp_path):
    flask("audit", "checkpoint")
    said = flask("export", str(tmp_path / "first"))
    rows = json.loads((tmp_path / "first/manifest.json").read_text())["rows"]
    assert f"{sum(rows.values())} rows in" in said
    assert all(rows[name] for name in ARRANGED), rows
    assert "rows and indexed 4 documents" in other("import-export", str(tmp_path / "first"))
    other("export", str(tmp_path / "second"))
    assert files_of(tmp_path / "second") == files_of(tmp_path / "first")
    assert any(row["receipt"] for row in lines_of(tmp_path / "second", "audit_events"))
    (project,) = [row for row in lines_of(tmp_path / "second", "projects") if row["sign_off"]]
    assert (project["key"], project["bot_creation_limit"]) == ("OPEN", 50)
    assert " in 1 checkpoint, 1 without one yet." in other("audit", "verify")
    # The installation is usable: credentials are valid, and search finds things.
    bot = {"X-API-Key": filled.smith.headers["X-API-Key"]}
    client = other.app.test_client()
    assert client.get("/api/v1/auth/me", headers=bot).get_json()["username"] == "smith"
    found = client.get("/api/v1/search?q=quoted", headers=bot).get_json()["data"]
    assert [hit["display_id"] for hit in found] == ["OPEN-1"]
    tickets = client.get("/api/v1/tickets", headers=bot).get_json()["data"]
    assert min(tickets, key=lambda one: one["rank"])["display_id"] == "OPEN-2"
    assert "not empty" in other("import-export", str(tmp_path / "first"), code=1)


def test_large_numbers_are_no_times(filled, flask, tmp_path):
    flask("export", str(tmp_path / "out"))
    rows = lines_of(tmp_path / "out", "bot_usage")
    assert [(row["input_tokens"], row["cost_micros"]) for row in rows] == [
        (900_000_000, 250_000)
    ] * 2
    (call,) = lines_of(tmp_path / "out", "tool_invocations")
    assert call["usage"] == {"input_tokens": 900_000_000, "output_tokens": 0, "cost_usd": 0.25}


def test_a_new_installation_needs_no_start_of_the_server(without_tables):
    flask = without_tables
    assert "to create its tables" in flask("users", "list", code=1)
    flask("setup-admin", "--username", "zoe", "--password", "correct horse battery")
    assert "zoe" in flask("users", "list")


def test_an_export_under_writes_is_of_one_moment(cast, flask, tmp_path):
    stopping = threading.Event()

    def write():
        while not stopping.is_set():
            make_ticket(cast.smith, cast.open_project)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            folder = tmp_path / f"{number}"
            flask("export", str(folder))
            tickets = lines_of(folder, "tickets")
            events = [row["event_type"] for row in lines_of(folder, "audit_events")]
            counters = [row["ticket_counter"] for row in lines_of(folder, "projects")]
            readable = list((folder / "tickets").rglob("*.md"))
            assert len(tickets) == events.count("ticket.created") == sum(counters) == len(readable)
    finally:
        stopping.set()
        writer.join()


def test_what_is_in_it(app, filled, flask, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    flask("export", str(folder))
    assert (folder.stat().st_mode & 0o777) == 0o700
    (ticket,) = [row for row in lines_of(folder, "tickets") if row["display_id"] == "OPEN-1"]
    assert (ticket["body"], ticket["deleted_at"]) == (ODD, None)
    shown = ok(filled.ada.get("/tickets/OPEN-1"))
    assert ticket["created_at"] == shown["created_at"]
    readable = (folder / "tickets/OPEN/OPEN-1.md").read_bytes().decode()
    assert 'title: "Story \\"quoted\\""\n' in readable
    assert 'labels: ["b\u00fcg"]\n' in readable
    assert 'relations: ["blocks OPEN-2"]\n' in readable
    assert 'links: ["a/b#5 https://github.com/a/b/pull/5"]\n' in readable
    assert f"---\n\n{ODD}\n\n## Comments\n\n### ada, " in readable
    assert "\n\nBetter\n\n\u2764\ufe0f smith\n\n### smith, " in readable
    assert (folder / "wiki/global/lantern.md").exists()
    assert (folder / "wiki/OPEN/lantern.md").exists()
    assert len(list((folder / "sticky-notes").rglob("*.md"))) == 2
    # Deleted things and history are only in the rows; transient data is in neither.
    assert not (folder / "tickets/OPEN/OPEN-3.md").exists()
    assert {row["display_id"] for row in lines_of(folder, "tickets")} == {
        "OPEN-1",
        "OPEN-2",
        "OPEN-3",
    }
    assert not (folder / "data/sessions.jsonl").exists()
    assert "is not empty" in flask("export", str(folder), code=1)


def test_the_pages_of_an_export_are_a_wiki_to_import(filled, flask, tmp_path):
    flask("export", str(tmp_path / "out"))
    into = ("--project", "FENCED", "--as", "ada")
    assert "1 page created" in flask("import-wiki", str(tmp_path / "out/wiki/global"), *into)
    fenced = filled.fenced_project
    page = ok(filled.ada.get(f"/wiki/pages/lantern?project_id={fenced}"))
    assert (page["title"], page["body"]) == ('The "Lantern"', "[[other]]")


@pytest.mark.one_database
def test_another_secret_key_is_told(filled, flask, tmp_path):
    flask("export", str(tmp_path / "out"))
    there = tmp_path / "there"
    there.mkdir()
    url = f"sqlite:///{there / 'docket.db'}"
    app = create_app(
        settings_for(url, there, secret_key="another secret key of the tests, as long")
    )
    runner = app.test_cli_runner()
    refused = runner.invoke(args=["import-export", str(tmp_path / "out")])
    assert (refused.exit_code, "a different SECRET_KEY" in refused.output) == (1, True)
    assert rows_in(app) == 0
    done = runner.invoke(args=["import-export", str(tmp_path / "out"), "--reset-webhooks"])
    assert "Disabled 1 webhook." in done.output
    assert "Rotate the secrets of 1 integration." in done.output
    runner.invoke(args=["export", str(tmp_path / "again")])
    with app.app_context():
        db.engine.dispose()
    (before,) = lines_of(tmp_path / "out", "code_connections")
    (after,) = lines_of(tmp_path / "again", "code_connections")
    assert {name for name in before if before[name] != after[name]} == {"sealed_secret"}
    (before,) = lines_of(tmp_path / "out", "webhooks")
    (after,) = lines_of(tmp_path / "again", "webhooks")
    assert {name for name in before if before[name] != after[name]} == {
        "is_active",
        "sealed_secret",
    }


@pytest.mark.one_database
def test_second_factors_need_the_secret_key(app, filled, flask, tmp_path):
    with app.app_context():
        factor = SecondFactor(
            user_id=filled.ada.user_id,
            sealed_secret=second_factor.SECRETS.encrypt(filled.ada.user_id, b"secret"),
            created_at=0,
            enabled_at=1,
            last_step=0,
        )
        run_write(lambda: session.add(factor))
    flask("export", str(tmp_path / "out"))
    there = tmp_path / "there"
    there.mkdir()
    copy_database(there / "docket.db")
    key = "another secret key of the tests, as long"
    other = create_app(settings_for(f"sqlite:///{there / 'docket.db'}", there, secret_key=key))
    runner = other.test_cli_runner()
    command = ["import-export", str(tmp_path / "out"), "--reset-webhooks"]
    refused = runner.invoke(args=command)
    assert (refused.exit_code, "second factors (1)" in refused.output) == (1, True)
    done = runner.invoke(args=[*command, "--reset-second-factors"])
    assert "Second factors turned off: 1." in done.output
    with other.app_context():
        with reading():
            assert session.query(SecondFactor).count() == 0
        db.engine.dispose()


def spoiled(folder, name, change):
    """Change one file of the export, and its checksum in the manifest."""
    place = folder / name
    place.write_bytes(change(place.read_bytes()))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = hashlib.sha256(place.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_a_half_import_leaves_nothing(app, database, filled, flask, tmp_path):
    good = tmp_path / "good"
    flask("export", str(good))
    database.empty()
    table = "data/preferences.jsonl"
    cases = {
        "is not a Docket export": lambda at: (at / "manifest.json").unlink(),
        "tickets/OPEN/OPEN-1.md is missing from the export": lambda at: (
            at / "tickets/OPEN/OPEN-1.md"
        ).unlink(),
        "data/users.jsonl was changed after the export": lambda at: (
            at / "data/users.jsonl"
        ).write_text(""),
        "webhook_deliveries.jsonl, line 1": lambda at: spoiled(
            at, "data/webhook_deliveries.jsonl", lambda content: content + b"{}\n"
        ),
        "rows in comments is wrong": lambda at: spoiled(
            at, "data/comments.jsonl", lambda content: content.splitlines(keepends=True)[0]
        ),
        "Nothing was imported": lambda at: spoiled(
            at, "data/comments.jsonl", lambda content: content.splitlines(keepends=True)[0] * 2
        ),
        "unknown field, more": lambda at: spoiled(at, table, lambda _: b'{"more": 1}\n'),
    }
    for sentence, harm in cases.items():
        bad = tmp_path / "bad"
        shutil.copytree(good, bad)
        harm(bad)
        assert sentence in flask("import-export", str(bad), code=1)
        assert rows_in(app) == 0
        shutil.rmtree(bad)
    newer = json.loads((good / "manifest.json").read_text()) | {"schema": "9999"}
    (good / "manifest.json").write_text(json.dumps(newer))
    assert "from a newer Docket" in flask("import-export", str(good), code=1)
