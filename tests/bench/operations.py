"""The measured operations: the requests of each, and its required share of the yardstick.

The share is relative to the requests a second of a bare Flask route under the same server.
"""

import json
import random
from dataclasses import dataclass

from tests.bench.filling import KEY, World
from tests.bench.texts import Writer
from tests.bench.wrk import Request

API = "/api/v1"
DIFFERENT = 500
MCP = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


@dataclass(frozen=True)
class Operation:
    """A kind of request, and its minimum shares at 8 connections: on SQLite, on PostgreSQL."""

    name: str
    floors: tuple[float, float]
    requests: list[Request]
    writes: bool = False


def call(path: str, tool: str, arguments: dict[str, object]) -> Request:
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Request(path, "POST", MCP, json.dumps(body))


# The no-op tool of ``tests.bench.echo``.
SDK_ECHO = call("/mcp", "echo", {})


def operations(world: World, cookie: str) -> list[Operation]:
    """Return all operations on this data set: as a bot; for pages, as the person of the cookie."""
    chance = random.Random(5)
    writer = Writer(seed=7)
    bot = {"X-API-Key": world.token}
    sent = bot | {"Content-Type": "application/json"}
    person = {"Cookie": cookie, "Accept-Encoding": "gzip"}
    endpoint = f"/mcp/bot/{world.token}/mcp"
    tickets = f"{API}/projects/{world.project_id}/tickets"

    def some(path: str, headers: dict[str, str]) -> list[Request]:
        numbers = [chance.randint(1, world.tickets) for _ in range(DIFFERENT)]
        return [Request(path.format(f"{KEY}-{number}"), headers=headers) for number in numbers]

    def tool(name: str, **arguments: object) -> list[Request]:
        return [call(endpoint, name, arguments)]

    def new() -> Request:
        ticket = {"type": "story", "title": writer.title(), "body": writer.body()}
        return Request(tickets, "POST", sent, json.dumps(ticket))

    filtered = f"?limit=50&state_id={world.states[-1]}&priority=high"
    return [
        Operation("get ticket", (0.28, 0.15), some(f"{API}/tickets/{{}}", bot)),
        Operation("list of 50", (0.11, 0.05), [Request(f"{tickets}?limit=50", headers=bot)]),
        Operation("list of 50, two filters", (0, 0), [Request(tickets + filtered, headers=bot)]),
        Operation(
            "search",
            (0.035, 0.02),
            [
                Request(f"{API}/search?q={'+'.join(writer.some(2))}", headers=bot)
                for _ in range(DIFFERENT)
            ],
        ),
        Operation("create ticket", (0.034, 0.02), [new() for _ in range(DIFFERENT)], writes=True),
        Operation("board page", (0.11, 0.05), [Request(f"/projects/{KEY}/board", headers=person)]),
        Operation("ticket page", (0.13, 0.05), some("/tickets/{}", person)),
        Operation(
            "wiki page",
            (0.19, 0.09),
            [
                Request(f"/projects/{KEY}/wiki/{slug}", headers=person)
                for slug in world.slugs[1:DIFFERENT:2]
            ],
        ),
        Operation("MCP get_self", (0.12, 0.07), tool("get_self"), writes=True),
        Operation("MCP list_tickets", (0, 0), tool("list_tickets", project=KEY), writes=True),
    ]
