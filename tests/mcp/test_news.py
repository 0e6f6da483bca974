"""get_self tells a bot what others did on tickets that concern it, each event once."""

import pytest
from sqlalchemy import insert, select, text

from app.audit.models import AuditEvent
from app.core.clock import iso, now_ms
from app.core.ids import new_id
from app.database.session import reading, run_write, session
from app.inbox import bot_news
from tests.support.plans import plan_of
from tests.support.story import make_ticket, ok, state_ids


def said(answer):
    """The news of an answer as (ticket, who, what)."""
    return [(row["ticket"], row["who"], row["what"]) for row in answer["news"]]


@pytest.fixture(name="held")
def _held(ada, smith, cast):
    """A ticket that smith holds, and has been told of."""
    ticket = make_ticket(ada, cast.open_project, assignee_user_id=cast.smith.user_id)
    smith.call("get_self")
    return ticket


def test_each_thing_is_told_once(ada, smith, held):
    comment = ok(ada.post("/tickets/OPEN-1/comments", {"body": "How far is it?"}), 201)
    answer = smith.call("get_self")
    assert said(answer) == [("OPEN-1", "ada", "commented")]
    (row,) = answer["news"]
    assert row["comment"] == "How far is it?"
    assert row["when"] == f"{comment['created_at'][:16]}Z"
    assert smith.call("get_self")["news"] == []
    ok(ada.patch("/tickets/OPEN-1", {"priority": "urgent"}))
    assert said(smith.call("get_self")) == [("OPEN-1", "ada", "raised the priority to urgent")]


def test_another_process_tells_nothing_again(ada, smith, held):
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "a"}), 201)
    assert len(smith.call("get_self")["news"]) == 1
    bot_news._checked.clear()
    assert smith.call("get_self")["news"] == []


def test_what_concerns_a_bot(ada, smith, cast):
    def commented(name):
        ok(ada.post(f"/tickets/{name}/comments", {"body": "Hello"}), 201)
        return [row["ticket"] for row in smith.call("get_self")["news"]]

    for _ in range(4):
        make_ticket(ada, cast.open_project)
    mine = smith.call("create_ticket", project="OPEN", title="Mine")
    smith.call("add_comment", ticket="OPEN-1", body="Hello")
    smith.call("watch_ticket", ticket="OPEN-2")
    assert smith.call("get_self")["news"] == []
    assert commented(mine["display_id"]) == [mine["display_id"]]
    assert commented("OPEN-1") == ["OPEN-1"]
    assert commented("OPEN-2") == ["OPEN-2"]
    assert commented("OPEN-3") == []
    ok(ada.post("/tickets/OPEN-4/comments", {"body": "Can @smith look?"}), 201)
    assert [row["comment"] for row in smith.call("get_self")["news"]] == ["Can @smith look?"]
    smith.call("add_comment", ticket="OPEN-4", body="Yes")
    assert smith.call("get_self")["news"] == []


def test_an_assignment_comes_first(ada, smith, cast, held):
    make_ticket(ada, cast.open_project)
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "a"}), 201)
    ok(ada.patch("/tickets/OPEN-2", {"assignee_user_id": cast.smith.user_id}))
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "b"}), 201)
    found = said(smith.call("get_self"))
    assert found[0] == ("OPEN-2", "ada", "assigned this to Smith")
    assert [row[0] for row in found[1:]] == ["OPEN-1", "OPEN-1"]


def test_the_rest_follows_in_order(ada, smith, held, monkeypatch):
    monkeypatch.setattr(bot_news, "MAX_NEWS", 2)
    for number in range(5):
        ok(ada.post("/tickets/OPEN-1/comments", {"body": str(number)}), 201)
    answers = [smith.call("get_self") for _ in range(4)]
    told = [[row["comment"] for row in answer["news"]] for answer in answers]
    assert told == [["0", "1"], ["2", "3"], ["4"], []]
    assert [answer.get("more_news") for answer in answers] == [True, True, None, None]


def test_since_tells_again_and_moves_nothing(ada, smith, held):
    before = iso(now_ms())
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "a"}), 201)
    assert len(smith.call("get_self", since=before)["news"]) == 1
    of_today = smith.call("get_self", since=before[:10])["news"]
    assert of_today == smith.call("get_self", since=f"{before[:10]}T00:00:00Z")["news"] != []
    first = smith.call("get_self")
    assert [row["comment"] for row in first["news"]] == ["a"]
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "b"}), 201)
    for _ in range(2):
        again = smith.call("get_self", since=first["news_cursor"])
        assert [row["comment"] for row in again["news"]] == ["b"]
    assert [row["comment"] for row in smith.call("get_self")["news"]] == ["b"]


