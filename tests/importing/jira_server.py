"""The part of Jira's REST API, of Cloud and Data Center, that imports use."""

import base64
import re
from typing import Any

from tests.importing.tracker_server import Asked, Reply, TrackerServer

EPIC_LINK = {
    "id": "customfield_10008",
    "name": "Epic Link",
    "schema": {"type": "any", "custom": "com.pyxis.greenhopper.jira:gh-epic-link"},
}
SPRINT = {
    "id": "customfield_10020",
    "name": "Sprint",
    "schema": {"type": "array", "custom": "com.pyxis.greenhopper.jira:gh-sprint"},
}
_PART = re.compile(r"/rest/api/[23]/issue/(LAMP-\d+)/(comment|changelog)")


def person(name: str) -> dict[str, Any]:
    return {"accountId": f"5b{len(name)}", "displayName": name, "active": True}


def document(*texts: str) -> dict[str, Any]:
    """Return a document of paragraphs in the Atlassian Document Format."""
    return {
        "type": "doc",
        "version": 1,
        "content": [
            {"type": "paragraph", "content": [{"type": "text", "text": text}]} for text in texts
        ],
    }


class JiraServer(TrackerServer):
    """One project, LAMP; ``page`` issues at a time, with ``shown`` comments and changes each."""

    def __init__(self, *, is_cloud: bool) -> None:
        self.is_cloud = is_cloud
        self.page = 100
        self.shown = 2
        self.issues: list[dict[str, Any]] = []
        super().__init__(_answer)

    def issue(self, number: int, **fields: Any) -> None:
        """Add an issue; ``comments`` and ``changes`` are lists."""
        comments, changes = fields.pop("comments", []), fields.pop("changes", [])
        self.issues.append(
            {
                "id": str(10_000 + number),
                "key": f"LAMP-{number}",
                "all_comments": comments,
                "all_changes": changes,
                "fields": {
                    "summary": f"Issue {number}",
                    "description": None,
                    "environment": None,
                    "status": {"name": "To Do", "statusCategory": {"key": "new", "name": "To Do"}},
                    "priority": {"name": "Medium"},
                    "issuetype": {"name": "Task", "hierarchyLevel": 0},
                    "assignee": None,
                    "reporter": person("Root"),
                    "creator": person("Root"),
                    "labels": [],
                    "components": [],
                    "issuelinks": [],
                    "created": "2024-03-01T10:00:00.000+0100",
                    "updated": "2024-03-02T10:00:00.000+0100",
                    "resolutiondate": None,
                    "duedate": None,
                    "resolution": None,
                    "attachment": [],
                    "fixVersions": [],
                    "versions": [],
                    **fields,
                },
            }
        )


def _answer(server: Any, asked: Asked) -> Reply:
    wanted = "Basic " + base64.b64encode(b"me@example.com:t0ken").decode()
    if asked.headers.get("authorization") != (wanted if server.is_cloud else "Bearer t0ken"):
        return Reply({"errorMessages": ["Unauthorized"]}, 401)
    version = 3 if server.is_cloud else 2
    if asked.path == f"/rest/api/{version}/field":
        return Reply([{"id": "summary", "schema": {"type": "string"}}, EPIC_LINK, SPRINT])
    if asked.path == f"/rest/api/{version}/search{'/jql' if server.is_cloud else ''}":
        return _search(server, asked)
    part = _PART.fullmatch(asked.path)
    if part is None or (part[2] == "changelog" and not server.is_cloud):
        return Reply({"errorMessages": ["Not found"]}, 404)
    issue = next(one for one in server.issues if one["key"] == part[1])
    name = "comments" if part[2] == "comment" else "values"
    rows = issue["all_comments" if part[2] == "comment" else "all_changes"]
    start = int(asked.query["startAt"])
    return Reply({"startAt": start, "total": len(rows), name: rows[start : start + 3]})


def _search(server: Any, asked: Asked) -> Reply:
    if 'project = "LAMP"' not in asked.query["jql"]:
        said = "The value 'GONE' does not exist for the field 'project'."
        return Reply({"errorMessages": [said]}, 400)
    start = int(asked.query.get("nextPageToken", asked.query.get("startAt", 0)))
    size = min(server.page, int(asked.query["maxResults"]))
    chosen = [_shown(server, one, asked) for one in server.issues[start : start + size]]
    end = start + len(chosen)
    if not server.is_cloud:
        return Reply({"startAt": start, "total": len(server.issues), "issues": chosen})
    more = {"nextPageToken": str(end)} if end < len(server.issues) else {"isLast": True}
    return Reply({"issues": chosen, **more})


def _shown(server: Any, issue: dict[str, Any], asked: Asked) -> dict[str, Any]:
    fields = {name: issue["fields"].get(name) for name in asked.query["fields"].split(",")}
    rows = issue["all_comments"]
    fields["comment"] = {"comments": rows[: server.shown], "total": len(rows)}
    entry = {"id": issue["id"], "key": issue["key"], "fields": fields}
    if asked.query.get("expand") == "changelog":
        changes = issue["all_changes"]
        shown = changes[: server.shown] if server.is_cloud else changes
        entry["changelog"] = {"total": len(changes), "histories": shown}
    return entry
