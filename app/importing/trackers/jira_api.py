"""Jira: Cloud over the REST API, version 3, and Data Center over version 2."""

import base64
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from app.core.clock import MINUTE_MS, now_ms
from app.importing import dates, jira
from app.importing.file_links import ATTACHMENTS
from app.importing.foreign_markdown import safe_link_text
from app.importing.issues import MEDIUM, PARENT_LINK, Issue, IssueComment, IssueFile, IssueLink
from app.importing.messages import ENVIRONMENT, NO_TITLE_GIVEN, NOT_AN_ISSUE
from app.importing.report import ImportReport
from app.importing.table import priority
from app.importing.trackers import adf, messages
from app.importing.trackers.client import ApiClient, TrackerError
from app.importing.trackers.download import (
    MAX_PAGES,
    DownloadStep,
    entries,
    listed,
    named,
    of_each,
    or_nothing,
    values,
)
from app.importing.trackers.download_file import DownloadFile, FetchedPage
from app.importing.trackers.history import PastChange
from app.importing.trackers.parts import IssueParts, IssueReferences, completed

TITLE = "Jira"
PER_PAGE = 100
MAX_CHANGES = 1_000

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,63}")
_EPIC_LINK = "com.pyxis.greenhopper.jira:gh-epic-link"
_SPRINT = "com.pyxis.greenhopper.jira:gh-sprint"
_SPRINT_NAME = re.compile(r"[\[,]name=([^,\]]{1,200})")
_FIELDS = (
    *("summary", "description", "environment", "status", "priority", "issuetype", "assignee"),
    *("reporter", "creator", "labels", "components", "parent", "issuelinks", "comment", "created"),
    *("updated", "resolutiondate", "duedate", "resolution", "attachment", "fixVersions"),
    "versions",
)
_FIELDS_WITHOUT_HISTORY = frozenset({"rank", "description", "comment", "attachment"})


