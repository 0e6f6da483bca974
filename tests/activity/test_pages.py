"""The pages of the audit log and of the tool log."""

import csv
import html
import json
import re

import pytest
from sqlalchemy import select

from app.activity import requests
from app.activity.messages import MANY, NOTHING_SAID, SENTENCES
from app.activity.sentences import OF_TICKETS, sentence
from app.audit.event_types import EVENTS
from app.audit.models import AuditEvent
from app.audit.service import WORKSPACE_ID
from app.core.clock import DAY_MS, iso, now_ms
from app.core.ids import new_id
from app.database.session import session, transaction
from app.web.filters import day
from tests.support.agent import Agent
from tests.support.story import make_ticket, ok

COPIED = (
    "workspace_id",
    "category",
    "actor_user_id",
    "actor_kind",
    "target_kind",
    "target_id",
    "project_id",
    "ticket_id",
    "request_id",
    "created_at",
)


@pytest.fixture
def browser(cast):
    """A function that opens a page as ada and returns its text."""

    def open_(path, status=200, **headers):
        response = cast.ada.call("GET", f"/{path}", headers={"Accept": "text/html", **headers})
        assert response.status_code == status, response.get_data(as_text=True)[:300]
        return html.unescape(response.get_data(as_text=True))

    return open_


def test_every_event_type_has_its_sentence():
    assert set(SENTENCES) == {name for name in EVENTS if not name.startswith(OF_TICKETS)}
    for name, kind in EVENTS.items():
        payload = dict.fromkeys(kind.payload, "x")
        if "changes" in payload:
            payload["changes"] = {"body": {"from": "x", "to": "y"}}
        if "type" in payload:
            payload["type"] = "blocks"
        event = {"event_type": name, "payload": payload, "ticket_id": "x", "actor": None}
        said = sentence(event, {}, "OPS-1")
        assert name.replace(".", " ").replace("_", " ") != said
        assert NOTHING_SAID not in said, name
        assert "{" not in said, name


def test_every_event_type_has_its_sentence_for_many():
    assert set(MANY) == set(EVENTS)
    assert all("{count}" in said for said in MANY.values())


def rows_of(page):
    """The texts of the rows of the log."""
    rows = re.findall(r'<span class="row-main">(.*?)</span>\n', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", "", row).split()) for row in rows]


def test_events_of_one_request_are_one_row(cast, browser):
    ok(cast.ada.post("/projects", {"key": "NEW", "name": "New"}), 201)
    page = browser("/audit")
    (row,) = [row for row in rows_of(page) if "created the project NEW" in row]
    assert row == "Ada created the project NEW, New; added 5 states"
    assert "6 events" in page
    request = re.search(r"request_id=([0-9a-f-]{36})", page[page.index("NEW, New") :])[1]
    whole = rows_of(browser(f"/audit?span=all&request_id={request}"))
    assert len(whole) == 6
    assert whole[-1] == "Ada created the project NEW, New"
    # A filter applies to the row, and to the events that it unfolds.
    narrowed = browser("/audit?event_type=workflow_state.*&actor=ada")
    assert "Ada added 5 states" in rows_of(narrowed)
    assert f"actor=ada&event_type=workflow_state.*&span=all&request_id={request}" in (
        narrowed.replace("%2A", "*")
    )


def test_a_row_names_three_kinds_of_events_and_counts_the_rest(cast, browser, app):
    ticket = make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.patch(f"/tickets/{ticket['id']}", {"priority": "high"}))
    with app.app_context(), transaction():
        event = session.scalars(
            select(AuditEvent).where(AuditEvent.event_type == "ticket.updated")
        ).one()
        for name in ("wiki.created", "label.deleted", "wiki.deleted"):
            for _ in range(2):
                copied = {column: getattr(event, column) for column in COPIED}
                session.add(AuditEvent(**copied, id=new_id(), event_type=name, payload={}))
    (row,) = [row for row in rows_of(browser("/audit")) if "OPEN-1" in row and "; and " in row]
    assert row.endswith("to high; wrote 2 pages; deleted 2 labels; and 2 more")


