"""Measure what an agent's model reads and writes in a typical session.

    python -m tests.bench.session

Find work, claim it, read it, comment, move it: the bytes sent and received, with a token for every
four bytes, the usual ratio of tokenizers for English JSON.
"""

import tempfile
from pathlib import Path
from typing import Any

import orjson

from tests.support.serving import Served, serving
from tests.support.workspace import Bot, owner_of

BODY = "The gate hangs in the wind. Its upper hinge is loose, so it scrapes over the stones. " * 14


class Session:
    """One agent's calls and their sizes in bytes."""

    def __init__(self, served: Served, bot: Bot) -> None:
        self.served, self.bot = served, bot
        self.rows: list[tuple[str, int, int]] = []

    def send(self, what: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and record its sizes; count a result in one form, as models see one."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.served.request("POST", f"/mcp/bot/{self.bot.token}/mcp", message)
        result: dict[str, Any] = answer.json["result"]
        read = result.get("structuredContent", result)
        self.rows.append((what, len(orjson.dumps(params)), len(orjson.dumps(read))))
        return read

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.send(tool, "tools/call", {"name": tool, "arguments": arguments})


def main() -> None:
    """Run the session and print the table."""
    with tempfile.TemporaryDirectory() as made, serving(Path(made) / "instance") as served:
        owner = owner_of(served)
        project = owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})["id"]
        owner.call("PATCH", f"/projects/{project}", {"bot_creation_limit": 0})
        for number in range(20):
            ticket = {"title": f"Mend gate {number} of the north field", "body": BODY}
            owner.call("POST", f"/projects/{project}/tickets", ticket)
        session = Session(served, owner.bot("bot-1"))
        session.send("tools/list, once", "tools/list", {})
        session.call("get_self")
        session.call("get_project", project="OPS")
        ready = session.call("list_tickets", ready=True, limit=10)["data"]
        name = ready[0]["display_id"]
        session.call("update_ticket", ticket=name, assignee="me", expected_assignee="none")
        session.call("get_ticket", ticket=name)
        session.call("list_comments", ticket=name, include_body=True)
        session.call("add_comment", ticket=name, body="The hinge is tight again. " * 10)
        session.call("transition_ticket", ticket=name, state="Done", comment="Mended.")
        print("| call | sent | read | tokens |\n|---|---|---|---|")
        for what, sent, read in session.rows:
            print(f"| {what} | {sent} | {read} | {(sent + read) // 4} |")
        total = sum(sent + read for _, sent, read in session.rows[1:])
        print(f"| **without tools/list** | | | **{total // 4}** |")


if __name__ == "__main__":
    main()
