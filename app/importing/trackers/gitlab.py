"""GitLab, of gitlab.com or self-hosted: issues over the REST API, version 4."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from app.core.clock import iso
from app.importing import dates
from app.importing.foreign_markdown import safe_link_text, without_comments
from app.importing.issues import PARENT_LINK, Issue, IssueComment, IssueLink
from app.importing.messages import NOT_AN_ISSUE, also_assigned_to
from app.importing.report import ImportReport
from app.importing.trackers import messages
from app.importing.trackers.client import ApiAnswer, ApiClient, Refused, TrackerError
from app.importing.trackers.download import (
    MAX_PAGES,
    DownloadStep,
    entries,
    listed,
    of_each,
    or_nothing,
    values,
)
from app.importing.trackers.download_file import DownloadFile, FetchedPage
from app.importing.trackers.history import PastChange
from app.importing.trackers.parts import IssueParts, IssueReferences, completed, once

TITLE = "GitLab"
BASE = "https://gitlab.com"
API = "/api/v4/"
PER_PAGE = 100
GHOST = "ghost"
MAX_NOTE_LENGTH = 200

# GitLab's marks of changes in a title.
_EMPHASIS = re.compile(r"\*\*|\{[-+]|[-+]\}")
_PROJECT = re.compile(r"[\w.-]{1,255}(?:/[\w.-]{1,255}){1,20}")
_REFERENCE = re.compile(r"(?<![\w/#&!])((?:[\w.-]{1,255}/){1,20}[\w.-]{1,255})?([#!])(\d{1,9})\b")
_UPLOAD = re.compile(r"(\]\(|src=\")(/uploads/[0-9a-f]{32}/[^()\s\"<>]{1,500})")
# From the viewpoint of the issue whose links are listed.
_KINDS = {"relates_to": "related", "is_blocked_by": "blocks"}
_FIELDS = (
    *("iid", "title", "state", "created_at", "updated_at", "closed_at", "due_date", "web_url"),
    *("confidential", "weight"),
)
_EPIC_FIELDS = ("title", "description", "state", "due_date", "created_at", "updated_at")


def headers(token: str) -> dict[str, str]:
    """The headers; without a token, only public projects are visible."""
    return {"PRIVATE-TOKEN": token} if token else {}


class GitLab:
    """One project; ``since`` (ms) skips issues that have not changed after it."""

    title = TITLE

    def __init__(
        self, client: ApiClient, project: str, *, since: int | None, with_history: bool
    ) -> None:
        project = project.strip("/")
        if not _PROJECT.fullmatch(project):
            raise TrackerError(messages.NAME_GITLAB_PROJECT)
        self._client = client
        self._project = project
        self._path = f"{API}projects/{quote(project, safe='')}"
        self._since = since
        self._with_history = with_history
        web = re.escape(f"{client.base}/{project}")
        self._files = re.compile(rf"{web}/uploads/([0-9a-f]{{32}})/([^()\s\"<>/?#]{{1,500}})")

    def steps(self, file: DownloadFile) -> Sequence[DownloadStep]:
        def each(part: str, slim: _Slim, needed: Callable[[dict[str, Any]], Any]) -> DownloadStep:
            return DownloadStep(
                part,
                of_each(
                    lambda: [one["iid"] for one in file.items("issues") if needed(one)],
                    lambda iid: self._part(iid, part, slim),
                ),
            )

        steps = [
            DownloadStep("issues", self._issues_page),
            each("notes", _slim_note, lambda one: one["said"] or self._with_history),
            each("links", _slim_link, lambda _: True),
            each("related_merge_requests", _slim_request, lambda one: one["requests"]),
        ]
        if self._with_history:
            steps += [
                each("resource_label_events", _slim_label_event, lambda _: True),
                each("resource_state_events", _slim_state_event, lambda _: True),
            ]
        return steps

    def _issues_page(self, position: str | None) -> FetchedPage:
        if position is not None:
            return self._page(position)
        query = {"scope": "all", "per_page": PER_PAGE, "order_by": "created_at", "sort": "asc"}
        if self._since is not None:
            query["updated_after"] = iso(self._since)
        first = f"{self._path}/issues?{urlencode(query)}"
        try:
            return self._page(f"{first}&pagination=keyset")
        except Refused as refused:
            # Versions before 18.3 use page numbers instead.
            if refused.status != HTTPStatus.METHOD_NOT_ALLOWED:
                raise
            return self._page(first)

    def _page(self, address: str) -> FetchedPage:
        answer = self._client.get(address)
        found = [self._slim(one) for one in listed(answer) if _is_issue(one)]
        return FetchedPage(found, _next_path(answer))

    def _slim(self, entry: dict[str, Any]) -> dict[str, Any]:
        name = _full_name(entry) or f"{self._project}#{entry['iid']}"
        return _slim_issue(entry) | {"name": name}

    def _part(self, iid: int, part: str, slim: "_Slim") -> list[Any]:
        def ask() -> list[Any]:
            found: list[Any] = []
            address: str | None = f"{self._path}/issues/{iid}/{part}?per_page={PER_PAGE}"
            for _ in range(MAX_PAGES):
                if address is None:
                    break
                answer = self._client.get(address)
                found += [slim(one) for one in listed(answer)]
                address = _next_path(answer)
            return [one | {"iid": iid} for one in found if one is not None]

        return or_nothing(ask)

    def issues(self, file: DownloadFile, report: ImportReport) -> list[Issue]:
        """All issues; epics and milestones become epics."""
        known: dict[int, dict[str, Any]] = {}
        for one in file.items("issues"):
            known[one["iid"]] = one
        parts: dict[int, IssueParts] = defaultdict(IssueParts)
        comments: dict[int, list[IssueComment]] = defaultdict(list)
        confidential: set[int] = set()
        for one in once(file.items("notes")):
            if one["is_internal"]:
                confidential.add(one["iid"])
            if one["system"]:
                what = _EMPHASIS.sub("", one["body"])[:MAX_NOTE_LENGTH]
                change = PastChange(one["at"], one["author"], what)
                parts[one["iid"]].changes.append(change)
            else:
                comments[one["iid"]].append(
                    IssueComment(one["author"], self._text(one["body"]), one["at"])
                )
        for kind in ("resource_label_events", "resource_state_events"):
            for one in once(file.items(kind)):
                change = PastChange(one["at"], one["who"], one["what"])
                parts[one["iid"]].changes.append(change)
        for one in file.items("links"):
            parts[one["iid"]].links.append(IssueLink(one["kind"], one["other"]))
        for one in file.items("related_merge_requests"):
            parts[one["iid"]].pages.append((safe_link_text(one["title"]), one["url"]))
        epics: dict[str, Issue] = {}
        found = []
        for number, one in enumerate(known.values(), start=1):
            where = f"issue {number}"
            try:
                issue = self._issue(where, one, tuple(comments[one["iid"]]), epics)
            except (ValueError, OverflowError, TypeError, KeyError) as error:
                report.refuse(f"#{one['iid']}", NOT_AN_ISSUE, str(error))
                continue
            if one["confidential"] or one["iid"] in confidential:
                report.note(issue.id, messages.CONFIDENTIAL)
            own = parts[one["iid"]]
            own.address = one["web_url"]
            references = IssueReferences(
                _REFERENCE,
                lambda match: self._reference(match, known),
                self._files,
                self._source_of,
            )
            found.append(completed(issue, own, references, TITLE))
        return [*epics.values(), *found]

    def _issue(
        self,
        where: str,
        one: dict[str, Any],
        comments: tuple[IssueComment, ...],
        epics: dict[str, Issue],
    ) -> Issue:
        people = one["assignees"]
        origins = [also_assigned_to(", ".join(people[1:]))] if people[1:] else []
        if one["weight"] is not None:
            origins.append(messages.weight(one["weight"]))
        links: tuple[IssueLink, ...] = ()
        above = one["epic"] or one["milestone"]
        if above:
            links = (IssueLink(PARENT_LINK, above["id"]),)
            epics.setdefault(above["id"], _epic(above, where))
        if one["epic"] and one["milestone"]:
            origins.append(messages.milestone(one["milestone"]["title"]))
        body = self._text(one["body"])
        return Issue(
            id=one["name"],
            title=str(one["title"]).strip() or f"Issue {one['iid']}",
            sections=(("", body),) if body.strip() else (),
            status="closed" if one["state"] == "closed" else "open",
            kind=one["kind"],
            assignee=people[0] if people else "",
            author=one["author"],
            labels=tuple(one["labels"]),
            links=links,
            comments=comments,
            due_date=dates.day(str(one["due_date"])) if one["due_date"] else None,
            created_at=dates.moment_or_none(one["created_at"]),
            updated_at=dates.moment_or_none(one["updated_at"]),
            closed_at=dates.moment_or_none(one["closed_at"]),
            origins=tuple(origins),
            where=where,
        )

    def _text(self, body: str) -> str:
        """The text without comments, and with absolute URLs of uploads."""
        body = without_comments(body.replace("\r\n", "\n"))
        web = f"{self._client.base}/{self._project}"
        return _UPLOAD.sub(lambda match: f"{match[1]}{web}{match[2]}", body)

    def _source_of(self, address: str) -> str:
        """Where to request a file: with a token from the API, otherwise from the site."""
        match = self._files.fullmatch(address)
        if match is None or "PRIVATE-TOKEN" not in self._client.headers:
            return address
        return f"{self._client.base}{self._path}/uploads/{match[1]}/{match[2]}"

    def _reference(
        self, match: re.Match[str], known: Mapping[int, dict[str, Any]]
    ) -> tuple[str, str] | None:
        if (match[1] or self._project).casefold() != self._project.casefold():
            return None
        number = int(match[3])
        if match[2] == "!":
            address = f"{self._client.base}/{self._project}/-/merge_requests/{number}"
            return "", f"[{match[0]}]({address})"
        if number not in known:
            return None
        return known[number]["name"], f"[{match[0]}]({known[number]['web_url']})"


_Slim = Callable[[dict[str, Any]], dict[str, Any] | None]


def _is_issue(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("iid"), int)


def _slim_issue(entry: dict[str, Any]) -> dict[str, Any]:
    epic, milestone = entry.get("epic"), entry.get("milestone")
    kind = str(entry.get("issue_type") or "issue")
    return {
        **{name: entry.get(name) for name in _FIELDS},
        "web_url": str(entry.get("web_url") or ""),
        "body": str(entry.get("description") or ""),
        "kind": "task" if kind == "issue" else kind.replace("_", " "),
        "author": _username(entry.get("author")),
        "assignees": [_username(one) for one in entries(entry.get("assignees"))],
        "labels": [str(one) for one in values(entry.get("labels"))],
        "said": entry.get("user_notes_count"),
        "requests": entry.get("merge_requests_count"),
        "epic": _slim_epic("epic", epic) if isinstance(epic, dict) else None,
        "milestone": _slim_epic("milestone", milestone) if isinstance(milestone, dict) else None,
    }


def _next_path(answer: ApiAnswer) -> str | None:
    """The next page, below the address that the operator gave.

    GitLab writes its ``external_url``, which can differ from the address that this machine uses.
    """
    if answer.next_address is None:
        return None
    _, root, rest = answer.next_address.partition(API)
    if not root:
        raise TrackerError(messages.GITLAB_NEXT_PAGE_ELSEWHERE)
    return f"{root}{rest}"


def _full_name(entry: dict[str, Any]) -> str:
    """``group/name#12``, or ``group/name!12`` for a merge request; empty if it has none."""
    names = entry.get("references")
    return str(names.get("full") or "") if isinstance(names, dict) else ""


