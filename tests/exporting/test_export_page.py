"""/export: a zip of everything that one may see, created while it is sent."""

import json
import tracemalloc

import pytest
from sqlalchemy import func, select

from app.core.errors import Unavailable
from app.exporting import pages
from app.exporting.layout import snapshot
from app.exporting.pages import inside, zipped
from app.tickets.models import Ticket
from tests.support.story import make_label, make_ticket, ok

PAGE = {"Accept": "text/html"}


@pytest.fixture
def filled(cast):
    """Some of everything in OPEN, a ticket in FENCED, and personal notes of two people."""
    ada, project = cast.ada, cast.open_project
    label = make_label(ada, project, "bug")
    first = make_ticket(ada, project, "First", body="Words", label_ids=[label["id"]])
    part = make_ticket(ada, project, "Part", type="subtask", parent_ticket_id=first["id"])
    make_ticket(ada, project, "Gone")
    ok(ada.delete("/tickets/OPEN-3"), 204)
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "Said"}), 201)
    relation = {"type": "blocks", "target_ticket_id": part["id"]}
    ok(ada.post("/tickets/OPEN-1/relations", relation), 201)
    make_ticket(ada, cast.fenced_project, "Elsewhere")
    ok(ada.post("/wiki/pages", {"title": "Lantern", "body": "Light"}), 201)
    ok(ada.post("/wiki/pages", {"title": "Lamp", "project_id": project}), 201)
    ok(ada.post("/sticky-notes", {"body": "Mine alone"}), 201)
    ok(cast.bo.post("/sticky-notes", {"body": "Bo's secret"}), 201)
    ok(ada.post(f"/projects/{project}/sticky-notes", {"body": "Ours"}), 201)
    hook = {"url": "https://10.0.0.1/", "secret": "hush" * 8, "event_types": ["wiki.*"]}
    ok(ada.post("/webhooks", hook), 201)
    return cast


def test_the_archive_holds_what_one_may_see(filled, archive):
    files = archive()
    assert {name.rpartition("/")[0] for name in files} == {
        *("", "projects", "tickets/OPEN", "tickets/FENCED", "wiki/global", "wiki/OPEN"),
        *("sticky-notes/OPEN", "sticky-notes/personal/ada"),
    }
    assert "tickets/OPEN/OPEN-3.md" not in files
    ticket = files["tickets/OPEN/OPEN-1.md"]
    for part in ('title: "First"', 'labels: ["bug"]', 'relations: ["blocks OPEN-2"]', "Said"):
        assert part in ticket
    assert 'parent: "OPEN-1"' in files["tickets/OPEN/OPEN-2.md"]
    everything = "".join(files.values())
    assert "Mine alone" in everything
    assert "Bo's secret" not in everything
    of_bo = "".join(archive(by=filled.bo).values())
    assert ("Bo's secret" in of_bo, "Mine alone" in of_bo) == (True, False)


def test_one_project_comes_alone(filled, archive):
    files = archive("project=OPEN&events=on")
    events = files.pop("audit/events-1.jsonl").splitlines()
    assert {json.loads(line)["project_id"] for line in events} == {filled.open_project}
    assert sorted(name for name in files if not name.startswith("sticky-notes/OPEN/")) == [
        *("README.txt", "projects/OPEN.md", "tickets/OPEN/OPEN-1.md", "tickets/OPEN/OPEN-2.md"),
        "wiki/OPEN/lamp.md",
    ]
    for key, status in (("NONE", 404), ("open", 404)):
        answer = filled.ada.client.get(f"/export/archive.zip?project={key}", headers=PAGE)
        assert answer.status_code == status
    ok(filled.ada.delete(f"/projects/{filled.open_project}"), 204)
    answer = filled.ada.client.get("/export/archive.zip?project=OPEN", headers=PAGE)
    assert answer.status_code == 410
    assert not [name for name in archive() if "OPEN" in name]


def test_the_audit_log_comes_if_asked_for_and_no_secret_does(filled, archive, monkeypatch):
    monkeypatch.setattr(pages, "EVENTS", 5)
    monkeypatch.setattr(pages, "MAX_EVENT_FILE_BYTES", 3000)
    files = archive("events=on")
    names = [name for name in files if name.startswith("audit/")]
    assert names[:2] == ["audit/events-1.jsonl", "audit/events-2.jsonl"]
    found = [json.loads(line) for name in names for line in files[name].splitlines()]
    logged = ok(filled.ada.get("/audit?limit=200"))["data"]
    assert [one["id"] for one in found] == [one["id"] for one in logged]
    assert found == logged
    everything = "".join(files.values())
    for secret in ("argon2", "token_hash", "password_hash", "hushhush", "sealed_secret", "Bo's"):
        assert secret not in everything


def test_a_database_that_is_away_is_a_page_and_one_that_goes_breaks_the_zip(
    filled, monkeypatch, caplog
):
    def gone(*_, **__):
        raise Unavailable

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("app.exporting.pages._read_connection", gone)
        answer = filled.ada.client.get("/export/archive.zip", headers=PAGE)
        assert answer.status_code == 503
        assert "Back in a moment" in answer.text
    monkeypatch.setattr("app.exporting.pages.activity.list_events", gone)
    with pytest.raises(Unavailable):
        filled.ada.client.get("/export/archive.zip?events=on", headers=PAGE)
    assert "an export broke off: Unavailable" in caplog.text


def test_memory_does_not_grow_with_what_is_written():
    def measured(number):
        content = bytes(range(256)) * 40
        tracemalloc.start()
        written = sum(
            len(piece) for piece in zipped((f"t/{n}.md", [content]) for n in range(number))
        )
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak, written

    small, _ = measured(100)
    large, written = measured(5000)
    # Only a line of the table of contents remains in memory for each file.
    assert large - small < 5000 * 1000
    assert written > 500_000


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("wiki/global/page.md", "wiki/global/page.md"),
        ("wiki/../../etc/passwd", "wiki/_/_/etc/passwd"),
        ("/etc/passwd", "_/etc/passwd"),
        ("C:\\windows\\x\x00\n.md", "C__windows_x__.md"),
        ("a//b/./c", "a/_/b/_/c"),
    ],
)
def test_no_name_leads_out_of_the_folder(name, made):
    assert inside(name) == made


def test_the_page_says_what_there_is(cast):
    page = cast.ada.client.get("/export?project=OPEN", headers=PAGE).text
    assert '<option value="OPEN" selected>' in page
    assert "flask export DIR" in page
    assert "flask backup" in page


def test_a_snapshot_sees_nothing_that_is_written_meanwhile(app, cast):
    make_ticket(cast.ada, cast.open_project, "First")
    count = select(func.count()).select_from(Ticket)
    with app.app_context(), snapshot() as connection:
        assert connection.scalar(count) == 1
        make_ticket(cast.ada, cast.open_project, "Second")
        assert connection.scalar(count) == 1
    with app.app_context(), snapshot() as connection:
        assert connection.scalar(count) == 2
