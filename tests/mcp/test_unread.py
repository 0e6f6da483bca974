"""The response to a write says what others did on the ticket since the bot last read it."""

import pytest
from sqlalchemy import func, insert, select

from app.accounts.models import BotRead
from app.audit.models import AuditEvent
from app.core.clock import DAY_MS
from app.core.ids import new_id
from app.database.session import reading, session
from app.inbox import unread
from app.jobs import sweeping
from tests.support.cast import in_app
from tests.support.story import make_ticket, ok


def said(answer):
    """The unread events of a response, as (who, what)."""
    return [(row["who"], row["what"]) for row in answer.get("unread", ())]


@pytest.fixture(name="ticket")
def _ticket(ada, cast):
    return make_ticket(ada, cast.open_project)


def comment(ada, text="Wait"):
    return ok(ada.post("/tickets/OPEN-1/comments", {"body": text}), 201)


def write(smith, priority):
    """A write of the bot; the lean response that agents get."""
    return smith.lean("update_ticket", ticket="OPEN-1", priority=priority)


def test_a_comment_since_the_ticket_was_read(smith, ada, ticket):
    smith.lean("get_ticket", ticket="OPEN-1")
    assert said(write(smith, "low")) == []
    made = comment(ada)
    (row,) = write(smith, "high")["unread"]
    assert row == {"who": "ada", "what": "commented", "when": f"{made['created_at'][:16]}Z"}
    # Being told is not reading, and reading the ticket does not include its comments.
    assert said(write(smith, "low")) == [("ada", "commented")]
    smith.lean("list_comments", ticket="OPEN-1")
    assert said(write(smith, "high")) == []


def test_a_change_since_the_ticket_was_read(smith, ada, ticket):
    smith.lean("list_comments", ticket="OPEN-1")
    smith.lean("get_ticket", ticket="OPEN-1")
    ok(ada.patch("/tickets/OPEN-1", {"title": "Another", "priority": "urgent"}))
    (row,) = said(smith.call("add_comment", ticket="OPEN-1", body="Mine"))
    assert row[0] == "ada"
    smith.lean("list_comments", ticket="OPEN-1")
    assert len(said(write(smith, "low"))) == 1
    smith.lean("get_ticket", ticket="OPEN-1")
    assert said(write(smith, "high")) == []


def test_what_was_never_read_is_not_unread(smith, ada, ticket):
    comment(ada)
    assert said(write(smith, "low")) == []
    # Reading the comments counts as reading the ticket as of that time.
    smith.lean("list_comments", ticket="OPEN-1")
    assert said(write(smith, "high")) == []
    ok(ada.patch("/tickets/OPEN-1", {"title": "Another"}))
    assert len(said(write(smith, "low"))) == 1


def test_other_bots_count_and_oneself_does_not(smith, fenced, ada, cast):
    make_ticket(ada, cast.fenced_project)
    smith.lean("get_ticket", ticket="FENCED-1")
    smith.lean("add_comment", ticket="FENCED-1", body="Mine")
    fenced.lean("get_ticket", ticket="FENCED-1")
    fenced.lean("add_comment", ticket="FENCED-1", body="Theirs")
    told = smith.lean("add_comment", ticket="FENCED-1", body="Mine again")
    assert said(told) == [("fenced", "commented")]
    # A read by one bot is not a read by another.
    told = fenced.lean("add_comment", ticket="FENCED-1", body="Theirs again")
    assert said(told) == [("smith", "commented")]


def test_every_write_to_a_ticket_says_it(smith, ada, ticket, cast):
    make_ticket(ada, cast.open_project)
    smith.lean("get_ticket", ticket="OPEN-1")
    own = smith.lean("add_comment", ticket="OPEN-1", body="Mine")["id"]
    comment(ada)
    told = [("ada", "commented")]
    relation = smith.lean("add_ticket_relation", ticket="OPEN-1", type="blocks", target="OPEN-2")
    assert said(relation) == told
    answers = [
        smith.lean("remove_ticket_relation", ticket="OPEN-1", relation=relation["id"]),
        smith.lean("update_comment", comment=own, body="Changed"),
        smith.lean("delete_comment", comment=own),
        smith.lean("watch_ticket", ticket="OPEN-1"),
        smith.lean("unwatch_ticket", ticket="OPEN-1"),
        smith.lean("transition_ticket", ticket="OPEN-1", state="To do"),
        smith.lean("update_ticket", ticket="OPEN-1", title="New", detail="full"),
        smith.lean("delete_ticket", ticket="OPEN-1"),
    ]
    assert [said(answer) for answer in answers] == [told] * len(answers)
    # The value does not change, so nothing is written.
    smith.lean("get_ticket", ticket="OPEN-2")
    ok(ada.post("/tickets/OPEN-2/comments", {"body": "Wait"}), 201)
    assert said(smith.lean("update_ticket", ticket="OPEN-2", priority="medium")) == []


