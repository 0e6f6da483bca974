"""People who take part in a ticket get its news without watching it, and can stop that."""

import pytest
from sqlalchemy import func, select

from app.audit.models import AuditEvent
from app.core.actor import Actor, ActorKind
from app.database.session import reading, session
from app.inbox import service
from tests.support.story import make_ticket, ok
from tests.web.test_home import say, text_of

HERE = "/inbox"


@pytest.fixture
def created(cast):
    return make_ticket(cast.ada, cast.open_project, "Created")


def events(app):
    with app.app_context(), reading():
        return session.scalar(select(func.count()).select_from(AuditEvent))


def test_whoever_created_a_ticket_hears_of_it(ada, cast, created):
    say(cast.smith, created, "Done")
    assert "Smith bot commented" in text_of(ada.get(HERE))
    # No watcher is stored.
    assert ok(cast.ada.get(f"/tickets/{created['id']}/watchers"))["data"] == []
    assert "made" not in text_of(ada.get("/tickets/OPEN-1"))


def test_whoever_commented_on_a_ticket_hears_of_it(ada, cast):
    other = make_ticket(cast.bo, cast.open_project, "Commented on")
    say(cast.bo, other, "Not yet")
    assert "Commented on" not in text_of(ada.get(HERE))
    comment = ok(cast.ada.post(f"/tickets/{other['id']}/comments", {"body": "Mine"}), 201)
    assert "Not yet" in text_of(ada.get(HERE))
    cast.ada.delete(f"/comments/{comment['id']}")
    assert "Commented on" not in text_of(ada.get(HERE))


def test_a_muted_ticket_is_no_news(ada, cast, created, app):
    ok(cast.ada.post(f"/tickets/{created['id']}/watchers", {}), 201)
    say(cast.smith, created, "Done, @ada")
    before = events(app)
    assert ada.post("/tickets/OPEN-1/mute").location == "/tickets/OPEN-1"
    # The second time changes nothing.
    ada.post("/tickets/OPEN-1/mute")
    assert events(app) == before
    assert "You’re all caught up" in ada.get(HERE).text
    assert "inbox-count" not in ada.get("/header-status").text
    # A person who is needed sees it on the home page all the same.
    assert "Smith bot mentioned you" in text_of(ada.get("/"))
    page = ada.get("/tickets/OPEN-1").text
    assert "Updates don’t appear" in page
    assert 'value="no"' in page.split('id="mute"')[1][:60]
    shown = ada.post("/tickets/OPEN-1/mute", mute="no", htmx=True)
    assert "Updates don’t appear" not in shown.text
    assert "Created" in text_of(ada.get(HERE))


def test_a_mute_is_ones_own(ada, cast, created, app):
    ada.post("/tickets/OPEN-1/mute")
    say(cast.bo, created, "One")
    say(cast.smith, created, "Two")
    actor = Actor(ActorKind.HUMAN, user_id=cast.bo.user_id)
    with app.app_context(), reading():
        found = service.news(actor, limit=5, cursor=None).data
    assert [one.ticket.display_id for one in found] == ["OPEN-1"]


def test_watching_ends_a_mute(ada, cast, created):
    ada.post("/tickets/OPEN-1/mute")
    say(cast.smith, created, "Done")
    shown = ada.post("/tickets/OPEN-1/watch", watch="yes", htmx=True)
    assert "Updates don’t appear" not in shown.text
    assert "Created" in text_of(ada.get(HERE))


def test_who_wants_no_news_of_their_own_says_so_once(ada, cast, created):
    held = make_ticket(cast.bo, cast.open_project, "Held", assignee_user_id=cast.ada.user_id)
    say(cast.smith, created, "Done")
    say(cast.smith, held, "Done")
    assert ada.post("/profile/inbox").location == "/profile"
    assert "checked" not in ada.get("/profile").text.split('name="taking_part"')[1][:30]
    text = text_of(ada.get(HERE))
    assert ("Created" in text, "Held" in text) == (False, True)
    # Saving other preferences does not change this.
    ada.post("/profile/preferences", theme="dark", keys="on")
    assert "Created" not in text_of(ada.get(HERE))
    ada.post("/profile/inbox", taking_part="on")
    assert "Created" in text_of(ada.get(HERE))


def test_only_the_newest_of_each_kind_are_looked_at(ada, cast, created, monkeypatch):
    monkeypatch.setattr(service, "MAX_TICKETS_PER_KIND", 1)
    newer = make_ticket(cast.ada, cast.open_project, "Newer")
    for ticket in (created, newer):
        say(cast.smith, ticket, "Done")
    text = text_of(ada.get(HERE))
    assert ("Created" in text, "Newer" in text) == (False, True)


def test_a_deleted_ticket_cannot_be_muted(ada, cast, created):
    ok(cast.ada.delete(f"/tickets/{created['id']}"), 204)
    assert ada.post("/tickets/OPEN-1/mute").status_code == 410
    assert ada.post("/tickets/OPEN-9/mute").status_code == 404
