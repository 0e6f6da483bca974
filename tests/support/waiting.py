"""Bots that wait for news, each on its own connection."""

import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import orjson

from tests.support.serving import Served
from tests.support.workspace import Bot, owner_of


def asked(served: Served, bot: Bot, **arguments: Any) -> socket.socket:
    """Call get_self as the bot; return the connection."""
    call = {"name": "get_self", "arguments": arguments}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    head = (
        f"POST /mcp/bot/{bot.token}/mcp HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return served.connect(head.encode() + body)


def answered(connections: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
    """Return the connections on which a response arrives within this time."""
    poll = select.poll()
    by_number = {one.fileno(): one for one in connections}
    for number in by_number:
        poll.register(number, select.POLLIN)
    found, ends_at = [], time.monotonic() + seconds
    while by_number and (left := ends_at - time.monotonic()) > 0:
        for number, _ in poll.poll(left * 1000):
            poll.unregister(number)
            found.append(by_number.pop(number))
    return found


def result(connection: socket.socket) -> dict[str, Any]:
    """Return the result in a response."""
    received = b""
    while not received.partition(b"\r\n\r\n")[2].endswith(b"\n"):
        piece = connection.recv(65_536)
        assert piece, received
        received += piece
    said = orjson.loads(received.partition(b"\r\n\r\n")[2])["result"]
    assert not said["isError"], said
    content: dict[str, Any] = said["structuredContent"]
    return content


def news(connection: socket.socket) -> list[str | None]:
    """Return the comments in the response to a waiting call."""
    answer = result(connection)
    assert "waited" not in answer
    return [row.get("comment") for row in answer.get("news", ())]


class Office:
    """A server with tickets, each assigned to a bot that has been told about it."""

    def __init__(self, served: Served) -> None:
        self.served, self.owner = served, owner_of(served)
        self.project = self.owner.call("POST", "/projects", {"key": "OPS", "name": "O"})["id"]
        self.bots: list[Bot] = []
        self.tickets: list[str] = []

    def bot(self) -> tuple[Bot, str]:
        """Add a bot and its ticket."""
        bot = self.owner.bot(f"bot-{len(self.bots)}")
        body = {"title": "Wait", "assignee_user_id": bot.id}
        ticket = self.owner.call("POST", f"/projects/{self.project}/tickets", body)["id"]
        with closing(asked(self.served, bot)) as connection:
            news(connection)
        self.bots.append(bot)
        self.tickets.append(ticket)
        return bot, ticket

    def comment(self, ticket: str, text: str = "Now") -> None:
        self.owner.call("POST", f"/tickets/{ticket}/comments", {"body": text})

    @contextmanager
    def waits(self) -> Iterator[list[socket.socket]]:
        """Start a waiting call for each bot."""
        with ExitStack() as held:
            yield [
                held.enter_context(closing(asked(self.served, bot, wait=25))) for bot in self.bots
            ]

    def times(self, many: int) -> list[float]:
        """Return the times in seconds, sorted, of an unrelated read and write."""
        ticket = self.owner.call("POST", f"/projects/{self.project}/tickets", {"title": "x"})
        times = []
        for _ in range(many):
            began = time.monotonic()
            self.owner.call("GET", "/auth/me")
            self.comment(ticket["id"])
            times.append(time.monotonic() - began)
        return sorted(times)
