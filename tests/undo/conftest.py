"""A ticket that a bot works on, and a person who undoes changes."""

import pytest

from app.core.actor import Actor, ActorKind
from app.undo.service import undo_event, undo_request
from tests.support.cast import in_app


@pytest.fixture
def ada(cast):
    return Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")


@pytest.fixture
def world(app, cast, ada):
    return World(app, cast, ada)


class World:
    """A ticket that the bot smith works on, and Ada, who undoes changes."""

    def __init__(self, app, cast, ada):
        self.app, self.cast, self.ada = app, cast, ada
        self.project = f"/projects/{cast.open_project}"
        self.ticket = self.make("A ticket")

    def make(self, title, caller=None, **fields):
        made = (caller or self.cast.ada).post(f"{self.project}/tickets", {"title": title, **fields})
        assert made.status_code == 201, made.json
        return made.json["id"]

    def smith(self, method, path, body=None):
        """Send a request as the bot; return the request's id."""
        answer = self.cast.smith.call(method, path.format(t=self.ticket), json=body)
        assert answer.status_code < 300, answer.json
        return answer.headers["X-Request-Id"]

    def states(self):
        found = self.cast.ada.get(f"{self.project}/workflow-states").json["data"]
        return {one["name"]: one["id"] for one in found}

    def now(self, ticket=None):
        return self.cast.ada.get(f"/tickets/{ticket or self.ticket}").json

    def events(self, kind=None):
        found = self.cast.ada.get("/audit?limit=200").json["data"]
        return [one for one in found if kind is None or one["event_type"] == kind]

    def last(self, kind):
        return self.events(kind)[0]

    def undo(self, kind, *, force=False, actor=None):
        """Undo the newest event of a type."""
        event_id = self.last(kind)["id"]
        return in_app(self.app, lambda: undo_event(actor or self.ada, event_id, force=force))

    def undo_request(self, request_id, beyond=None):
        # In another request, so that the undo is not recorded as part of this one.
        self.now()
        return in_app(self.app, lambda: undo_request(self.ada, request_id, beyond=beyond))
