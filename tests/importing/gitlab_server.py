"""The part of GitLab's REST API that imports use."""

import re
from collections import defaultdict
from typing import Any

from tests.importing.tracker_server import Asked, Reply, TrackerServer, linked_page

PATH = "/api/v4/projects/group%2Fteam%2Flamp/issues"
NAME = "group/team/lamp"


def person(name: str) -> dict[str, Any]:
    return {"id": 1, "username": name, "name": name.title(), "state": "active"}


class GitLabServer(TrackerServer):
    """One project, group/team/lamp; ``has_keyset`` is False before GitLab 18.3."""

    def __init__(self) -> None:
        self.has_keyset = True
        self.issues: list[dict[str, Any]] = []
        self.parts: dict[tuple[int, str], list[Any]] = defaultdict(list)
        super().__init__(_answer)

    def issue(self, iid: int, **fields: Any) -> dict[str, Any]:
        """Add an issue."""
        entry = {
            "id": 4_000 + iid,
            "iid": iid,
            "title": f"Issue {iid}",
            "description": None,
            "state": "opened",
            "created_at": "2024-03-01T10:00:00.000Z",
            "updated_at": "2024-03-02T10:00:00.000Z",
            "closed_at": None,
            "labels": [],
            "milestone": None,
            "assignees": [],
            "author": person("root"),
            "due_date": None,
            "confidential": False,
            "issue_type": "issue",
            "weight": None,
            "web_url": f"{self.url}/{NAME}/-/issues/{iid}",
            "references": {"short": f"#{iid}", "full": f"{NAME}#{iid}"},
            "user_notes_count": 0,
            "merge_requests_count": 0,
            **fields,
        }
        self.issues.append(entry)
        return entry

    def part(self, iid: int, kind: str, **fields: Any) -> None:
        """Add a note, a link or an event to an issue."""
        found = self.parts[iid, kind]
        base = {"id": 100 * iid + len(found), "created_at": "2024-03-01T12:00:00.000Z"}
        found.append(base | fields)


def _answer(server: Any, asked: Asked) -> Reply:
    if asked.path == PATH:
        if asked.query.get("pagination") == "keyset" and not server.has_keyset:
            return Reply({"error": "Keyset pagination is not yet available"}, 405)
        since = asked.query.get("updated_after", "")
        rows = [one for one in server.issues if since <= one["updated_at"]]
        return linked_page(server, asked, rows, default_size=20)
    part = re.fullmatch(rf"{PATH}/(\d+)/(\w+)", asked.path)
    if part is None:
        return Reply({"message": "404 Project Not Found"}, 404)
    return linked_page(server, asked, server.parts[int(part[1]), part[2]], default_size=20)
