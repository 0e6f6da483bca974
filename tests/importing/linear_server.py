"""The part of Linear's GraphQL API that imports use."""

from typing import Any

from tests.importing.tracker_server import Asked, Reply, TrackerServer


def listed(rows: list[Any], *, more: bool = False) -> dict[str, Any]:
    return {"nodes": rows, "pageInfo": {"hasNextPage": more, "endCursor": None}}


class LinearServer(TrackerServer):
    """One team, LMP, of a workspace; returns ``page`` rows at a time."""

    def __init__(self) -> None:
        self.page = 40
        self.issues: list[dict[str, Any]] = []
        self.comments: list[dict[str, Any]] = []
        self.history: dict[str, list[dict[str, Any]]] = {}
        super().__init__(_answer)

    def issue(self, number: int, **fields: Any) -> None:
        """Add an issue."""
        entry = {
            "id": f"uuid-{number}",
            "identifier": f"LMP-{number}",
            "title": f"Issue {number}",
            "description": None,
            "url": f"https://linear.app/acme/issue/LMP-{number}",
            "priority": 0,
            "estimate": None,
            "dueDate": None,
            "createdAt": "2024-03-01T10:00:00.000Z",
            "updatedAt": "2024-03-02T10:00:00.000Z",
            "completedAt": None,
            "canceledAt": None,
            "trashed": None,
            "state": {"name": "Todo", "type": "unstarted"},
            "assignee": None,
            "creator": {"name": "Root"},
            "parent": None,
            "project": None,
            "projectMilestone": None,
            "cycle": None,
            "labels": listed([]),
            "relations": listed([]),
            "attachments": listed([]),
            **fields,
        }
        self.issues.append(entry)

    def comment(self, number: int, body: str, name: str | None = "Eve") -> None:
        """Add a comment to an issue."""
        self.comments.append(
            {
                "id": f"comment-{len(self.comments)}",
                "body": body,
                "createdAt": "2024-03-01T12:00:00.000Z",
                "user": name and {"name": name},
                "botActor": None,
                "issue": {"identifier": f"LMP-{number}"},
            }
        )


def _answer(server: Any, asked: Asked) -> Reply:
    if asked.headers.get("authorization") != "lin_api_k3y":
        error = {
            "message": "Authentication required",
            "extensions": {"code": "AUTHENTICATION_ERROR"},
        }
        return Reply({"errors": [error]}, 401)
    query, variables = asked.body["query"], asked.body["variables"]
    if query.count("{") != query.count("}"):
        return Reply({"errors": [{"message": "Syntax Error"}]}, 400)
    after = int(variables.get("after") or 0)
    if query.split()[1].startswith("History"):
        rows = server.history.get(variables["id"], [])
        return Reply({"data": {"issue": {"history": _page(rows, after, 50)}}})
    of_team = variables["filter"]
    name = query.split()[1].partition("(")[0].lower()
    team = (of_team if name == "issues" else of_team["issue"])["team"]["key"]["eq"]
    rows = (server.issues if name == "issues" else server.comments) if team == "LMP" else []
    return Reply({"data": {name: _page(rows, after, server.page)}})


def _page(rows: list[Any], after: int, size: int) -> dict[str, Any]:
    end = after + size
    info = {"hasNextPage": end < len(rows), "endCursor": str(min(end, len(rows)))}
    return {"nodes": rows[after:end], "pageInfo": info}
