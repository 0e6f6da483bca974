"""The workplace of an agent: a server with people and bots, and a client that counts the cost."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import Client
from sqlalchemy import Connection, create_engine, insert, select

from app.tickets.models import Ticket
from tests.support.serving import Served
from tests.support.workspace import Bot, Owner, owner_of

# Bytes per token of o200k, measured once on all these calls and rounded down.
BYTES_PER_TOKEN = 3.3


@dataclass
class Cost:
    """What a model writes and reads: calls with their arguments, and the texts of results."""

    calls: int = 0
    bytes: int = 0

    @property
    def tokens(self) -> int:
        return round(self.bytes / BYTES_PER_TOKEN)


@dataclass
class Hand:
    """A bot that uses the official client."""

    client: Client
    cost: Cost

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result, as the text that a model reads."""
        result = await self.client.call_tool(tool, arguments)
        (block,) = result.content
        text = block.text
        self.cost.calls += 1
        self.cost.bytes += len(json.dumps([tool, arguments]).encode()) + len(text.encode())
        found: dict[str, Any] = json.loads(text)
        assert not result.is_error, found
        return found


@dataclass
class Desk:
    """A workspace with the project OPS; people use REST, which costs an agent nothing."""

    served: Served
    database_url: str
    owner: Owner
    ops: str
    bots: dict[str, Bot]

    @asynccontextmanager
    async def hand(self, bot: str, cost: Cost) -> AsyncIterator[Hand]:
        address = f"{self.served.url}/mcp/bot/{self.bots[bot].token}/mcp"
        async with Client(address, cache=None) as client:
            yield Hand(client, cost)

    def ticket(self, title: str, **fields: Any) -> dict[str, Any]:
        made: dict[str, Any] = self.owner.call(
            "POST", f"/projects/{self.ops}/tickets", {"title": title, **fields}
        )
        return made

    def page(self, title: str, body: str) -> dict[str, Any]:
        fields = {"title": title, "body": body, "project_id": self.ops}
        made: dict[str, Any] = self.owner.call("POST", "/wiki/pages", fields)
        return made

    def look(self, path: str) -> Any:
        return self.owner.call("GET", path)

    def comment(self, ticket: str, body: str) -> None:
        self.owner.call("POST", f"/tickets/{ticket}/comments", {"body": body})

    def imported(self, like: dict[str, Any], assignee: str) -> str:
        """A copy of a ticket as an import leaves it: without events, changed two hours ago."""
        before = round(time.time() * 1000) - 2 * 3_600_000
        number = like["ticket_number"] + 5_000
        changed = {
            "id": f"{like['id'][:-4]}ffff",
            "ticket_number": number,
            "display_id": f"OPS-{number}",
            "assignee_user_id": self.bots[assignee].id,
            "created_at": before,
            "updated_at": before,
        }
        engine = create_engine(self.database_url)
        with engine.begin() as connection:
            _copy_ticket(connection, like["id"], changed)
        engine.dispose()
        return f"OPS-{number}"


def _copy_ticket(connection: Connection, ticket_id: str, changed: dict[str, Any]) -> None:
    tickets = Ticket.__table__
    row = connection.execute(select(tickets).where(tickets.c.id == ticket_id)).one()
    connection.execute(insert(Ticket).values(**{**row._asdict(), **changed}))


def opened(served: Served, database_url: str) -> Desk:
    """Set the server up: ada, the bots ``smith`` and ``wright``, labels and house rules."""
    owner = owner_of(served)
    project = owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})
    for name in ("bug", "mail", "printer"):
        owner.call("POST", f"/projects/{project['id']}/labels", {"name": name})
    bots = {name: owner.bot(name) for name in ("smith", "wright")}
    return Desk(served, database_url, owner, project["id"], bots)
