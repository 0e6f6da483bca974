"""GitHub, and GitHub Enterprise Server: issues over the REST API, version 2022-11-28."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from app.core.clock import iso
from app.importing import dates, github
from app.importing.foreign_markdown import safe_link_text
from app.importing.issues import Issue, IssueComment, IssueLink
from app.importing.messages import PULL_REQUEST, closed
from app.importing.report import ImportReport
from app.importing.trackers import messages
from app.importing.trackers.client import (
    DEFAULT_WAIT_SECONDS,
    ApiAnswer,
    ApiClient,
    TrackerError,
    limit_wait,
)
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

TITLE = "GitHub"
BASE = "https://api.github.com"
PER_PAGE = 100
# GitHub's author of the content of deleted accounts.
GHOST = "ghost"

_REPOSITORY = re.compile(r"[A-Za-z0-9-]{1,100}/[\w.-]{1,100}")
_DUPLICATE = re.compile(r"^[^\S\n]*+duplicate of #(\d{1,9})\b", re.IGNORECASE | re.MULTILINE)
_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,9})\b", re.IGNORECASE)
_REFERENCE = re.compile(r"(?<![\w/#&])([A-Za-z0-9-]{1,100}/[\w.-]{1,100})?#(\d{1,9})\b")
# The host of older images, which are public.
PUBLIC_FILE_HOST = "user-images.githubusercontent.com"
_USER_IMAGE = r"https://user-images\.githubusercontent\.com/\d{1,12}/[\w.%-]{1,300}"
_ISSUE_FIELDS = (
    *("number", "title", "body", "html_url", "state", "state_reason", "created_at", "updated_at"),
    *("closed_at", "parent_issue_url"),
)
_MILESTONE_FIELDS = (
    *("number", "title", "description", "state", "due_on", "created_at", "updated_at", "closed_at"),
)


def headers(token: str) -> dict[str, str]:
    """The headers; without a token, only public repositories and 60 requests an hour."""
    named = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    return named | ({"Authorization": f"Bearer {token}"} if token else {})


def file_hosts(base: str) -> tuple[str, ...]:
    """Hosts with files besides the API's host: the site accepts tokens of its API."""
    return ("github.com",) if base == BASE else ()


def file_pattern(base: str, repository: str) -> re.Pattern[str]:
    """Matches the addresses of files in a repository's texts."""
    parts = urlsplit(base)
    web = re.escape("https://github.com" if base == BASE else f"{parts.scheme}://{parts.netloc}")
    place = rf"(?:user-attachments|{re.escape(repository)})"
    asset, file = r"assets/(?:\d{1,12}/)?[0-9a-f-]{36}", r"files/\d{1,12}/[\w.%~+-]{1,300}"
    return re.compile(rf"{web}/{place}/(?:{asset}|{file})(?![\w/])|{_USER_IMAGE}", re.IGNORECASE)


def limit_rule(status: int, headers: Mapping[str, str], content: bytes) -> float | None:
    """GitHub responds with 403 or 429 to both the hourly limit and burst limits."""
    if status not in (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS):
        return None
    if "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0":
        return limit_wait(headers)
    return DEFAULT_WAIT_SECONDS if b"rate limit" in content.lower() else None


