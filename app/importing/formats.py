"""Which format a file is in, and reading it."""

import re
from collections.abc import Callable
from enum import StrEnum

from app.core import json_parsing, text
from app.importing import github, jira, jsonlines, table
from app.importing.issues import Issue, IssueSource
from app.importing.report import ImportReport


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
        found = [issue for source in sources for issue in jsonlines.read(source, report)]
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
