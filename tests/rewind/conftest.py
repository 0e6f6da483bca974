"""Small workspaces in which a bot made changes, and helpers to rewind them."""

import pytest

from app.core.actor import Actor, ActorKind
from app.core.clock import now_ms
from app.database.session import reading
from app.rewind.others import LogReading
from app.rewind.scope import RewindScope
from app.rewind.service import Fate, preview_step, put_back_anyway, rewind_step
from tests.support.cast import in_app


class World:
    """A ticket of Ada's, and later changes by the bot smith."""

    def __init__(self, app, cast):
        self.app, self.cast = app, cast
        self.ada = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
        self.project = f"/projects/{cast.open_project}"
        self.ticket = self.make(cast.ada, "A ticket")
        self.since = now_ms()

    def make(self, caller, title, **fields):
        return self.call(caller, "POST", f"{self.project}/tickets", title=title, **fields)["id"]

    def call(self, caller, method, path, **body):
        answer = caller.call(method, path, json=body)
        assert answer.status_code < 300, answer.json
        return answer.json

    def smith(self, method, path, **body):
        return self.call(self.cast.smith, method, path, **body)

    def bo(self, method, path, **body):
        return self.call(self.cast.bo, method, path, **body)

    def now(self, path=None):
        return self.cast.ada.get(path or f"/tickets/{self.ticket}").json

    def scope(self, **changes):
        given = {"user_id": self.cast.smith.user_id, "since": self.since, "until": now_ms() + 1}
        return RewindScope(**(given | changes))

    def rewind(self, scope=None, actor=None):
        """Do one step, which is enough for these tests; return its values."""
        scope = scope or self.scope()
        step = in_app(self.app, lambda: rewind_step(actor or self.ada, scope))
        assert step.beyond is None
        return step.values

    def previewed(self):
        """The values of a preview."""
        with self.app.app_context(), reading():
            return preview_step(self.ada, self.scope(), {}, LogReading()).values

    def kept(self):
        return [value for value in self.rewind() if value.fate is Fate.KEPT]

    def put_back(self, value):
        scope = self.scope()
        in_app(self.app, lambda: put_back_anyway(self.ada, scope, value.event_id, value.name))


@pytest.fixture
def world(app, cast):
    return World(app, cast)
