"""Which format a file is in, and reading it."""

import codecs
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from app.core import json_parsing, text
from app.importing import dates, github, jira, table
from app.importing.issues import Issue, IssueComment, IssueLink, IssueSource
from app.importing.report import ImportReport

SECTIONS = (
    ("description", ""),
    ("design", "Design"),
    ("acceptance_criteria", "Acceptance criteria"),
    ("notes", "Notes"),
)


def read_json_lines(source: IssueSource, report: ImportReport) -> Iterator[Issue]:
    """The issues of a file; a line that is none is noted and passed over. Raises TooMuch."""
    content = source.content.removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        source.allowance.take()
        where = source.line(number)
        try:
            yield _issue(json_parsing.loads(line), where)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            report.refuse(where, "is not an issue", str(error))


def _issue(found: Any, where: str) -> Issue:
    if not isinstance(found, dict):
        raise TypeError("it is no JSON object")
    title = _text(found, "title").strip()
    identifier = _text(found, "id").strip()
    if not title or not identifier:
        raise ValueError("it has no id or no title")
    return Issue(
        id=identifier,
        title=title,
        sections=tuple(
            (heading, _text(found, key)) for key, heading in SECTIONS if _text(found, key).strip()
        ),
        status=_text(found, "status") or "open",
        priority=int(found.get("priority", 2)),
        kind=_text(found, "issue_type") or "task",
        assignee=_text(found, "assignee"),
        author=_text(found, "created_by"),
        labels=tuple(str(label) for label in found.get("labels") or ()),
        links=tuple(
            IssueLink(_text(link, "type"), _text(link, "depends_on_id"))
            for link in found.get("dependencies") or ()
        ),
        remarks=tuple(
            IssueComment(
                _text(remark, "author"), _text(remark, "text"), _time(remark.get("created_at"))
            )
            for remark in found.get("comments") or ()
        ),
        created_at=_time(found.get("created_at")),
        updated_at=_time(found.get("updated_at")),
        closed_at=_time(found.get("closed_at")),
        closing=_text(found, "close_reason"),
        is_deleted=bool(found.get("deleted_at")),
        where=where,
    )


def _text(found: dict[str, Any], key: str) -> str:
    value = found.get(key)
    return value.replace("\x00", "") if isinstance(value, str) else ""


def _time(value: Any) -> int | None:
    return dates.moment(value) if isinstance(value, str) and value else None


class Format(StrEnum):
    """The formats that are understood."""

    JSONL = "jsonl"
    GITHUB = "github"
    JIRA = "jira"
    CSV = "csv"


FIRST_BYTES = 65_536
_GITHUB = re.compile(rb'"(?:number|issue_url)"\s*:')

# Asked for the columns of a CSV file, given its header and the columns that were guessed.
Mapper = Callable[[tuple[str, ...], dict[str, str]], dict[str, str]]


def detect(content: bytes) -> Format:
    """The format of a file, by how it begins."""
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        return Format.GITHUB
    if start.startswith(b"{"):
        try:
            first = json_parsing.loads(start.partition(b"\n")[0])
        except ValueError:
            # An object over several lines, or a bad first line.
            return Format.GITHUB if _GITHUB.search(start[:FIRST_BYTES]) else Format.JSONL
        is_github = isinstance(first, dict) and ("number" in first or "issue_url" in first)
        return Format.GITHUB if is_github else Format.JSONL
    header = start.partition(b"\n")[0]
    names = {name.strip(b' "\r') for name in re.split(rb"[,;\t]", header)}
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
    """The issues of files of one format, each id once; raises ValueError for a file that is none.

    ``mapper`` chooses the columns of CSV.
    """
    if format is Format.GITHUB:
        found = github.read(sources, report)
    elif format is Format.JSONL:
        found = [issue for source in sources for issue in read_json_lines(source, report)]
    else:
        found = []
        for source in sources:
            sheet = table.read_cells(source, report, encoding)
            if format is Format.JIRA:
                found += jira.read(sheet, options, report)
            else:
                chosen = table.checked(
                    mapper(sheet.header, table.guess(sheet.header)), sheet.header
                )
                found += table.read(sheet, chosen, options, report)
    return _once(found, report)


def _once(found: list[Issue], report: ImportReport) -> list[Issue]:
    issues: dict[str, Issue] = {}
    for issue in found:
        if len(issue.id) > text.NAME_LENGTH or "\x00" in issue.id:
            report.refuse(issue.where, f"has an id of over {text.NAME_LENGTH} characters")
        elif issue.id in issues:
            report.note(issue.id, "stands in the file twice; the first one counts", issue.where)
        else:
            issues[issue.id] = issue
    return list(issues.values())