def test_housekeeping_is_one_row_a_day_and_no_news(cast, browser, app):
    make_ticket(cast.ada, cast.open_project, "First")
    news = re.search(r'hx-get="(/audit/news[^"]*)"', browser("/audit"))[1]
    with app.app_context(), transaction():
        for number, (name, payload) in enumerate(
            [("system.sweeper_ran", {"sweeper": "outbox", "deleted": 0})] * 3
            + [("system.audit_checkpoint", {"sequence": 1, "event_count": 7})]
        ):
            at = now_ms() - (number == 2) * DAY_MS
            session.add(
                AuditEvent(
                    id=new_id(),
                    workspace_id=WORKSPACE_ID,
                    category="audit_only",
                    event_type=name,
                    actor_kind="system",
                    target_kind="system",
                    payload=payload,
                    created_at=at,
                )
            )
    make_ticket(cast.ada, cast.open_project, "Second")
    rows = rows_of(browser("/audit?span=all"))
    assert [row for row in rows if "cleanup" in row or "cleaned" in row] == [
        "Docket ran 2 cleanup jobs",
        "Docket cleaned up outbox: 0 deleted",
    ]
    assert "Docket signed checkpoint 1 (events: 7)" in rows
    assert "1 new event" in browser(news)
    # With a filter for them, each one is shown.
    alone = rows_of(browser("/audit?span=all&event_type=system.sweeper_ran"))
    assert len(alone) == 3


def test_pages_of_requests_hold_every_event_once(cast, browser, monkeypatch):
    for number in range(7):
        make_ticket(cast.ada, cast.open_project, f"Number {number}")
    monkeypatch.setattr(requests, "ROWS", 3)
    monkeypatch.setattr(requests, "MAX_EVENTS", 5)
    seen, address = [], "/audit"
    while address:
        page = browser(address)
        rows = rows_of(page)
        assert 0 < len(rows) <= 3
        seen += [row for row in rows if "Number" in row]
        following = re.search(r'href="(/audit\?[^"]*cursor=[^"]+)"', page)
        address = following and following[1]
    assert [int(row[-1]) for row in seen] == list(reversed(range(7)))


def test_a_request_beyond_the_page_says_so(cast, browser, monkeypatch):
    ok(cast.ada.post("/projects", {"key": "NEW", "name": "New"}), 201)
    monkeypatch.setattr(requests, "MAX_EVENTS", 4)
    page = browser("/audit")
    assert "Ada added 4 states" in rows_of(page)
    assert "4+ events" in page
    rest = browser(re.search(r'href="(/audit\?[^"]*cursor=[^"]+)"', page)[1])
    assert "Ada created the project NEW, New; added the state Backlog" in rows_of(rest)
    assert "2 events" in rest


def test_rows_stand_below_their_day(cast, browser, monkeypatch):
    make_ticket(cast.ada, cast.open_project)
    assert re.findall(r'day-head">(.*?)<', browser("/audit")) == ["Today"]
    at = now_ms()
    monkeypatch.setattr("app.activity.pages.log.now_ms", lambda: at + DAY_MS)
    assert re.findall(r'day-head">(.*?)<', browser("/audit")) == ["Yesterday"]
    monkeypatch.setattr("app.activity.pages.log.now_ms", lambda: at + 2 * DAY_MS)
    assert re.findall(r'day-head">(.*?)<', browser("/audit")) == [day(iso(at)[:10])]


def test_menus_offer_what_there_is_and_keep_the_other_filters(cast, browser):
    page = browser("/audit?project=OPEN&span=7d")
    assert 'href="/audit?project=OPEN&span=7d&actor=smith"' in page
    assert 'href="/audit?project=OPEN&span=7d&event_type=ticket.%2A"' in page
    assert 'href="/audit?span=7d&project=OPEN"' not in page
    assert "Project: <strong>" in page
    assert 'href="/audit?span=7d"' in page
    assert 'href="/audit?project=OPEN"' in page


def test_tickets_are_suggested_by_id_and_title(cast, browser):
    make_ticket(cast.ada, cast.open_project, "Mend the roof")
    for typed in ("open-1", "roof"):
        page = browser(f"/audit/tickets?actor=ada&ticket={typed}")
        assert 'href="/audit?actor=ada&ticket=OPEN-1"' in page
        assert "Mend the roof" in page
    assert "No matches" in browser("/audit/tickets?ticket=zzz")
    assert "OPEN-1" not in browser("/audit/tickets?ticket=")


def test_events_are_sentences(cast, browser):
    ticket = make_ticket(cast.ada, cast.open_project, "Mend <b>it</b>")
    states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
    ok(cast.smith.post(f"/tickets/{ticket['id']}/transition", {"state_id": states[2]["id"]}))
    shown = browser("/audit")
    assert "Smith bot moved OPEN-1 from Backlog to In progress" in rows_of(shown)
    assert "created <a" in shown
    fields = {"name": "Barn", "owner_user_id": cast.bo.user_id}
    ok(cast.ada.patch(f"/projects/{cast.open_project}", fields))
    assert "Ada updated a project: name, owner" in rows_of(browser("/audit"))
    assert "Mend <b>it</b>" in shown
    raw = cast.ada.get("//audit", headers={"Accept": "text/html"}).get_data(as_text=True)
    assert "<b>it</b>" not in raw


