"""GitHub's issues and comments, as its REST API and ``gh issue list --json`` return them.

A file is one JSON array, several (``gh api --paginate``), nested ones (``--slurp``) or JSON lines.
Comments are objects with an ``issue_url``, or part of their issue. Milestones become epics; pull
requests are left out.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.core import json_parsing
from app.importing import dates, messages
from app.importing.foreign_markdown import without_comments
from app.importing.issues import PARENT_LINK, Issue, IssueComment, IssueLink, IssueSource
from app.importing.report import ImportReport

_BETWEEN = re.compile(r"[\s\[\],]*")
_REPOSITORY = re.compile(r"(?:repos/|github\.com/|://[^/]+/)([^/]+/[^/]+)/(?:issues|pull)/(\d+)")
_UNUSUAL_CLOSING = {"not_planned": "not planned", "duplicate": "duplicate"}


def read(sources: list[IssueSource], report: ImportReport) -> list[Issue]:
    """The issues of all files with their comments; raises ValueError for invalid JSON, TooMuch."""
    entries: list[tuple[str, dict[str, Any]]] = []
    comments: dict[str, list[IssueComment]] = {}
    for source in sources:
        for number, entry in _entries(source):
            source.allowance.take()
            where = source.line(number)
            if not isinstance(entry, dict):
                report.refuse(where, messages.NEITHER_ISSUE_NOR_COMMENT)
            elif "issue_url" in entry and "title" not in entry:
                name = name_of(str(entry["issue_url"]))
                try:
                    comments.setdefault(name, []).append(comment_of(entry))
                except (ValueError, OverflowError) as error:
                    report.refuse(where, messages.NOT_A_COMMENT, str(error))
            elif "pull_request" in entry:
                report.note(where, messages.PULL_REQUEST)
            else:
                entries.append((where, entry))
    return assembled(entries, comments, report)


def assembled(
    entries: Iterable[tuple[str, dict[str, Any]]],
    comments: Mapping[str, list[IssueComment]],
    report: ImportReport,
) -> list[Issue]:
    """The issues of entries, which are (position, object); ``comments`` are by issue name."""
    milestones: dict[str, Issue] = {}
    issues = []
    for where, entry in entries:
        try:
            issues.append(_issue(where, entry, comments, milestones))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            report.refuse(where, messages.NOT_AN_ISSUE, str(error))
    return [*milestones.values(), *issues]


def _entries(source: IssueSource) -> Iterator[tuple[int, Any]]:
    """The objects of a file, each with the number of its first line."""
    try:
        text = source.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(messages.not_utf8(source.name)) from error
    decoder = json.JSONDecoder()
    position, line = 0, 1
    while True:
        between = _BETWEEN.match(text, position)
        start = between.end() if between else position
        line += text.count("\n", position, start)
        if start == len(text):
            return
        try:
            _, end = decoder.raw_decode(text, start)
            entry = json_parsing.loads(text[start:end].encode())
        except (ValueError, RecursionError) as error:
            number = error.lineno if isinstance(error, json.JSONDecodeError) else line
            raise ValueError(messages.at_line(source.line(number), error)) from error
        yield line, entry
        line += text.count("\n", start, end)
        position = end


def name_of(url: str, number: Any = None) -> str:
    """``owner/name#12``, or ``#12`` if the URL names no repository."""
    match = _REPOSITORY.search(url)
    return f"{match.group(1)}#{match.group(2)}" if match else f"#{number}"


def _issue(
    where: str,
    entry: dict[str, Any],
    comments: Mapping[str, list[IssueComment]],
    milestones: dict[str, Issue],
) -> Issue:
    number, title = int(entry["number"]), str(entry["title"] or "").strip()
    if not title:
        raise ValueError(messages.NO_TITLE_GIVEN)
    url = str(entry.get("html_url") or entry.get("url") or "")
    name = name_of(url, number)
    labels = [label_name(label) for label in entry.get("labels") or ()]
    people = [_login(one) for one in entry.get("assignees") or ()]
    if not people and entry.get("assignee"):
        people = [_login(entry["assignee"])]
    inner = entry.get("comments")
    own = [comment_of(one) for one in inner] if isinstance(inner, list) else comments.get(name, [])
    reason = str(entry.get("state_reason") or entry.get("stateReason") or "").lower()
    kind = entry.get("type")
    return Issue(
        id=name,
        title=title,
        sections=_sections(entry.get("body")),
        status=str(entry.get("state") or "open").lower(),
        kind=str(kind.get("name") or "task").lower() if isinstance(kind, dict) else "task",
        assignee=people[0] if people else "",
        author=_login(entry.get("user") or entry.get("author")),
        labels=tuple(label for label in labels if label),
        links=_links(entry, name, milestones, where),
        comments=tuple(sorted(own, key=lambda one: one.written_at or 0)),
        created_at=_time(entry, "created_at", "createdAt"),
        updated_at=_time(entry, "updated_at", "updatedAt"),
        closed_at=_time(entry, "closed_at", "closedAt"),
        closing=_UNUSUAL_CLOSING.get(reason, ""),
        origins=(messages.also_assigned_to(", ".join(people[1:])),) if people[1:] else (),
        where=where,
    )


def _links(
    entry: dict[str, Any], name: str, milestones: dict[str, Issue], where: str
) -> tuple[IssueLink, ...]:
    """The parent: the issue above a sub-issue, else the epic of the milestone."""
    parent = str(entry.get("parent_issue_url") or "")
    if parent:
        return (IssueLink(PARENT_LINK, name_of(parent, "?")),)
    milestone = entry.get("milestone")
    if not isinstance(milestone, dict):
        return ()
    number = milestone.get("number") or milestone["title"]
    epic = f"{name.partition('#')[0]} milestone {number}".strip()
    if epic not in milestones:
        due = str(milestone.get("due_on") or milestone.get("dueOn") or "")
        milestones[epic] = Issue(
            id=epic,
            title=str(milestone["title"]),
            sections=_sections(milestone.get("description")),
            status=str(milestone.get("state") or "open").lower(),
            kind="epic",
            author=_login(milestone.get("creator")),
            due_date=dates.day(due) if due else None,
            created_at=_time(milestone, "created_at"),
            updated_at=_time(milestone, "updated_at"),
            closed_at=_time(milestone, "closed_at"),
            where=where,
        )
    return (IssueLink(PARENT_LINK, epic),)


def _sections(body: Any) -> tuple[tuple[str, str], ...]:
    text = without_comments(str(body or "").replace("\r\n", "\n"))
    return (("", text),) if text.strip() else ()


def comment_of(entry: dict[str, Any]) -> IssueComment:
    """The comment of an entry; raises ValueError for an invalid time."""
    return IssueComment(
        _login(entry.get("user") or entry.get("author")),
        without_comments(str(entry.get("body") or "")),
        _time(entry, "created_at", "createdAt"),
    )


def label_name(label: Any) -> str:
    return str(label.get("name") or "") if isinstance(label, dict) else str(label)


def _login(person: Any) -> str:
    return str(person.get("login") or "") if isinstance(person, dict) else ""


def _time(entry: dict[str, Any], *names: str) -> int | None:
    value = next((entry[name] for name in names if entry.get(name)), None)
    return dates.moment(str(value)) if value else None
