"""Recording events: with the change or not at all, append-only, only with known types and keys."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.audit import service
from app.audit.event_types import EVENTS
from app.audit.service import WORKSPACE_ID, Target, record, record_separately
from app.core import ids
from app.core.actor import ANONYMOUS, SYSTEM, Actor, ActorKind
from app.core.errors import ReadOnlyBot, Unavailable
from app.core.ids import request_id
from app.database.session import run_write, session, transaction
from tests.support.story import event_types, events, make_ticket

HUMAN = Actor(ActorKind.HUMAN, user_id=ids.new_id(), username="ada")


@pytest.fixture(autouse=True)
def _context(app):
    with app.app_context():
        yield


def test_an_event_has_the_category_of_its_type_and_the_request_at_hand(app):
    mine = ids.new_id()
    token = request_id.set(mine)
    target = Target("ticket", ids.new_id(), project_id=ids.new_id(), ticket_id=ids.new_id())
    made = run_write(lambda: record(HUMAN, "ticket.deleted", target, display_id="A-1", title="x"))
    request_id.reset(token)
    event = events(app)[0]
    assert (event.id, event.workspace_id) == (made, WORKSPACE_ID)
    assert (event.category, event.request_id) == ("activity", mine)
    assert (event.actor_user_id, event.actor_kind) == (HUMAN.user_id, "human")
    assert (event.target_id, event.project_id, event.ticket_id) == (
        target.id,
        target.project_id,
        target.ticket_id,
    )
    assert event.payload == {"display_id": "A-1", "title": "x"}
    assert event.created_at == ids.created_ms(made)
    assert event.tool_invocation_log_id is None


def test_whoever_is_nobody_is_recorded_as_the_system(app):
    run_write(lambda: record(ANONYMOUS, "auth.logout", Target("user")))
    run_write(lambda: record(SYSTEM, "auth.logout", Target("user")))
    assert {(event.actor_kind, event.actor_user_id) for event in events(app)} == {("system", None)}


def test_an_unknown_type_or_key_is_a_mistake_in_the_code():
    with transaction():
        with pytest.raises(KeyError):
            record(HUMAN, "ticket.exploded", Target("ticket"))
        with pytest.raises(ValueError, match="no payload key"):
            record(HUMAN, "auth.logout", Target("user"), password="x")


def test_no_payload_may_hold_a_secret_by_its_name():
    keys = {key for event in EVENTS.values() for key in event.payload}
    assert not keys & {"password", "token", "secret", "api_key", "private_key", "plaintext_token"}


def test_an_event_goes_with_its_change(app):
    def work():
        record(HUMAN, "auth.logout", Target("user"))
        raise KeyError("stop")

    with pytest.raises(KeyError):
        run_write(work)
    assert events(app) == []


def test_a_refusal_is_recorded_after_its_rollback(app):
    bot = Actor(ActorKind.BOT, user_id=ids.new_id())
    service.record_refusal(bot, ReadOnlyBot(), "tickets.create")
    event = events(app)[0]
    assert event.event_type == "auth.bot.write_attempt_in_read_mode"
    assert event.payload == {"operation": "tickets.create"}
    assert (event.actor_user_id, event.actor_kind) == (bot.user_id, "bot")


def test_where_an_event_cannot_be_written_its_loss_is(app, caplog):
    record_separately(HUMAN, "auth.logout", Target("user"), nonsense=1)
    event = events(app)[0]
    assert event.event_type == "audit.orphaned"
    assert event.payload == {"event_type": "auth.logout", "reason": "write_failed"}
    assert "audit event not written" in caplog.text
    assert caplog.records[-1].exc_info


def test_in_an_outage_the_log_has_no_traceback_of_each_event(app, caplog, monkeypatch):
    def fail(_work):
        raise Unavailable

    monkeypatch.setattr(service, "run_write", fail)
    record_separately(HUMAN, "auth.logout", Target("user"))
    said = [(one.message, one.exc_info) for one in caplog.records]
    assert said == [("audit event not written", None), ("audit.orphaned not written", None)]


@pytest.mark.parametrize(
    "statement", ["UPDATE audit_events SET payload = '{}'", "DELETE FROM audit_events"]
)
def test_the_database_itself_keeps_the_log_append_only(app, cast, statement):
    make_ticket(cast.ada, cast.open_project)
    before = [(event.id, event.payload) for event in events(app)]
    with pytest.raises(DBAPIError):
        run_write(lambda: session.execute(text(statement)))
    assert [(event.id, event.payload) for event in events(app)] == before


def test_all_events_of_a_request_share_its_id(app, cast):
    response = cast.ada.post("/projects", {"key": "NEW", "name": "New"})
    mine = response.headers["X-Request-Id"]
    found = event_types(app, request_id=mine)
    assert found == ["project.created", *["workflow_state.created"] * 5]