def test_filters(cast, browser):
    make_ticket(cast.ada, cast.open_project, "Hers")
    make_ticket(cast.smith, cast.fenced_project, "Its")
    assert "Its" not in browser("/audit?actor=ada")
    assert "Hers" not in browser("/audit?actor=smith")
    assert "Its" not in browser("/audit?project=open")
    assert "Its" not in browser("/audit?ticket=open-1")
    assert "Hers" in browser("/audit?event_type=ticket.")
    assert "Hers" not in browser("/audit?event_type=wiki.*")
    assert "Hers" not in browser("/audit?category=audit_only")
    for nothing in ("actor=nobody", "ticket=OPEN-99", "ticket=x", "project=NOPE", "request_id=x"):
        assert "No events match these filters" in browser(f"/audit?{nothing}")
    assert "Hers" in browser("/audit?span=1h")
    assert "Hers" in browser("/audit?span=nonsense&category=nonsense")
    assert browser("/audit?cursor=garbage", status=303) is not None


def test_an_event_and_its_request(cast, browser):
    ticket = make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.patch(f"/tickets/{ticket['id']}", {"priority": "high"}))
    event = ok(cast.ada.get("/audit?event_type=ticket.updated"))["data"][0]
    shown = browser(f"/audit/events/{event['id']}")
    assert "medium" in shown
    assert "high" in shown
    assert f'href="/api/v1/audit/{event["id"]}?proof=true"' in shown
    assert "OPEN-1" in browser(f"/audit?span=all&request_id={event['request_id']}")
    browser("/audit/events/unknown", status=404)


def test_the_export_is_the_filter_as_lines(cast):
    make_ticket(cast.ada, cast.open_project, "Hers")
    response = cast.ada.get("//audit/export?event_type=ticket.created")
    (line,) = response.get_data(as_text=True).splitlines()
    assert json.loads(line) == ok(cast.ada.get("/audit?event_type=ticket.created"))["data"][0]
    assert "attachment" in response.headers["Content-Disposition"]


def test_the_export_is_sent_in_pieces(cast, monkeypatch):
    monkeypatch.setattr("app.activity.pages.log.BATCH", 2)
    for number in range(5):
        make_ticket(cast.ada, cast.open_project, f"{number}")
    for kind, lines in (("jsonl", [2, 2, 1]), ("csv", [3, 2, 1])):
        response = cast.ada.get(f"//audit/export?format={kind}&event_type=ticket.created")
        assert [piece.count(b"\n") for piece in response.iter_encoded()] == lines


def test_tool_calls(cast, browser):
    agent = Agent(cast.smith)
    for _ in range(3):
        agent.call("get_self")
    agent.refused("get_ticket", ticket="OPEN-9")
    shown = browser("/audit/tools")
    assert "get_self" in shown
    assert "resource.not_found" in shown
    assert "1 (100%)" in shown
    assert "OPEN-9" not in browser("/audit/tools?status=ok")
    assert "No MCP calls match these filters" in browser("/audit/tools?bot=scout")
    assert "OPEN-9" in browser("/audit/tools?bot=smith&tool_name=get_ticket")
    assert "OPEN-9" not in browser("/audit/tools?request_id=x")


def test_pausing_on_the_page(cast, browser):
    assert "Pause all bots" in browser("/bots")
    post = {"action": "pause"}
    assert cast.ada.call("POST", "//bots/pausing", data=post).status_code == 303
    assert "All bots are paused" in browser("/bots")
    assert Agent(cast.smith).refused("create_ticket", project="OPEN", title="T")["code"] == (
        "auth.read_only_bot"
    )
    assert cast.ada.call("POST", "//bots/pausing", data={"action": "resume"}).status_code == 303
    make_ticket(cast.smith, cast.open_project)


def test_bots_and_strangers_see_no_log(cast, client):
    for path in ("/audit", "/audit/tools", "/audit/export"):
        assert client.get(path, headers={"Accept": "text/html"}).status_code in (302, 303)


def test_the_export_for_spreadsheets_runs_nothing(cast):
    make_ticket(cast.ada, cast.open_project, "=1+1")
    response = cast.ada.get("//audit/export?format=csv&event_type=ticket.created")
    head, row = csv.reader(response.get_data(as_text=True).splitlines())
    told = dict(zip(head, row, strict=True))
    assert told["actor"] == "ada"
    assert told["sentence"] == "created OPEN-1, =1+1"
    assert json.loads(told["payload"])["title"] == "=1+1"
    assert not any(cell.startswith("=") for cell in row)
    assert "attachment" in response.headers["Content-Disposition"]