def headers(account: str, token: str) -> dict[str, str]:
    """Cloud takes the account's email address and an API token, Data Center a personal token."""
    if not account:
        return {"Authorization": f"Bearer {token}"}
    pair = base64.b64encode(f"{account}:{token}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


class Jira:
    """One project; ``since`` (ms) skips issues that have not changed after it."""

    title = TITLE

    def __init__(
        self, client: ApiClient, key: str, *, is_cloud: bool, since: int | None, with_history: bool
    ) -> None:
        if not _KEY.fullmatch(key):
            raise TrackerError(messages.NAME_JIRA_PROJECT)
        self._client = client
        self._key = key.upper()
        self._is_cloud = is_cloud
        self._path = f"/rest/api/{3 if is_cloud else 2}"
        self._since = since
        self._with_history = with_history
        self._reference = re.compile(rf"(?<![\w/-]){self._key}-(\d{{1,9}})\b")

    def steps(self, file: DownloadFile) -> Sequence[DownloadStep]:
        def cut(part: str) -> list[Any]:
            return [one for one in file.items("issues") if one[part]]

        steps = [
            DownloadStep("fields", self._fields_page),
            DownloadStep("issues", lambda position: self._issues_page(file, position)),
            DownloadStep("comments", of_each(lambda: cut("more_comments"), self._comments)),
        ]
        if self._with_history:
            steps.append(
                DownloadStep("changes", of_each(lambda: cut("more_changes"), self._changes))
            )
        return steps

    def _fields_page(self, _position: str | None) -> FetchedPage:
        """The custom fields that are needed, which plugins define."""
        found = []
        for one in listed(self._client.get(f"{self._path}/field")):
            schema = one.get("schema")
            kind = schema.get("custom") if isinstance(schema, dict) else None
            if kind in (_EPIC_LINK, _SPRINT):
                found.append({"id": str(one.get("id")), "kind": kind})
        return FetchedPage(found, None)

    def _issues_page(self, file: DownloadFile, position: str | None) -> FetchedPage:
        custom = {one["id"]: one["kind"] for one in file.items("fields")}
        jql = f'project = "{self._key}"'
        if self._since is not None:
            # A relative time, as absolute times are in the account's time zone.
            minutes = (now_ms() - self._since) // MINUTE_MS + 1
            jql += f" AND updated >= -{max(minutes, 1)}m"
        query: dict[str, Any] = {
            "jql": f"{jql} ORDER BY key ASC",
            "maxResults": PER_PAGE,
            "fields": ",".join((*_FIELDS, *custom)),
        }
        if self._with_history:
            query["expand"] = "changelog"
        if self._is_cloud:
            query |= {"nextPageToken": position} if position else {}
            answer = self._client.get(f"{self._path}/search/jql?{urlencode(query)}")
        else:
            query["startAt"] = position or 0
            answer = self._client.get(f"{self._path}/search?{urlencode(query)}")
        issues = listed(answer, "issues")
        slim = [self._slim(one, custom) for one in issues if isinstance(one.get("key"), str)]
        return FetchedPage(slim, self._next(answer.body, len(issues), position))

    def _next(self, body: dict[str, Any], count: int, position: str | None) -> str | None:
        if self._is_cloud:
            following = body.get("nextPageToken")
            return following if isinstance(following, str) and not body.get("isLast") else None
        end = int(position or 0) + count
        total = body.get("total")
        return str(end) if count and isinstance(total, int) and end < total else None

    def _all(self, path: str, name: str) -> list[dict[str, Any]]:
        """All entries of a list of one issue."""
        found: list[dict[str, Any]] = []
        for _ in range(MAX_PAGES):
            query = urlencode({"startAt": len(found), "maxResults": PER_PAGE})
            answer = self._client.get(f"{self._path}{path}?{query}")
            rows = listed(answer, name)
            found += rows
            if not rows or len(found) >= _total(answer.body):
                break
        return found

    def _comments(self, issue: dict[str, Any]) -> list[Any]:
        path = f"/issue/{quote(issue['key'], safe='')}/comment"
        files = issue["files"]
        return [
            self._slim_comment(one, files) | {"key": issue["key"]}
            for one in self._all(path, "comments")
        ]

    def _changes(self, issue: dict[str, Any]) -> list[Any]:
        path = f"/issue/{quote(issue['key'], safe='')}/changelog"
        found = or_nothing(lambda: self._all(path, "values"))
        return [one | {"key": issue["key"]} for one in _slim_changes(found)]

    def _markdown(self, text: Any, files: dict[str, str]) -> str:
        if isinstance(text, dict):
            return adf.as_markdown(text, lambda name: files.get(name, ""))
        return jira.as_markdown(text, files) if isinstance(text, str) else ""

    def _slim_comment(self, entry: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
        return {
            "author": _person(entry.get("author")) or messages.FORMER_USER,
            "text": self._markdown(entry.get("body"), files),
            "at": str(entry.get("created") or ""),
            "is_restricted": isinstance(entry.get("visibility"), dict),
        }

    def _slim(self, entry: dict[str, Any], custom: dict[str, str]) -> dict[str, Any]:
        fields = entry.get("fields")
        fields = fields if isinstance(fields, dict) else {}
        attached = [
            (str(one.get("filename") or "file"), str(one.get("content") or ""))
            for one in entries(fields.get("attachment"))
        ]
        files = dict(attached)
        comments, log = fields.get("comment"), entry.get("changelog")
        said = entries(comments.get("comments")) if isinstance(comments, dict) else []
        changes = entries(log.get("histories")) if isinstance(log, dict) else []
        status = fields.get("status")
        meaning = status.get("statusCategory") if isinstance(status, dict) else None
        parents = [named(fields.get("parent"), "key")]
        sprints: list[str] = []
        for name, kind in custom.items():
            if kind == _EPIC_LINK and isinstance(fields.get(name), str):
                parents.append(fields[name])
            elif kind == _SPRINT:
                sprints += _sprints(fields.get(name))
        return {
            "key": entry["key"],
            "title": str(fields.get("summary") or ""),
            "body": self._markdown(fields.get("description"), files),
            "environment": self._markdown(fields.get("environment"), files),
            "status": named(status),
            "meaning": named(meaning),
            "priority": named(fields.get("priority")),
            "kind": _kind(fields.get("issuetype")),
            "assignee": _person(fields.get("assignee")),
            "author": _person(fields.get("reporter")) or _person(fields.get("creator")),
            "labels": [
                *(str(one) for one in values(fields.get("labels"))),
                *(named(one) for one in entries(fields.get("components"))),
            ],
            "parents": [one for one in parents if one],
            "links": _slim_links(fields.get("issuelinks")),
            "comments": [self._slim_comment(one, files) for one in said],
            "more_comments": _total(comments) > len(said),
            "changes": _slim_changes(changes),
            "more_changes": _total(log) > len(changes),
            **{name: str(fields.get(name) or "") for name in ("created", "updated", "duedate")},
            "resolved": str(fields.get("resolutiondate") or ""),
            "resolution": named(fields.get("resolution")),
            "files": files,
            "attached": attached,
            "origins": [
                *(messages.fix_version(named(one)) for one in entries(fields.get("fixVersions"))),
                *(messages.affects_version(named(one)) for one in entries(fields.get("versions"))),
                *(messages.sprint(name) for name in sprints),
            ],
        }

    def issues(self, file: DownloadFile, report: ImportReport) -> list[Issue]:
        """All issues."""
        comments: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in file.items("comments"):
            comments[one["key"]].append(one)
        changes: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in file.items("changes"):
            changes[one["key"]].append(one)
        found = []
        for one in file.items("issues"):
            key = one["key"]
            if not one["title"].strip():
                report.refuse(key, NOT_AN_ISSUE, NO_TITLE_GIVEN)
                continue
            said = comments[key] or one["comments"]
            if any(comment["is_restricted"] for comment in said):
                report.note(key, messages.RESTRICTED_COMMENTS)
            try:
                issue = self._issue(one, said, report)
            except (ValueError, OverflowError) as error:
                report.refuse(key, NOT_AN_ISSUE, str(error))
                continue
            past = [_past(change) for change in changes[key] or one["changes"]]
            parts = IssueParts(
                address=f"{self._client.base}/browse/{key}",
                changes=[change for change in past if change is not None],
                files=[
                    IssueFile(address, self._source_of(address), name)
                    for name, address in one["attached"]
                    if address
                ],
            )
            references = IssueReferences(self._reference, self._linked)
            found.append(completed(issue, parts, references, TITLE))
        return found

    def _source_of(self, address: str) -> str:
        """Where to request a file; without ``redirect=false``, Cloud redirects to another host."""
        return f"{address}?redirect=false" if self._is_cloud else address

    def _linked(self, match: re.Match[str]) -> tuple[str, str]:
        return match[0], f"[{match[0]}]({self._client.base}/browse/{match[0]})"

    def _issue(
        self, one: dict[str, Any], said: Sequence[dict[str, Any]], report: ImportReport
    ) -> Issue:
        sections = [("", one["body"]), (ENVIRONMENT, one["environment"])]
        sections.append(
            (
                ATTACHMENTS,
                "\n".join(
                    f"- [{safe_link_text(name)}]({address})" for name, address in one["attached"]
                ),
            )
        )
        resolution = one["resolution"]
        return Issue(
            id=one["key"],
            title=one["title"],
            sections=tuple((name, text) for name, text in sections if text.strip()),
            status=one["status"].casefold() or "open",
            status_meaning=one["meaning"],
            priority=priority(one["key"], one["priority"], report) if one["priority"] else MEDIUM,
            kind=one["kind"],
            assignee=one["assignee"],
            author=one["author"],
            labels=tuple(one["labels"]),
            links=(
                *(IssueLink(PARENT_LINK, parent) for parent in dict.fromkeys(one["parents"])),
                *(IssueLink(kind, other) for kind, other in one["links"]),
            ),
            comments=tuple(
                IssueComment(
                    comment["author"], comment["text"], dates.moment_or_none(comment["at"])
                )
                for comment in said
            ),
            due_date=dates.day(one["duedate"]) if one["duedate"] else None,
            created_at=dates.moment_or_none(one["created"]),
            updated_at=dates.moment_or_none(one["updated"]),
            closed_at=dates.moment_or_none(one["resolved"]),
            closing="" if resolution in ("Unresolved", "Done", "Fixed") else resolution,
            origins=tuple(one["origins"]),
            where=one["key"],
        )


def _person(value: Any) -> str:
    return named(value, "displayName") or named(value)


def _kind(value: Any) -> str:
    if isinstance(value, dict) and value.get("hierarchyLevel") == 1:
        return "epic"
    return named(value).casefold() or "task"


def _total(part: Any) -> int:
    total = part.get("total") if isinstance(part, dict) else None
    return total if isinstance(total, int) else 0


def _sprints(value: Any) -> list[str]:
    """Names of sprints: objects in Cloud, Java ``toString`` texts in Data Center."""
    names = []
    for one in values(value):
        match = _SPRINT_NAME.search(one) if isinstance(one, str) else None
        name = match[1] if match else named(one)
        if name:
            names.append(name)
    return names


def _slim_links(value: Any) -> list[tuple[str, str]]:
    """Links that this issue holds: it is blocked, is a duplicate, or is related."""
    found = []
    for one in entries(value):
        kind = jira.LINK_KINDS.get(named(one.get("type")), "related")
        inward, outward = (
            named(one.get("inwardIssue"), "key"),
            named(one.get("outwardIssue"), "key"),
        )
        if inward and kind != "duplicates":
            found.append((kind, inward))
        if outward and kind != "blocks":
            found.append((kind, outward))
    return found


def _slim_changes(entries_of_log: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for one in entries_of_log[:MAX_CHANGES]:
        words = [_change(item) for item in entries(one.get("items"))]
        text = ", ".join(word for word in words if word)
        if text:
            who = _person(one.get("author")) or messages.FORMER_USER
            found.append({"who": who, "at": str(one.get("created") or ""), "what": text})
    return found


def _change(item: dict[str, Any]) -> str:
    name = str(item.get("field") or "")
    old, new = str(item.get("fromString") or ""), str(item.get("toString") or "")
    if name.casefold() in _FIELDS_WITHOUT_HISTORY or not name:
        return ""
    if old and new:
        return messages.changed(name, old, new)
    return messages.was_set(name, new) if new else messages.removed(name, old)


def _past(change: dict[str, Any]) -> PastChange | None:
    try:
        at = dates.moment_or_none(change["at"])
    except (ValueError, OverflowError):
        return None
    return PastChange(at, change["who"], change["what"]) if at is not None else None