def _slim_epic(kind: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry.get(name) for name in _EPIC_FIELDS} | {
        "id": f"GitLab {kind} {entry.get('id')}"
    }


def _epic(entry: dict[str, Any], where: str) -> Issue:
    text = without_comments(str(entry["description"] or ""))
    return Issue(
        id=entry["id"],
        title=str(entry["title"] or entry["id"]),
        sections=(("", text),) if text.strip() else (),
        status="closed" if entry["state"] == "closed" else "open",
        kind="epic",
        due_date=entry["due_date"] and dates.day(str(entry["due_date"])),
        created_at=dates.moment_or_none(entry["created_at"]),
        updated_at=dates.moment_or_none(entry["updated_at"]),
        where=where,
    )


def _slim_note(entry: dict[str, Any]) -> dict[str, Any] | None:
    at = _at(entry)
    if at is None:
        return None
    return {
        "id": entry.get("id"),
        "author": _username(entry.get("author")),
        "body": str(entry.get("body") or ""),
        "system": bool(entry.get("system")),
        "is_internal": bool(entry.get("internal") or entry.get("confidential")),
        "at": at,
    }


def _slim_link(entry: dict[str, Any]) -> dict[str, Any] | None:
    kind = _KINDS.get(str(entry.get("link_type") or "relates_to"))
    other = _full_name(entry)
    return {"kind": kind, "other": other} if kind and other else None


def _slim_request(entry: dict[str, Any]) -> dict[str, Any] | None:
    title = f"{_full_name(entry)} {entry.get('title') or ''}".strip()
    return {"title": title, "url": str(entry.get("web_url") or "")}


def _slim_label_event(entry: dict[str, Any]) -> dict[str, Any] | None:
    label = entry.get("label")
    name = label.get("name") if isinstance(label, dict) else messages.THAT_WAS_DELETED
    verb = "added" if entry.get("action") == "add" else "removed"
    return _slim_event(entry, messages.labels_changed(verb, str(name)))


def _slim_state_event(entry: dict[str, Any]) -> dict[str, Any] | None:
    return _slim_event(entry, messages.state_changed(str(entry.get("state") or "changed")))


def _slim_event(entry: dict[str, Any], what: str) -> dict[str, Any] | None:
    at = _at(entry)
    if at is None:
        return None
    return {"id": entry.get("id"), "at": at, "who": _username(entry.get("user")), "what": what}


def _username(person: Any) -> str:
    return str(person.get("username") or GHOST) if isinstance(person, dict) else GHOST


def _at(entry: dict[str, Any]) -> int | None:
    try:
        return dates.moment_or_none(entry.get("created_at"))
    except (ValueError, OverflowError):
        return None
