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
from app.importing import messages
from app.importing.foreign_markdown import without_comments
from app.importing.issues import PARENT_LINK, Issue, IssueComment, IssueLink, IssueSource
from app.importing.json_fields import JsonFields
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
                comments.setdefault(name, []).append(comment_of(where, entry, report))
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
            fields = JsonFields(entry)
            issues.append(_issue(where, fields, comments, milestones))
            fields.note(report, where)
        except ValueError as error:
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
            is_strict = isinstance(error, json_parsing.JsonInvalid)
            problem = messages.not_json(error) if is_strict else messages.IS_NOT_JSON
            raise ValueError(messages.at_line(source.line(number), problem)) from error
        yield line, entry
        line += text.count("\n", start, end)
        position = end


def name_of(url: str, number: Any = None) -> str:
    """``owner/name#12``, or ``#12`` if the URL names no repository."""
    match = _REPOSITORY.search(url)
    return f"{match.group(1)}#{match.group(2)}" if match else f"#{number}"


def _issue(
    where: str,
    fields: JsonFields,
    comments: Mapping[str, list[IssueComment]],
    milestones: dict[str, Issue],
) -> Issue:
    """The issue of an entry; raises ValueError."""
    number, title = fields.whole("number"), fields.text("title").strip()
    if number is None or not title:
        raise ValueError("; ".join(fields.problems) or messages.NO_NUMBER_OR_TITLE)
    name = name_of(fields.text(fields.first("html_url", "url")), number)
    labels = [label.text("name") for label in fields.objects("labels", "name")]
    people = [one.text("login") for one in fields.objects("assignees", "login")] or [
        _login(fields, "assignee")
    ]
    own = comments.get(name, [])
    if not isinstance(fields.values.get("comments"), int):
        own = [_comment(one) for one in fields.objects("comments")] or own
    kind = fields.inner("type", "name")
    return Issue(
        id=name,
        title=title,
        sections=_sections(fields.text("body")),
        status=fields.text("state").lower() or "open",
        kind=(kind.text("name").lower() if kind else "") or "task",
        assignee=people[0],
        author=_login(fields, "user", "author"),
        labels=tuple(label for label in labels if label),
        links=_links(fields, name, milestones, where),
        comments=tuple(sorted(own, key=lambda one: one.written_at or 0)),
        created_at=_time(fields, "created_at", "createdAt"),
        updated_at=_time(fields, "updated_at", "updatedAt"),
        closed_at=_time(fields, "closed_at", "closedAt"),
        closing=_UNUSUAL_CLOSING.get(
            fields.text(fields.first("state_reason", "stateReason")).lower(), ""
        ),
        origins=(messages.also_assigned_to(", ".join(people[1:])),) if people[1:] else (),
        where=where,
    )


def _links(
    fields: JsonFields, name: str, milestones: dict[str, Issue], where: str
) -> tuple[IssueLink, ...]:
    """The parent: the issue above a sub-issue, else the epic of the milestone."""
    parent = fields.text("parent_issue_url")
    if parent:
        return (IssueLink(PARENT_LINK, name_of(parent, "?")),)
    milestone = fields.inner("milestone", "title")
    if milestone is None:
        return ()
    title = milestone.text("title")
    number = milestone.whole("number") or title
    epic = f"{name.partition('#')[0]} milestone {number}".strip()
    if epic not in milestones:
        due = milestone.first("due_on", "dueOn")
        milestones[epic] = Issue(
            id=epic,
            title=title,
            sections=_sections(milestone.text("description")),
            status=milestone.text("state").lower() or "open",
            kind="epic",
            author=_login(milestone, "creator"),
            due_date=milestone.day(due),
            created_at=milestone.time("created_at"),
            updated_at=milestone.time("updated_at"),
            closed_at=milestone.time("closed_at"),
            where=where,
        )
    return (IssueLink(PARENT_LINK, epic),)


def _sections(body: str) -> tuple[tuple[str, str], ...]:
    text = without_comments(body.replace("\r\n", "\n"))
    return (("", text),) if text.strip() else ()


def comment_of(where: str, entry: dict[str, Any], report: ImportReport) -> IssueComment:
    """The comment of an entry; notes fields that cannot be read."""
    fields = JsonFields(entry)
    comment = _comment(fields)
    fields.note(report, where)
    return comment


def _comment(fields: JsonFields) -> IssueComment:
    return IssueComment(
        _login(fields, "user", "author"),
        without_comments(fields.text("body")),
        _time(fields, "created_at", "createdAt"),
    )


def label_name(label: Any) -> str:
    return str(label.get("name") or "") if isinstance(label, dict) else str(label)


def _login(fields: JsonFields, *names: str) -> str:
    person = fields.inner(fields.first(*names), "login")
    return person.text("login") if person else ""


def _time(fields: JsonFields, *names: str) -> int | None:
    return fields.time(fields.first(*names))