@pytest.mark.parametrize(
    "since", ["yesterday", "2026-11-20T19:23:58", "2026-13-01", "9" * 400, "\x00"]
)
def test_a_since_that_is_no_time(smith, since):
    error = smith.refused("get_self", since=since)
    assert error["code"] == "validation.invalid_field"
    assert error["details"]["field"] == "since"


def test_a_long_comment_is_cut(ada, smith, held):
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "x" * 301}), 201)
    assert smith.call("get_self")["news"][0]["comment"] == "x" * 300


def test_a_comment_is_told_as_it_is_now(ada, smith, held):
    path = "/tickets/OPEN-1/comments"
    gone = ok(ada.post(path, {"body": "Delete it all"}), 201)
    ok(ada.delete(f"/comments/{gone['id']}"), 204)
    edited = ok(ada.post(path, {"body": "Delete it all"}), 201)
    ok(ada.patch(f"/comments/{edited['id']}", {"body": "Never mind"}))
    news = smith.call("get_self")["news"]
    assert [(row["what"], row.get("comment")) for row in news] == [
        ("commented", None),
        ("deleted a comment", None),
        ("commented", "Never mind"),
        ("edited a comment", "Never mind"),
    ]


def test_code_mentions_no_bot(ada, smith, cast):
    make_ticket(ada, cast.open_project)
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "Its name is `@smith`"}), 201)
    assert smith.call("get_self")["news"] == []


def test_nothing_of_other_projects_and_deleted_tickets(ada, fenced, smith, cast, held):
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "Ask @fenced"}), 201)
    assert fenced.call("get_self")["news"] == []
    ada.delete("/tickets/OPEN-1")
    assert smith.call("get_self")["news"] == []


def test_a_read_bot_is_told_too(ada, scout, cast):
    make_ticket(ada, cast.open_project)
    scout.call("get_self")
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "@scout"}), 201)
    assert said(scout.call("get_self")) == [("OPEN-1", "ada", "commented")]
    assert scout.call("get_self")["news"] == []


def test_a_move_names_its_states(ada, smith, cast, held):
    path = "/tickets/OPEN-1/transition"
    ok(ada.post(path, {"state_id": state_ids(ada, cast.open_project)[1]}))
    assert said(smith.call("get_self")) == [("OPEN-1", "ada", "moved from Backlog to To do")]


def test_what_was_no_news_is_looked_up_once(ada, smith, cast, held, monkeypatch):
    make_ticket(ada, cast.open_project)
    smith.call("get_self")
    ok(ada.post("/tickets/OPEN-2/comments", {"body": "Not for smith"}), 201)
    lookups = []
    found = bot_news._news_after

    def counted(*args):
        lookups.append(1)
        return found(*args)

    monkeypatch.setattr(bot_news, "_news_after", counted)
    for _ in range(3):
        assert smith.call("get_self")["news"] == []
    assert len(lookups) == 1
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "For smith"}), 201)
    assert said(smith.call("get_self")) == [("OPEN-1", "ada", "commented")]


def test_the_calls_of_bots_are_not_read_for_news(app, cast):
    """Calls are most of the newest events."""
    with app.app_context():
        run_write(_many_calls)
    with app.app_context(), reading():
        connection = session.connection()
        statement = bot_news._RECENT_EVENT_IDS.compiled(connection.dialect)
        plan = plan_of(connection, statement, {"start": now_ms(), "user_id": cast.smith.user_id})
    shown = "\n".join(plan)
    assert "ix_audit_events_of_tickets" in shown, shown
    # The index alone excludes the bot's own events. SQLite does that, too, but its plan does not
    # show it.
    assert connection.dialect.name == "sqlite" or "Index Only Scan" in shown, shown
    assert not any(word in shown for word in ("Sort", "TEMP B-TREE", "Seq Scan", "SCAN audit")), (
        shown
    )


def _many_calls():
    """Insert ten tool calls for each event of a ticket, and update PostgreSQL's statistics."""
    (event,) = session.execute(select(table := AuditEvent.__table__).limit(1)).mappings()
    calls = [{"ticket_id": None, "event_type": "bot.tool_invoked"}] * 10
    of_a_ticket = {"ticket_id": new_id(), "event_type": "ticket.updated"}
    rows = [{**event, **kind, "id": new_id()} for kind in [*calls, of_a_ticket] * 200]
    session.execute(insert(table), rows)
    session.execute(text("ANALYZE audit_events"))
