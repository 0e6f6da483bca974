"""Filters by relative dates, and views that are shared with a project."""

from datetime import date, timedelta

import pytest

from app.core.clock import DAY_MS, now_ms
from app.database.session import run_write, session
from app.http import current
from app.tickets.models import Ticket
from tests.support.story import events, ok
from tests.web.conftest import Reader
from tests.web.test_list import rows

WEDNESDAY = date(2026, 11, 25)
LIST = "/projects/OPEN/tickets"


@pytest.fixture
def on_a_wednesday(monkeypatch):
    moment = DAY_MS * (WEDNESDAY - date(1970, 1, 1)).days
    monkeypatch.setattr(current, "now_ms", lambda: moment)


@pytest.fixture
def bo(cast, app):
    return Reader(cast.bo.client, app)


@pytest.mark.usefixtures("on_a_wednesday")
def test_tickets_are_filtered_by_when_they_are_due(ada, make, states):
    days = (-3, -2, -20, 0, 4, 11, None)
    for number, days_ahead in enumerate(days):
        due = None
        if days_ahead is not None:
            due = (WEDNESDAY + timedelta(days=days_ahead)).isoformat()
        fields = {"state_id": states["Done"]} if days_ahead == -20 else {}
        make(str(number), due_date=due, **fields)
    for words, expected in (
        ("due=overdue", "10"),
        ("due=today", "3"),
        ("due=this_week", "431"),
        ("due=next_week", "5"),
        ("due=none", "6"),
        ("due=today&due=none", "63"),
        # An unknown word filters nothing; the list leaves out done tickets.
        ("due=someday", "654310"),
    ):
        text = ada.get(f"{LIST}?{words}").text
        assert rows(text) == [f"OPEN-{int(number) + 1}" for number in expected], words
        assert ada.get(f"/projects/OPEN/board?{words}").status_code == 200, words
        if words == "due=this_week":
            assert "Due: </span>" in text or "Due: " in text
            assert "This week" in text


def test_tickets_are_filtered_by_how_long_nobody_touched_them(app, ada, cast, make):
    old, commented, fresh = make("Old"), make("Commented"), make("Fresh")

    def age():
        for one in (old, commented):
            ticket = session.get_one(Ticket, one["id"])
            ticket.updated_at = now_ms() - 31 * DAY_MS

    with app.app_context():
        run_write(age)
    ok(cast.ada.post(f"/tickets/{commented['id']}/comments", {"body": "Still on it."}), 201)
    assert rows(ada.get(f"{LIST}?untouched=30").text) == [old["display_id"]]
    assert rows(ada.get(f"{LIST}?untouched=90").text) == []
    assert len(rows(ada.get(f"{LIST}?untouched=31").text)) == 3
    assert "Not updated for: 30 days" in ada.get(f"{LIST}?untouched=30").text
    assert fresh["display_id"] in rows(ada.get(LIST).text)


# Shared views.


def save(reader, **form):
    given = {"project": "OPEN", "name": "Due soon", "query": "due=this_week", "back": LIST}
    return reader.post("/views", **{**given, **form})


def changes(app):
    found = events(app, event_type="project.updated")
    return [one.payload["changes"]["views"] for one in found]


def view_id(app):
    change = changes(app)[-1]
    return (change["to"] or change["from"])["id"]


def undo(reader, app):
    event = events(app, event_type="project.updated")[-1]
    return reader.post(f"/audit/events/{event.id}/undo", back=LIST)


def test_a_shared_view_is_offered_to_everyone_and_recorded(app, ada, bo):
    assert save(ada).location == f"{LIST}?due=this_week"
    assert "Due soon" not in bo.get(LIST).text
    assert changes(app) == []
    save(ada, shared="yes")
    assert "Due soon" in bo.get(LIST).text
    assert "Shared with Open project" in bo.get("/projects/OPEN/board").text
    assert "Due soon" not in bo.get("/projects/FENCED/tickets").text
    assert "Due soon" not in bo.get("/tickets").text
    (change,) = changes(app)
    assert change["from"] is None
    assert change["to"]["query"] == "due=this_week"


def test_anyone_stops_sharing_or_deletes_a_shared_view_and_it_comes_back_by_undo(app, ada, bo):
    save(ada, shared="yes")
    shared = view_id(app)
    assert bo.post(f"/views/{shared}/share", shared="no", back=LIST).location == LIST
    assert "Due soon" not in bo.get(LIST).text
    assert "Due soon" in ada.get(LIST).text
    # The view belongs to ada alone again.
    for change in ("share", "delete"):
        assert bo.post(f"/views/{shared}/{change}", shared="yes", back=LIST).status_code == 404
    undo(ada, app)
    assert "Due soon" in bo.get(LIST).text
    bo.post(f"/views/{shared}/delete", back=LIST)
    assert "Due soon" not in ada.get(LIST).text
    undo(bo, app)
    assert "Due soon" in ada.get(LIST).text


def test_other_filters_of_a_shared_view_are_put_back(app, ada):
    save(ada, shared="yes")
    save(ada, shared="yes", query="due=today")
    assert changes(app)[-1]["to"]["query"] == "due=today"
    undo(ada, app)
    assert "?due=this_week" in ada.get(LIST).text
    undo(ada, app)
    assert "?due=today" in ada.get(LIST).text


def test_a_view_of_all_projects_stays_private(app, ada, bo):
    ada.post("/views", name="All due", query="due=today", back="/tickets", shared="yes")
    assert "All due" in ada.get("/tickets").text
    assert "All due" not in bo.get("/tickets").text
    assert changes(app) == []