class GitHub:
    """One repository; ``since`` (ms) skips issues that have not changed after it."""

    title = TITLE

    def __init__(
        self, client: ApiClient, repository: str, *, since: int | None, with_history: bool
    ) -> None:
        if not _REPOSITORY.fullmatch(repository):
            raise TrackerError(messages.NAME_REPOSITORY)
        self._client = client
        self._path = f"/repos/{repository}"
        self._since = since
        self._with_history = with_history
        self._files = file_pattern(client.base, repository)

    def steps(self, file: DownloadFile) -> Sequence[DownloadStep]:
        ordered = {"per_page": PER_PAGE, "sort": "created", "direction": "asc"}
        since = {"since": iso(self._since)} if self._since is not None else {}
        issues = DownloadStep(
            "issues", self._list("/issues", {**ordered, "state": "all", **since}, _slim_issue)
        )
        blockers = DownloadStep(
            "blockers",
            of_each(
                lambda: [one["number"] for one in _issues(file) if one["blocked"]], self._blockers
            ),
        )
        if self._since is None:
            # Request comments of all issues together, a hundred per page.
            comments = DownloadStep(
                "comments", self._list("/issues/comments", ordered, _slim_comment)
            )
            past = self._list("/issues/events", {"per_page": PER_PAGE}, _slim_event)
        else:
            comments = DownloadStep(
                "comments",
                of_each(
                    lambda: [one["number"] for one in _issues(file) if one["said"]], self._comments
                ),
            )
            past = of_each(lambda: [one["number"] for one in _issues(file)], self._events)
        return [
            issues,
            comments,
            blockers,
            *([DownloadStep("events", past)] if self._with_history else []),
        ]

    def _list(
        self, path: str, query: dict[str, Any], slim: Callable[[dict[str, Any]], Any]
    ) -> Callable[[str | None], FetchedPage]:
        first = f"{self._path}{path}?{urlencode(query)}"

        def page(position: str | None) -> FetchedPage:
            answer = self._client.get(position or first)
            return FetchedPage(_slimmed(answer, slim), answer.next_address)

        return page

    def _all(self, path: str, slim: Callable[[dict[str, Any]], Any]) -> list[Any]:
        """A short list, such as the comments of one issue."""
        found: list[Any] = []
        address: str | None = f"{self._path}{path}?per_page={PER_PAGE}"
        for _ in range(MAX_PAGES):
            if address is None:
                break
            answer = self._client.get(address)
            found += _slimmed(answer, slim)
            address = answer.next_address
        return found

    def _comments(self, number: int) -> list[Any]:
        return self._all(f"/issues/{number}/comments", _slim_comment)

    def _events(self, number: int) -> list[Any]:
        found = self._all(f"/issues/{number}/events", _slim_event)
        return [one | {"number": number} for one in found]

    def _blockers(self, number: int) -> list[Any]:
        path = f"/issues/{number}/dependencies/blocked_by"
        found = or_nothing(lambda: self._all(path, _slim_blocker))
        return [one | {"number": number} for one in found]

    def issues(self, file: DownloadFile, report: ImportReport) -> list[Issue]:
        """All issues, with links to the pull requests that close them."""
        issues: list[tuple[str, dict[str, Any]]] = []
        parts: dict[int, IssueParts] = defaultdict(IssueParts)
        for one in file.items("issues"):
            number = int(one["number"])
            parts[number].address = one["html_url"]
            if one["is_pull"]:
                report.note(f"#{number}", PULL_REQUEST)
                for issue in dict.fromkeys(_CLOSES.findall(one["body"])):
                    title = safe_link_text(f"#{number} {one['title'] or ''}")
                    parts[int(issue)].pages.append((title, one["html_url"]))
            else:
                issues.append((f"#{number}", one))
        comments: dict[str, list[IssueComment]] = defaultdict(list)
        for one in once(file.items("comments")):
            name = github.name_of(one["issue_url"])
            comments[name].append(github.comment_of(name, one, report))
        for one in file.items("blockers"):
            parts[one["number"]].links.append(IssueLink("blocks", github.name_of(one["url"])))
        for one in once(file.items("events")):
            if not isinstance(one["number"], int):
                continue
            parts[one["number"]].changes.append(PastChange(one["at"], one["who"], one["what"]))
        found = github.assembled(issues, comments, report)
        return [_with_parts(issue, parts, self._files) for issue in found]


def _with_parts(issue: Issue, parts: Mapping[int, IssueParts], files: re.Pattern[str]) -> Issue:
    """The issue with its parts; an epic made from a milestone has none."""
    repository, _, number = issue.id.partition("#")
    if not number:
        return issue
    own = parts[int(number)]
    for comment in issue.comments:
        for other in _DUPLICATE.findall(comment.text):
            own.links.append(IssueLink("duplicates", f"{repository}#{other}"))

    def reference(match: re.Match[str]) -> tuple[str, str] | None:
        address = parts[int(match[2])].address if int(match[2]) in parts else ""
        if not address or (match[1] or repository).casefold() != repository.casefold():
            return None
        return f"{repository}#{match[2]}", f"[{match[0]}]({address})"

    references = IssueReferences(_REFERENCE, reference, files)
    return completed(issue, own, references, TITLE)


