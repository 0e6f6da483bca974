"""Linear: issues of a team over the GraphQL API.

Comments are requested as one list of the team, as nested lists use far more of the query complexity
that Linear allows per hour.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from app.core.clock import iso
from app.importing import dates
from app.importing.foreign_markdown import safe_link_text
from app.importing.issues import PARENT_LINK, Issue, IssueComment, IssueFile, IssueLink
from app.importing.messages import NOT_AN_ISSUE
from app.importing.report import ImportReport
from app.importing.trackers import messages
from app.importing.trackers.client import (
    ApiAnswer,
    ApiClient,
    TrackerError,
    limit_wait,
    parsed,
)
from app.importing.trackers.download import MAX_PAGES, DownloadStep, entries, listed, named, of_each
from app.importing.trackers.download_file import DownloadFile, FetchedPage
from app.importing.trackers.history import PastChange
from app.importing.trackers.linear_changes import words
from app.importing.trackers.parts import IssueParts, IssueReferences, completed, once

TITLE = "Linear"
BASE = "https://api.linear.app"
# The most labels, relations and attachments per issue.
MAX_PARTS = 25
NOBODY = messages.FORMER_USER
RATE_LIMITED = "RATELIMITED"

# The host of Linear's files, which accepts the API's token.
FILE_HOST = "uploads.linear.app"
FILES = re.compile(rf"https://{re.escape(FILE_HOST)}/[\w/.-]{{1,300}}(?<![.])")
_TEAM = re.compile(r"[A-Za-z0-9]{1,20}")
# Linear's priorities are 1 (urgent) to 4 (low); 0 is none.
_PRIORITIES = {1: 0, 2: 1, 3: 2, 4: 3}
_MEANINGS = {
    **dict.fromkeys(("triage", "backlog", "unstarted"), "backlog"),
    "started": "in progress",
    **dict.fromkeys(("completed", "canceled", "duplicate"), "done"),
}

_ISSUES = f"""
query Issues($filter: IssueFilter, $after: String) {{
  issues(first: 40, after: $after, filter: $filter, includeArchived: true, orderBy: createdAt) {{
    nodes {{
      id identifier title description url priority estimate dueDate createdAt updatedAt completedAt
      canceledAt trashed
      state {{ name type }}
      assignee {{ name }}
      creator {{ name }}
      parent {{ identifier }}
      project {{ id name description url targetDate }}
      projectMilestone {{ name }}
      cycle {{ number }}
      labels(first: {MAX_PARTS}) {{ nodes {{ name }} pageInfo {{ hasNextPage }} }}
      relations(first: {MAX_PARTS}) {{
        nodes {{ type relatedIssue {{ identifier }} }} pageInfo {{ hasNextPage }}
      }}
      attachments(first: {MAX_PARTS}) {{ nodes {{ title url }} pageInfo {{ hasNextPage }} }}
    }}
    pageInfo {{ hasNextPage endCursor }}
  }}
}}"""
_COMMENTS = """
query Comments($filter: CommentFilter, $after: String) {
  comments(first: 100, after: $after, filter: $filter, includeArchived: true, orderBy: createdAt) {
    nodes { id body createdAt user { name } botActor { name } issue { identifier } }
    pageInfo { hasNextPage endCursor }
  }
}"""
_HISTORY = """
query History($id: String!, $after: String) {
  issue(id: $id) {
    history(first: 50, after: $after) {
      nodes {
        id createdAt actor { name }
        fromState { name } toState { name }
        fromAssignee { name } toAssignee { name }
        addedLabels { name } removedLabels { name }
        fromTitle toTitle fromPriority toPriority
      }
      pageInfo { hasNextPage endCursor }
    }
  }
}"""


def headers(token: str) -> dict[str, str]:
    """The headers; personal keys are sent without a scheme, OAuth tokens with one."""
    return {"Authorization": token if token.startswith("lin_api_") else f"Bearer {token}"}


def limit_rule(status: int, headers: Mapping[str, str], content: bytes) -> float | None:
    """Linear responds with 400 and an error code; headers have the time when the limit resets."""
    is_rate_limited = RATE_LIMITED.encode() in content and RATE_LIMITED in _codes(content)
    if status != HTTPStatus.TOO_MANY_REQUESTS and not is_rate_limited:
        return None
    for kind in ("requests", "complexity", "endpoint-requests"):
        if headers.get(f"x-ratelimit-{kind}-remaining", "").startswith("0"):
            return limit_wait({"x-ratelimit-reset": headers.get(f"x-ratelimit-{kind}-reset", "")})
    return limit_wait(headers)


def _codes(content: bytes) -> set[str]:
    try:
        body = parsed(content)
    except ValueError:
        return set()
    found = entries(body.get("errors")) if isinstance(body, dict) else []
    extensions = [one.get("extensions") for one in found]
    return {str(one.get("code")) for one in extensions if isinstance(one, dict)}


class Linear:
    """One team; ``since`` (ms) skips issues that have not changed after it."""

    title = TITLE

    def __init__(
        self, client: ApiClient, team: str, *, since: int | None, with_history: bool
    ) -> None:
        if not _TEAM.fullmatch(team):
            raise TrackerError(messages.NAME_TEAM)
        self._client = client
        self._team = team.upper()
        self._since = since
        self._with_history = with_history
        self._reference = re.compile(rf"(?<![\w/-])({re.escape(self._team)}-\d{{1,9}})\b")

    def steps(self, file: DownloadFile) -> Sequence[DownloadStep]:
        of_team: dict[str, Any] = {"team": {"key": {"eq": self._team}}}
        if self._since is not None:
            of_team["updatedAt"] = {"gte": iso(self._since)}
        steps = [
            DownloadStep("issues", lambda after: self._page("issues", _ISSUES, of_team, after)),
            DownloadStep(
                "comments",
                lambda after: self._page("comments", _COMMENTS, {"issue": of_team}, after),
            ),
        ]
        if self._with_history:
            issues = of_each(
                lambda: [(one["id"], one["name"]) for one in file.items("issues")], self._changes
            )
            steps.append(DownloadStep("changes", issues))
        return steps

    def _ask(self, query: str, variables: dict[str, Any]) -> ApiAnswer:
        """The answer, which has ``data``; raises TrackerError."""
        answer = self._client.post("/graphql", {"query": query, "variables": variables})
        body = answer.body
        errors = entries(body.get("errors")) if isinstance(body, dict) else []
        if errors:
            said = " ".join(str(errors[0].get("message") or "").split())[:200]
            raise TrackerError(messages.linear_refused(said))
        data = body.get("data") if isinstance(body, dict) else None
        if not isinstance(data, dict):
            raise TrackerError(messages.NO_ANSWER_TO_QUERY)
        return answer

    def _page(
        self, name: str, query: str, wanted: dict[str, Any], after: str | None
    ) -> FetchedPage:
        answer = self._ask(query, {"filter": wanted, "after": after})
        slim = _slim_issue if name == "issues" else _slim_comment
        items = [slim(one) for one in listed(answer, "data", name, "nodes")]
        following = _following(answer.body["data"][name])
        return FetchedPage([one for one in items if one is not None], following)

    def _changes(self, issue: tuple[str, str]) -> list[Any]:
        identifier, name = issue
        found: list[Any] = []
        after: str | None = None
        for _ in range(MAX_PAGES):
            data = self._ask(_HISTORY, {"id": identifier, "after": after}).body["data"]
            history = _within(_within(data, "issue"), "history")
            found += [_slim_change(one, name) for one in entries(history.get("nodes"))]
            after = _following(history)
            if after is None:
                break
        return [one for one in found if one is not None]

    def issues(self, file: DownloadFile, report: ImportReport) -> list[Issue]:
        """All issues; projects become epics."""
        issues = {one["name"]: one for one in file.items("issues")}
        comments: dict[str, list[IssueComment]] = defaultdict(list)
        for one in once(file.items("comments")):
            comments[one["name"]].append(IssueComment(one["author"], one["body"], one["at"]))
        parts: dict[str, IssueParts] = defaultdict(IssueParts)
        for one in once(file.items("changes")):
            parts[one["name"]].changes.append(PastChange(one["at"], one["who"], one["what"]))
        epics: dict[str, Issue] = {}
        found = []

        def reference(match: re.Match[str]) -> tuple[str, str] | None:
            other = issues.get(match[1])
            return (match[1], f"[{match[1]}]({other['url']})") if other else None

        references = IssueReferences(self._reference, reference, FILES)
        for name, one in issues.items():
            if one["is_cut"]:
                report.note(name, messages.too_many_parts(MAX_PARTS))
            try:
                issue = _issue(one, tuple(comments[name]), epics)
            except (ValueError, OverflowError) as error:
                report.refuse(name, NOT_AN_ISSUE, str(error))
                continue
            own = parts[name]
            own.address = one["url"]
            own.pages = [
                (safe_link_text(title) or "Attachment", url) for title, url in one["files"]
            ]
            own.files = [
                IssueFile(url, url, title) for title, url in one["files"] if FILES.fullmatch(url)
            ]
            # The blocked issue holds the link.
            for kind, other in one["relations"]:
                if kind == "blocks":
                    parts[other].links.append(IssueLink("blocks", name))
                else:
                    own.links.append(IssueLink(kind, other))
            found.append(issue)
        return [
            *epics.values(),
            *(completed(issue, parts[issue.id], references, TITLE) for issue in found),
        ]


def _issue(
    one: dict[str, Any], comments: tuple[IssueComment, ...], epics: dict[str, Issue]
) -> Issue:
    links = [IssueLink(PARENT_LINK, one["parent"])] if one["parent"] else []
    origins = list(one["origins"])
    project = one["project"]
    if project is not None:
        epics.setdefault(project["id"], _epic(project))
        if links:
            origins.append(messages.project(project["name"]))
        else:
            links = [IssueLink(PARENT_LINK, project["id"])]
    return Issue(
        id=one["name"],
        title=one["title"].strip() or one["name"],
        sections=(("", one["body"]),) if one["body"].strip() else (),
        status=one["status"].casefold(),
        status_meaning=_MEANINGS.get(one["meaning"], ""),
        priority=_PRIORITIES.get(one["priority"], 2),
        assignee=one["assignee"],
        author=one["author"],
        labels=tuple(one["labels"]),
        links=tuple(links),
        comments=comments,
        due_date=dates.day(one["due"]) if one["due"] else None,
        created_at=dates.moment_or_none(one["created"]),
        updated_at=dates.moment_or_none(one["updated"]),
        closed_at=dates.moment_or_none(one["closed"]),
        closing="canceled" if one["meaning"] == "canceled" else "",
        origins=tuple(origins),
        is_deleted=one["is_trashed"],
        where=one["name"],
    )


def _epic(project: dict[str, Any]) -> Issue:
    text = project["description"]
    return Issue(
        id=project["id"],
        title=project["name"] or project["id"],
        address=project["url"],
        sections=(("", text),) if text.strip() else (),
        kind="epic",
        due_date=dates.day(project["due"]) if project["due"] else None,
        where=project["id"],
    )


def _within(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _following(connection: Mapping[str, Any]) -> str | None:
    info = _within(connection, "pageInfo")
    cursor = info.get("endCursor")
    return cursor if info.get("hasNextPage") and isinstance(cursor, str) else None


def _slim_issue(entry: dict[str, Any]) -> dict[str, Any] | None:
    name = entry.get("identifier")
    if not isinstance(name, str):
        return None
    labels, relations = _within(entry, "labels"), _within(entry, "relations")
    attachments = _within(entry, "attachments")
    project, state = entry.get("project"), entry.get("state")
    cycle = _within(entry, "cycle").get("number")
    estimate, priority = entry.get("estimate"), entry.get("priority")
    origins = [
        messages.estimate(estimate) if estimate is not None else "",
        messages.cycle(cycle) if cycle is not None else "",
        messages.milestone(named(entry.get("projectMilestone")))
        if entry.get("projectMilestone")
        else "",
    ]
    related = [
        (_KINDS.get(str(one.get("type")), "related"), named(one.get("relatedIssue"), "identifier"))
        for one in entries(relations.get("nodes"))
    ]
    files = entries(attachments.get("nodes"))
    return {
        "id": str(entry.get("id")),
        "name": name,
        "title": str(entry.get("title") or ""),
        "body": str(entry.get("description") or ""),
        "url": str(entry.get("url") or ""),
        "status": named(state) or "open",
        "meaning": named(state, "type"),
        "priority": int(priority) if isinstance(priority, int | float) else 0,
        "assignee": named(entry.get("assignee")),
        "author": named(entry.get("creator")),
        "labels": [named(one) for one in entries(labels.get("nodes"))],
        "parent": named(entry.get("parent"), "identifier"),
        "project": _slim_project(project) if isinstance(project, dict) else None,
        "relations": [one for one in related if one[1]],
        "files": [(str(one.get("title") or ""), str(one.get("url") or "")) for one in files],
        "created": str(entry.get("createdAt") or ""),
        "updated": str(entry.get("updatedAt") or ""),
        "closed": str(entry.get("completedAt") or entry.get("canceledAt") or ""),
        "due": str(entry.get("dueDate") or ""),
        "origins": [one for one in origins if one],
        "is_trashed": bool(entry.get("trashed")),
        "is_cut": any(
            _within(part, "pageInfo").get("hasNextPage")
            for part in (labels, relations, attachments)
        ),
    }


_KINDS = {"blocks": "blocks", "duplicate": "duplicates", "related": "related"}


def _slim_project(project: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"Linear project {project.get('id')}",
        "name": str(project.get("name") or ""),
        "description": str(project.get("description") or ""),
        "url": str(project.get("url") or ""),
        "due": str(project.get("targetDate") or ""),
    }


def _slim_comment(entry: dict[str, Any]) -> dict[str, Any] | None:
    name = named(entry.get("issue"), "identifier")
    at = _at(entry)
    if not name or at is None:
        return None
    author = named(entry.get("user")) or named(entry.get("botActor")) or NOBODY
    body = str(entry.get("body") or "")
    return {"id": entry.get("id"), "name": name, "author": author, "body": body, "at": at}


def _slim_change(entry: dict[str, Any], name: str) -> dict[str, Any] | None:
    at = _at(entry)
    what = ", ".join(words(entry))
    if at is None or not what:
        return None
    who = named(entry.get("actor"))
    return {"id": entry.get("id"), "name": name, "at": at, "who": who, "what": what}


def _at(entry: dict[str, Any]) -> int | None:
    try:
        return dates.moment_or_none(entry.get("createdAt"))
    except (ValueError, OverflowError):
        return None
