"""A running server's first human, project and bots, created over HTTP as an owner would."""

from dataclasses import dataclass
from typing import Any

from tests.support.serving import Answer, Served

SETUP = {"username": "ada", "password": "correct horse battery"}


@dataclass(frozen=True)
class Bot:
    """A bot and its token."""

    id: str
    username: str
    token: str


@dataclass(frozen=True)
class Owner:
    """The first human of a running server."""

    served: Served
    cookie: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call REST; return the JSON of a successful response."""
        answer = self.served.request(method, f"/api/v1{path}", body, Cookie=self.cookie)
        assert answer.status < 300, (answer.status, answer.body)
        return answer.json if answer.body else None

    def bot(self, username: str, mode: str = "write", **fields: Any) -> Bot:
        """Create a bot."""
        made = self.call("POST", "/bots", {"username": username, "mode": mode, **fields})
        return Bot(made["bot"]["id"], username, made["plaintext_token"])


def owner_of(served: Served) -> Owner:
    """Set the server up; return its owner."""
    answer: Answer = served.request("POST", "/api/v1/setup/admin", SETUP)
    assert answer.status == 201, answer.body
    return Owner(served, answer.headers["Set-Cookie"].split(";")[0])


def first_bot(served: Served) -> Bot:
    """Set the server up with the project OPS; return its first write bot."""
    owner = owner_of(served)
    owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})
    return owner.bot("bot-1")
