"""The part of GitHub's REST API that imports use."""

import re
from typing import Any

from tests.importing.tracker_server import Asked, Reply, TrackerServer, linked_page

WEB = "https://github.com/octo/lamp"
_ISSUE_PART = re.compile(r"/repos/octo/lamp/issues/(\d+)/(comments|events|dependencies/blocked_by)")


def person(login: str | None) -> dict[str, Any] | None:
    return None if login is None else {"login": login, "id": 1, "type": "User"}


class GitHubServer(TrackerServer):
    """One repository, octo/lamp, with the given issues, comments and events."""

    def __init__(self, token: str = "") -> None:
        self.token = token
        self.issues: list[dict[str, Any]] = []
        self.comments: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.blocked: dict[int, list[int]] = {}
        super().__init__(_answer)

    def issue(self, number: int, **fields: Any) -> dict[str, Any]:
        """Add an issue."""
        is_pull = "pull_request" in fields
        entry = {
            "url": f"{self.url}/repos/octo/lamp/issues/{number}",
            "html_url": f"{WEB}/{'pull' if is_pull else 'issues'}/{number}",
            "id": 2_000_000_000 + number,
            "number": number,
            "title": f"Issue {number}",
            "user": person("octocat"),
            "labels": [],
            "state": "open",
            "state_reason": None,
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "comments": 0,
            "created_at": "2024-03-01T10:00:00Z",
            "updated_at": "2024-03-02T10:00:00Z",
            "closed_at": None,
            "body": None,
            "issue_dependencies_summary": {
                "blocked_by": 0,
                "total_blocked_by": len(self.blocked.get(number, ())),
                "blocking": 0,
                "total_blocking": 0,
            },
            **fields,
        }
        self.issues.append(entry)
        return entry

    def comment(self, number: int, body: str, login: str | None = "hubot", **fields: Any) -> None:
        """Add a comment to an issue."""
        for issue in self.issues:
            if issue["number"] == number:
                issue["comments"] += 1
        self.comments.append(
            {
                "id": 9_000 + len(self.comments),
                "issue_url": f"{self.url}/repos/octo/lamp/issues/{number}",
                "user": person(login),
                "created_at": "2024-03-01T12:00:00Z",
                "body": body,
                **fields,
            }
        )

    def event(self, number: int, kind: str, at: str, **fields: Any) -> None:
        """Add an event to an issue."""
        issue = next(one for one in self.issues if one["number"] == number)
        self.events.append(
            {
                "id": 7_000 + len(self.events),
                "event": kind,
                "actor": person("octocat"),
                "created_at": at,
                "commit_id": None,
                "issue": issue,
                **fields,
            }
        )


def _answer(server: Any, asked: Asked) -> Reply:
    if server.token and asked.headers.get("authorization") != f"Bearer {server.token}":
        return Reply({"message": "Bad credentials"}, 401)
    rows = _rows(server, asked)
    if rows is None:
        return Reply({"message": "Not Found"}, 404)
    return linked_page(server, asked, rows)


def _rows(server: Any, asked: Asked) -> list[Any] | None:
    since = asked.query.get("since", "")
    lists = {"issues": server.issues, "issues/comments": server.comments}
    part = _ISSUE_PART.fullmatch(asked.path)
    if part is not None:
        number, kind = int(part[1]), part[2]
        if kind == "comments":
            return [one for one in server.comments if one["issue_url"].endswith(f"/{number}")]
        if kind == "events":
            found = [one for one in server.events if one["issue"]["number"] == number]
            return [{name: one[name] for name in one if name != "issue"} for one in found]
        blockers = server.blocked.get(number, ())
        return [one for one in server.issues if one["number"] in blockers]
    name = asked.path.removeprefix("/repos/octo/lamp/")
    if name == "issues/events":
        return server.events[::-1]
    rows = lists.get(name)
    return None if rows is None else [one for one in rows if since <= one.get("updated_at", "9")]
