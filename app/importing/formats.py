"""Detecting the format of a file, reading it, and the format JSON lines."""

import codecs
import re
from collections.abc import Callable, Iterator
from enum import StrEnum

from app.core import json_parsing, text
from app.importing import github, jira, messages, table
from app.importing.issues import MEDIUM, Issue, IssueComment, IssueLink, IssueSource
from app.importing.json_fields import JsonFields
from app.importing.report import ImportReport

FIRST_BYTES = 65_536
_GITHUB = re.compile(rb'"(?:number|issue_url)"\s*:')

SECTIONS = (
    ("description", ""),
    ("design", messages.DESIGN),
    ("acceptance_criteria", messages.ACCEPTANCE_CRITERIA),
    ("notes", messages.NOTES),
)


class Format(StrEnum):
    JSONL = "jsonl"
    GITHUB = "github"
    JIRA = "jira"
    CSV = "csv"


# Selects the columns of a CSV file, given its header and the guessed columns.
Mapper = Callable[[tuple[str, ...], dict[str, str]], dict[str, str]]


def detect(content: bytes) -> Format:
    """The format of a file, detected by its beginning."""
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        return Format.GITHUB
    if start.startswith(b"{"):
        try:
            first = json_parsing.loads(start.partition(b"\n")[0])
        except ValueError:
            # A multi-line object, or an invalid first line.
            return Format.GITHUB if _GITHUB.search(start[:FIRST_BYTES]) else Format.JSONL
        is_github = isinstance(first, dict) and ("number" in first or "issue_url" in first)
        return Format.GITHUB if is_github else Format.JSONL
    header, *others = re.split(rb"[\r\n]\s*", start, maxsplit=2)
    if others and table.named_delimiter(header.decode("latin-1")):
        header = others[0]
    names = {name.strip(b' "') for name in re.split(rb"[,;\t]", header)}
    is_jira = {jira.KEY.encode(), jira.SUMMARY.encode()} <= names
    return Format.JIRA if is_jira else Format.CSV


def read(
    sources: list[IssueSource],
    format: Format,
    report: ImportReport,
    options: table.Options,
    encoding: str,
    mapper: Mapper,
) -> list[Issue]:
    """The issues of files of one format, each id once; raises ValueError for other formats."""
    if format is Format.GITHUB:
        issues = github.read(sources, report)
    elif format is Format.JSONL:
        issues = [issue for source in sources for issue in _read_json_lines(source, report)]
    else:
        issues = []
        for source in sources:
            sheet = table.read_cells(source, report, encoding)
            if format is Format.JIRA:
                issues += jira.read(sheet, options, report)
            else:
                chosen = table.checked(
                    mapper(sheet.header, table.guess(sheet.header)), sheet.header
                )
                issues += table.read(sheet, chosen, options, report)
    return unique(issues, report)


def unique(issues: list[Issue], report: ImportReport) -> list[Issue]:
    """The first issue of each id."""
    by_id: dict[str, Issue] = {}
    for issue in issues:
        if len(issue.id) > text.NAME_LENGTH or "\x00" in issue.id:
            report.refuse(issue.where, messages.id_too_long(text.NAME_LENGTH))
        elif issue.id in by_id:
            report.note(issue.id, messages.DUPLICATE, issue.where)
        else:
            by_id[issue.id] = issue
    return list(by_id.values())


def _read_json_lines(source: IssueSource, report: ImportReport) -> Iterator[Issue]:
    """The issues of a file; other lines are reported and left out. Raises TooMuch."""
    content = source.content.removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        source.allowance.take()
        where = source.line(number)
        try:
            fields = JsonFields.of(json_parsing.loads(line))
            issue = _issue(fields, where)
            fields.note(report, where)
            yield issue
        except json_parsing.JsonInvalid as error:
            report.refuse(where, messages.NOT_AN_ISSUE, messages.not_json(error))
        except ValueError as error:
            report.refuse(where, messages.NOT_AN_ISSUE, str(error))


def _issue(fields: JsonFields, where: str) -> Issue:
    """The issue of a line; raises ValueError."""
    title, identifier = fields.text("title").strip(), fields.text("id").strip()
    if not title or not identifier:
        raise ValueError("; ".join(fields.problems) or messages.NO_ID_OR_TITLE)
    priority = fields.whole("priority")
    sections = ((heading, fields.text(key)) for key, heading in SECTIONS)
    return Issue(
        id=identifier,
        title=title,
        sections=tuple(section for section in sections if section[1].strip()),
        status=fields.text("status") or "open",
        priority=MEDIUM if priority is None else priority,
        kind=fields.text("issue_type") or "task",
        assignee=fields.text("assignee"),
        author=fields.text("created_by"),
        labels=tuple(label.text("name") for label in fields.objects("labels", "name")),
        links=tuple(
            IssueLink(link.text("type"), link.text("depends_on_id"))
            for link in fields.objects("dependencies")
        ),
        comments=tuple(
            IssueComment(comment.text("author"), comment.text("text"), comment.time("created_at"))
            for comment in fields.objects("comments")
        ),
        created_at=fields.time("created_at"),
        updated_at=fields.time("updated_at"),
        closed_at=fields.time("closed_at"),
        closing=fields.text("close_reason"),
        is_deleted=bool(fields.values.get("deleted_at")),
        where=where,
    )