def test_who_creates_or_claims_a_ticket_has_read_it(smith, ada, cast, ticket):
    smith.lean("create_ticket", project="OPEN", title="Mine")
    assert said(smith.lean("update_ticket", ticket="OPEN-2", priority="low")) == []
    ok(ada.post("/tickets/OPEN-2/comments", {"body": "Wait"}), 201)
    assert len(said(smith.lean("update_ticket", ticket="OPEN-2", priority="high"))) == 1
    comment(ada)
    assert smith.lean("update_ticket", ticket="next")["display_id"] == "OPEN-1"
    assert said(write(smith, "low")) == []
    comment(ada)
    assert len(said(write(smith, "high"))) == 1
    # Reading the resource includes the comments.
    smith.result("resources/read", {"uri": "ticket://OPEN-1"})
    assert said(write(smith, "low")) == []


def test_only_a_last_page_of_comments_is_all_of_them(smith, ada, ticket):
    smith.lean("get_ticket", ticket="OPEN-1")
    for text in ("one", "two"):
        comment(ada, text)
    page = smith.lean("list_comments", ticket="OPEN-1", limit=1)["page"]
    smith.lean("list_comments", ticket="OPEN-1", include_body=False)
    assert len(said(write(smith, "low"))) == 2
    smith.lean("list_comments", ticket="OPEN-1", limit=1, cursor=page["next_cursor"])
    assert said(write(smith, "high")) == []


def test_an_answer_has_the_newest_ten(smith, ada, ticket):
    smith.lean("get_ticket", ticket="OPEN-1")
    ok(ada.patch("/tickets/OPEN-1", {"title": "First"}))
    for number in range(unread.MAX_EVENTS):
        comment(ada, str(number))
    assert said(write(smith, "low")) == [("ada", "commented")] * unread.MAX_EVENTS


def test_more_events_than_are_looked_at(smith, ada, ticket, app):
    """Only the newest events are searched, so enough events of its own hide those of others."""
    smith.lean("get_ticket", ticket="OPEN-1")
    comment(ada)
    ok(smith.caller.post("/tickets/OPEN-1/comments", {"body": "Own"}), 201)

    def say_more():
        events = AuditEvent.__table__
        own = select(events).where(events.c.actor_user_id == smith.caller.user_id)
        newest = own.where(events.c.event_type == "comment.created").order_by(events.c.id.desc())
        made = session.execute(newest.limit(1)).one()._mapping
        copies = [{**made, "id": new_id()} for _ in range(unread.NEWEST_EVENTS)]
        session.execute(insert(events), copies)

    in_app(app, say_more)
    assert said(write(smith, "low")) == []


def test_a_refused_read_is_none_and_a_project_apart_tells_nothing(smith, fenced, ada, ticket, app):
    assert fenced.refused("get_ticket", ticket="OPEN-1")["code"] == "resource.not_found"
    with app.app_context(), reading():
        assert session.scalar(select(func.count()).select_from(BotRead)) == 0


def test_an_old_reading_is_swept(smith, ada, ticket, app, monkeypatch):
    settings = app.config["SETTINGS"]
    smith.lean("get_ticket", ticket="OPEN-1")
    smith.lean("list_comments", ticket="OPEN-1")
    with app.app_context():
        assert sweeping.sweep("bot-reads", settings, now=True).deleted == 0
        late = sweeping.now_ms() + (settings.tool_invocation_log_retention_days + 1) * DAY_MS
        monkeypatch.setattr(sweeping, "now_ms", lambda: late)
        assert sweeping.sweep("bot-reads", settings, now=True).deleted == 2
    comment(ada)
    assert said(write(smith, "low")) == []
