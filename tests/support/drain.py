"""Bots that share a queue: each claims the next ticket, finishes it, and repeats."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.support.serving import Served
from tests.support.workspace import Bot, Owner

# The maximum that one call creates below an epic.
CHILDREN = 20


@dataclass
class Worker:
    """A bot that makes each call on its own connection."""

    served: Served
    bot: Bot
    calls: int = 0
    # The tickets that it claimed, and the refusals.
    claimed: list[str] = field(default_factory=list)
    refused: list[Any] = field(default_factory=list)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result, empty if it was refused."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self.served.request("POST", f"/mcp/bot/{self.bot.token}/mcp", message, timeout=60)
        assert answer.status == 200, answer.body
        self.calls += 1
        result = answer.json["result"]
        content: dict[str, Any] = result["structuredContent"]
        if result["isError"]:
            self.refused.append(content)
            return {}
        return content

    def work(self) -> None:
        """Finish tickets until nothing is ready."""
        while True:
            got = self.call("update_ticket", ticket="next", assignee="me", state="In progress")
            if "retry_after_seconds" in got:
                return
            if name := got.get("display_id"):
                self.claimed.append(name)
                self.call("transition_ticket", ticket=name, state="Done", comment="Done.")


@dataclass(frozen=True)
class Drained:
    """The cost of draining a queue."""

    seconds: float
    calls: int
    refused: list[Any]
    # How often each ticket was claimed.
    claims: Counter[str]


def filled(owner: Owner, tickets: int) -> None:
    """Create a project with this many ready tickets, a multiple of CHILDREN, as a bot."""
    project = owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})
    owner.call("PATCH", f"/projects/{project['id']}", {"bot_creation_limit": 0})
    maker = Worker(owner.served, owner.bot("bot-maker"))
    for number in range(tickets // CHILDREN):
        children = [{"title": f"Part {part} of {number}"} for part in range(CHILDREN)]
        epic = {"project": "OPS", "type": "epic", "title": f"Epic {number}", "children": children}
        assert maker.call("create_ticket", **epic)


def drain(owner: Owner, bots: int) -> Drained:
    """Let ``bots`` bots work at once until no ticket is ready."""
    workers = [Worker(owner.served, owner.bot(f"bot-{number}")) for number in range(bots)]
    began = time.monotonic()
    with ThreadPoolExecutor(bots) as desks:
        for done in [desks.submit(worker.work) for worker in workers]:
            done.result()
    return Drained(
        time.monotonic() - began,
        sum(worker.calls for worker in workers),
        [one for worker in workers for one in worker.refused],
        Counter(name for worker in workers for name in worker.claimed),
    )