def _slimmed(answer: ApiAnswer, slim: Callable[[dict[str, Any]], Any]) -> list[Any]:
    """The reduced entries of a page; raises TrackerError if it is no list."""
    kept = (slim(one) for one in listed(answer))
    return [one for one in kept if one is not None]


def _slim_issue(entry: dict[str, Any]) -> dict[str, Any] | None:
    if not isinstance(entry.get("number"), int):
        return None
    kind, milestone = entry.get("type"), entry.get("milestone")
    blocked = entry.get("issue_dependencies_summary")
    return {
        **{name: entry.get(name) for name in _ISSUE_FIELDS},
        "body": str(entry.get("body") or ""),
        "html_url": str(entry.get("html_url") or ""),
        "is_pull": "pull_request" in entry,
        "user": _person(entry.get("user")),
        "assignees": [_person(one) for one in entries(entry.get("assignees"))],
        "labels": [github.label_name(one) for one in values(entry.get("labels"))],
        "type": {"name": github.label_name(kind)} if isinstance(kind, dict) else None,
        "milestone": _slim_milestone(milestone) if isinstance(milestone, dict) else None,
        "said": entry.get("comments"),
        "blocked": blocked.get("total_blocked_by") if isinstance(blocked, dict) else 0,
    }


def _slim_milestone(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry.get(name) for name in _MILESTONE_FIELDS} | {
        "creator": _person(entry.get("creator"))
    }


def _slim_comment(entry: dict[str, Any]) -> dict[str, Any] | None:
    if not isinstance(entry.get("issue_url"), str):
        return None
    return {name: entry.get(name) for name in ("id", "issue_url", "created_at")} | {
        "body": str(entry.get("body") or ""),
        "user": _person(entry.get("user")),
    }


def _slim_blocker(entry: dict[str, Any]) -> dict[str, Any]:
    return {"url": str(entry.get("html_url") or "")}


def _slim_event(entry: dict[str, Any]) -> dict[str, Any] | None:
    """A reduced event; None if it changed no issue or belongs to a pull request."""
    issue = entry.get("issue")
    if isinstance(issue, dict) and "pull_request" in issue:
        return None
    number = issue.get("number") if isinstance(issue, dict) else None
    what = _change(entry)
    try:
        at = dates.moment(str(entry.get("created_at") or ""))
    except (ValueError, OverflowError):
        return None
    if not what:
        return None
    who = _person(entry.get("actor"))["login"]
    return {"id": entry.get("id"), "number": number, "at": at, "who": who, "what": what}


def _change(entry: dict[str, Any]) -> str:
    """What an event did, in words; empty if it changed no field."""
    commit = str(entry.get("commit_id") or "")[:12]
    reason = str(entry.get("state_reason") or "").replace("_", " ")
    by = messages.by_commit(commit) if commit else ""
    rename, milestone = entry.get("rename"), entry.get("milestone")
    old, new = (rename.get("from"), rename.get("to")) if isinstance(rename, dict) else ("", "")
    words = {
        "labeled": messages.label_added(github.label_name(entry.get("label"))),
        "unlabeled": messages.label_removed(github.label_name(entry.get("label"))),
        "assigned": messages.assigned(_person(entry.get("assignee"))["login"]),
        "unassigned": messages.unassigned(_person(entry.get("assignee"))["login"]),
        "milestoned": messages.milestone_added(_title_of(milestone)),
        "demilestoned": messages.milestone_removed(_title_of(milestone)),
        "renamed": messages.title_changed(old, new),
        "closed": closed(reason, by),
        "reopened": messages.REOPENED,
        "referenced": messages.mentioned_in(commit) if commit else "",
        "marked_as_duplicate": messages.MARKED_DUPLICATE,
        "transferred": messages.MOVED_HERE,
    }
    return words.get(str(entry.get("event")), "")


def _title_of(milestone: Any) -> str:
    return str(milestone.get("title") or "") if isinstance(milestone, dict) else ""


def _person(person: Any) -> dict[str, str]:
    login = person.get("login") if isinstance(person, dict) else None
    return {"login": str(login or GHOST)}


def _issues(file: DownloadFile) -> Iterator[dict[str, Any]]:
    return (one for one in file.items("issues") if not one["is_pull"])
