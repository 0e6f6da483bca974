"""The same operations through REST as a human, REST as a bot, and MCP as that bot."""

from dataclasses import dataclass
from typing import Any

from tests.support.agent import Agent
from tests.support.cast import Cast

DOORS = ("ada", "smith", "mcp")


@dataclass(frozen=True)
class Done:
    """The outcome of an operation: the response, or the code and the reason of the refusal."""

    answer: Any = None
    code: str | None = None
    reason: str | None = None

    @property
    def refusal(self) -> tuple[str | None, str | None]:
        """The part that two entry points must agree on."""
        return self.code, self.reason


def _done(error: dict[str, Any] | None, answer: Any) -> Done:
    if error is None:
        return Done(answer)
    return Done(None, error["code"], (error.get("details") or {}).get("reason"))


@dataclass
class Doors:
    """All callers, and how each of them requests an operation."""

    cast: Cast
    project: str

    def user(self, door: str) -> str:
        """Return the id of the user who calls through an entry point."""
        caller = self.cast.ada if door == "ada" else self.cast.smith
        return caller.user_id or ""

    def rest(self, door: str, method: str, path: str, body: Any = None) -> Done:
        """Call REST; fails on any 5xx."""
        caller = self.cast.ada if door == "ada" else self.cast.smith
        options = {} if body is None else {"json": body}
        response = caller.call(method, path, **options)
        assert response.status_code < 500, response.text
        content = response.get_json() if response.data else None
        return _done(content["error"] if response.status_code >= 400 else None, content)

    def tool(self, name: str, **arguments: Any) -> Done:
        sent = {"name": name, "arguments": {**arguments, "detail": "full"}}
        result = Agent(self.cast.smith).result("tools/call", sent)
        content = result["structuredContent"]
        error = content["error"] if result["isError"] else None
        assert error is None or error["code"] != "server.internal", content
        return _done(error, content)

    def create(self, door: str, title: str) -> Done:
        if door == "mcp":
            return self.tool("create_ticket", project=self.project, title=title)
        return self.rest(door, "POST", f"/projects/{self.project}/tickets", {"title": title})

    def patch(self, door: str, ticket: str, **fields: Any) -> Done:
        if door == "mcp":
            return self.tool("update_ticket", ticket=ticket, **fields)
        return self.rest(door, "PATCH", f"/tickets/{ticket}", fields)

    def claim(self, door: str, ticket: str) -> Done:
        if door == "mcp":
            return self.tool(
                "update_ticket", ticket=ticket, assignee="me", expected_assignee="none"
            )
        body = {"assignee_user_id": self.user(door), "expected_assignee_user_id": None}
        return self.rest(door, "PATCH", f"/tickets/{ticket}", body)

    def transition(self, door: str, ticket: str, state: str) -> Done:
        if door == "mcp":
            return self.tool("transition_ticket", ticket=ticket, state=state)
        return self.rest(door, "POST", f"/tickets/{ticket}/transition", {"state_id": state})

    def delete(self, door: str, ticket: str) -> Done:
        if door == "mcp":
            return self.tool("delete_ticket", ticket=ticket)
        return self.rest(door, "DELETE", f"/tickets/{ticket}")

    def comment(self, door: str, ticket: str, body: str) -> Done:
        if door == "mcp":
            return self.tool("add_comment", ticket=ticket, body=body)
        return self.rest(door, "POST", f"/tickets/{ticket}/comments", {"body": body})

    def relate(self, door: str, ticket: str, kind: str, target: str) -> Done:
        if door == "mcp":
            return self.tool("add_ticket_relation", ticket=ticket, type=kind, target=target)
        body = {"type": kind, "target_ticket_id": target}
        return self.rest(door, "POST", f"/tickets/{ticket}/relations", body)

    def unrelate(self, door: str, ticket: str, relation: str) -> Done:
        if door == "mcp":
            return self.tool("remove_ticket_relation", ticket=ticket, relation=relation)
        return self.rest(door, "DELETE", f"/tickets/{ticket}/relations/{relation}")

    def make_page(self, door: str, slug: str, body: str) -> Done:
        fields = {"title": slug, "slug": slug, "body": body}
        if door == "mcp":
            return self.tool("create_wiki_page", project=self.project, **fields)
        return self.rest(door, "POST", "/wiki/pages", fields | {"project_id": self.project})

    def put_page(self, door: str, page: str, body: str) -> Done:
        if door == "mcp":
            return self.tool("update_wiki_page", page=page, body=body)
        return self.rest(door, "PATCH", f"/wiki/pages/{page}", {"body": body})

    def drop_page(self, door: str, page: str) -> Done:
        if door == "mcp":
            return self.tool("delete_wiki_page", page=page)
        return self.rest(door, "DELETE", f"/wiki/pages/{page}")

    def make_note(self, door: str, body: str) -> Done:
        if door == "mcp":
            return self.tool("create_sticky_note", project=self.project, body=body)
        return self.rest(door, "POST", f"/projects/{self.project}/sticky-notes", {"body": body})

    def drop_note(self, door: str, note: str) -> Done:
        if door == "mcp":
            return self.tool("delete_sticky_note", sticky_note=note)
        return self.rest(door, "DELETE", f"/sticky-notes/{note}")

    def convert(self, door: str, note: str) -> Done:
        if door == "mcp":
            return self.tool("convert_sticky_note", sticky_note=note)
        return self.rest(door, "POST", f"/sticky-notes/{note}/convert-to-ticket", {})
