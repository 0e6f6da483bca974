"""Issues from CSV: its cells, and a mapping of fields to columns."""

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from itertools import islice

from app.core.text import counted
from app.importing import dates, messages, words
from app.importing.issues import MEDIUM, PARENT_LINK, Issue, IssueComment, IssueLink, IssueSource
from app.importing.report import UNNAMED, ImportReport
from app.projects.models import StateCategory
from app.web.downloads import items, without_apostrophes

# The csv module's default is 128 KiB; a body may be longer.
MAX_CELL_LENGTH = 16 * 1024 * 1024
# Trackers repeat a column for each comment or label.
MAX_COLUMNS = 5_000
# The first bytes of Excel's files.
ZIP = b"PK\x03\x04"
DELIMITERS = ",;\t|"
# Excel writes and reads such a line before the header. Spreadsheets pad it to all columns.
_DELIMITER_LINE = re.compile(r'"?sep=([^\w\s"]|\t)"?\1*+\s*', re.IGNORECASE)

# Columns that only Docket's own export has.
OWN_ID, OWN_CATEGORY = "display_id", "state_category"

# The values of each column.
Cells = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A CSV file; a row has its position and, by column name, the values that are not blank.

    Several columns may have the same name, as Jira's do.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, Cells], ...]


def read_cells(source: IssueSource, report: ImportReport, encoding: str) -> Sheet:
    """Read a sheet; raises ValueError for a bad encoding, no header, too many rows or columns."""
    if source.content.startswith(ZIP):
        raise ValueError(messages.not_text(source.name))
    try:
        text = source.content.decode(encoding)
        if "\x00" in _first_line(text):
            raise UnicodeError(encoding)
    except LookupError as error:
        raise ValueError(messages.unknown_encoding(encoding)) from error
    except UnicodeError as error:
        name = "UTF-8" if encoding == "utf-8-sig" else encoding
        raise ValueError(messages.other_encoding(source.name, name)) from error
    csv.field_size_limit(MAX_CELL_LENGTH)
    text = text.replace("\x00", "")
    named = named_delimiter(_first_line(text))
    delimiter = named or _delimiter(text)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = (tuple(name.strip() for name in row) for row in lines)
        filled = (row for row in rows if any(row))
        header = next(islice(filled, 1 if named else 0, None), ())
    except csv.Error as error:
        raise ValueError(messages.not_csv(source.name, error)) from error
    if not header:
        raise ValueError(messages.no_header(source.name))
    if len(header) > MAX_COLUMNS:
        raise ValueError(messages.file_has_too_many_columns(source.name, MAX_COLUMNS))
    return Sheet(header, tuple(_rows(lines, header, source, report)))


def _is_own(header: tuple[str, ...]) -> bool:
    """Whether Docket exported the file."""
    return {OWN_ID, OWN_CATEGORY} <= set(header)


def named_delimiter(line: str) -> str | None:
    """The delimiter that a line such as ``sep=;`` names."""
    found = _DELIMITER_LINE.fullmatch(line)
    return found[1] if found else None


def _delimiter(text: str) -> str:
    """The delimiter that occurs most often in the header."""
    return max(DELIMITERS, key=_first_line(text).count)


def _first_line(text: str) -> str:
    return re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]


def _rows(
    lines: Iterator[list[str]], header: tuple[str, ...], source: IssueSource, report: ImportReport
) -> Iterator[tuple[str, Cells]]:
    is_own = _is_own(header)
    while True:
        where = source.line(lines.line_num + 1)  # type: ignore[attr-defined]  # csv.reader has it
        try:
            row = next(lines, None)
        except csv.Error as error:
            report.refuse(where, messages.NOT_VALID_CSV, str(error))
            return
        if row is None:
            return
        source.allowance.take()
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            report.refuse(where, messages.wrong_cells(counted(len(row), "cells"), len(header)))
            continue
        if is_own:
            row = [without_apostrophes(cell) for cell in row]
        cells: Cells = {}
        for name, cell in zip(header, row, strict=True):
            if cell.strip():
                cells.setdefault(name, []).append(cell)
        yield where, cells


# The fields, and the column names guessed for each: names in trackers' exports, in lower case
# and without brackets.
GUESSES = {
    "title": ("title", "summary", "subject", "card name", "name", "task", "issue"),
    "id": ("id", "key", "issue key", "issue id", "card id", "task id", "#", "number", "ticket"),
    "description": (
        *("description", "card description", "body", "details", "text", "content", "notes"),
    ),
    "status": ("status", "state", "list name", "section/column", "column", "list", "stage"),
    "priority": ("priority", "prio", "severity", "urgency"),
    "type": ("type", "issue type", "tracker", "kind"),
    "assignee": (
        *("assignee username", "assignee", "assigned to", "owner", "assignees", "members"),
    ),
    "author": ("author username", "author", "reporter", "created by", "creator", "submitter"),
    "labels": ("labels", "label", "tags", "tag", "categories", "category", "components"),
    "parent": (
        *("parent", "parent id", "parent task", "parent issue", "parent key", "epic link"),
        *("epic", "milestone"),
    ),
    "blocked_by": ("blocked by", "depends on", "dependencies"),
    "due_date": ("due date", "due", "due on", "due by", "deadline"),
    "created_at": ("created at", "created", "created on", "creation date"),
    "updated_at": ("updated at", "updated", "updated on", "last modified", "modified"),
    "closed_at": ("closed at", "closed", "resolved", "completed at", "completed", "closed on"),
    "comments": ("comments", "comment"),
}
FIELDS = tuple(GUESSES)
NEEDED = "title"
# The fields that take the values of all columns of a name.
_REPEATED = {"description", "labels", "blocked_by", "comments"}
_LIST = re.compile(r"[,;\n]")
_BRACKETS = re.compile(r"\([^()]*\)")
_TIMES = ("due_date", "created_at", "updated_at", "closed_at")


@dataclass(frozen=True, slots=True)
class Options:
    """How times in cells are written."""

    date_formats: tuple[str, ...] = ()
    zone: tzinfo = UTC

    def fitting(self, values: Iterable[str]) -> "Options":
        """These options, with the order of days and months that the values show."""
        return replace(self, date_formats=(*self.date_formats, *dates.order_of(values)))


def guess(header: tuple[str, ...]) -> dict[str, str]:
    """The probable column of each field, if any."""
    by_name = {_bare(name): name for name in reversed(header)}
    columns = {
        field: next((by_name[name] for name in names if name in by_name), "")
        for field, names in GUESSES.items()
    }
    if _is_own(header):
        columns["id"] = OWN_ID
    return {field: column for field, column in columns.items() if column}


def _bare(name: str) -> str:
    return " ".join(_BRACKETS.sub("", name).casefold().replace("_", " ").split())


def checked(mapping: dict[str, str], header: tuple[str, ...]) -> dict[str, str]:
    """The mapping itself; raises ValueError if it does not fit the header."""
    for field, column in mapping.items():
        if field not in FIELDS:
            raise ValueError(messages.unknown_field(field, ", ".join(FIELDS)))
        if column not in header:
            raise ValueError(messages.unknown_column_of(column, ", ".join(header)))
    if "title" not in mapping:
        raise ValueError(messages.title_column(", ".join(header)))
    return mapping


def read(
    sheet: Sheet, mapping: dict[str, str], options: Options, report: ImportReport
) -> list[Issue]:
    """The issues of a sheet; rows without a title are reported and left out."""
    options = options.fitting(
        cell
        for _, row in sheet.rows
        for field in _TIMES
        for cell in row.get(mapping.get(field, ""), ())
    )
    issues, is_own = [], _is_own(sheet.header)
    for where, row in sheet.rows:
        cells = {field: row.get(column, []) for field, column in mapping.items()}
        first = {field: values[0].strip() for field, values in cells.items() if values}
        if "title" not in first:
            report.refuse(where, messages.NO_TITLE)
            continue
        issue = _issue(where, first, cells, Times(options, report))
        issues.append(_from_export(issue, row, cells) if is_own else issue)
        for field in sorted(cells.keys() - _REPEATED):
            for value in cells[field][1:]:
                report.note(issue.id, messages.second_value(field), value)
    if is_own:
        # Lists are exported newest first. In the order of their ids, tickets get such ids again.
        issues.sort(key=lambda issue: (len(issue.id), issue.id))
    return _with_parents_by_title(issues)


def _from_export(issue: Issue, row: Cells, cells: Cells) -> Issue:
    """The issue with what only Docket's export has: categories of states, labels with commas."""
    try:
        labels = [label for cell in cells.get("labels", ()) for label in items(cell)]
    except csv.Error:
        labels = list(issue.labels)
    category = next((one for one in StateCategory if [one] == row.get(OWN_CATEGORY)), None)
    return replace(issue, labels=tuple(labels), category=category)


def _with_parents_by_title(issues: list[Issue]) -> list[Issue]:
    """The issues, with parents named by title, as some trackers do, replaced by ids."""
    ids = {issue.id for issue in issues}
    by_title = {issue.title: issue.id for issue in reversed(issues)}

    def by_id(link: IssueLink) -> IssueLink:
        if link.kind != PARENT_LINK or link.other_id in ids:
            return link
        return IssueLink(PARENT_LINK, by_title.get(link.other_id, link.other_id))

    return [replace(issue, links=tuple(by_id(link) for link in issue.links)) for issue in issues]


class Times:
    """Parses the times of one issue; keeps times that cannot be parsed as text and notes them."""

    def __init__(self, options: Options, report: ImportReport) -> None:
        self.options = options
        self.report = report
        self.unread: list[str] = []

    def moment(self, issue: str, name: str, value: str) -> int | None:
        """A time in milliseconds; None if it is missing or cannot be parsed."""
        if not value:
            return None
        try:
            return dates.moment(value, self.options.date_formats, self.options.zone)
        except (ValueError, OverflowError):
            self._keep_unread(issue, name, value)
            return None

    def day(self, issue: str, value: str) -> str | None:
        if not value:
            return None
        try:
            return dates.day(value, self.options.date_formats)
        except (ValueError, OverflowError):
            self._keep_unread(issue, "due", value)
            return None

    def _keep_unread(self, issue: str, name: str, value: str) -> None:
        self.unread.append(f"{name} {value}")
        self.report.note(issue, messages.UNKNOWN_DATE_FORMAT, value)


def priority(issue: str, word: str, report: ImportReport) -> int:
    """The priority that a word means; notes an unknown word and returns medium."""
    level = words.urgency(word)
    if level is None:
        report.note(issue, messages.UNKNOWN_PRIORITY, word)
        return MEDIUM
    return level


def _issue(where: str, first: dict[str, str], cells: Cells, times: Times) -> Issue:
    # A row without an id is identified by its title and creation time.
    digest = hashlib.sha256(f"{first['title']}\n{first.get('created_at', '')}".encode()).hexdigest()
    name = first.get("id") or f"{UNNAMED}{digest[:16]}"
    links = [IssueLink(PARENT_LINK, first["parent"])] if "parent" in first else []
    links += [IssueLink("blocks", other) for other in _listed(cells.get("blocked_by"))]
    created_at = times.moment(name, "created", first.get("created_at", ""))
    updated_at = times.moment(name, "updated", first.get("updated_at", ""))
    closed_at = times.moment(name, "closed", first.get("closed_at", ""))
    due_date = times.day(name, first.get("due_date", ""))
    return Issue(
        id=name,
        title=first["title"],
        sections=tuple(("", text) for text in cells.get("description", [])),
        status=first.get("status", "open").casefold(),
        priority=priority(name, first.get("priority", ""), times.report),
        kind=first.get("type", "task").casefold(),
        assignee=first.get("assignee", ""),
        author=first.get("author", ""),
        labels=tuple(_listed(cells.get("labels"))),
        links=tuple(links),
        comments=tuple(IssueComment("", text, None) for text in cells.get("comments", [])),
        due_date=due_date,
        created_at=created_at,
        updated_at=updated_at,
        closed_at=closed_at,
        origins=tuple(times.unread),
        where=where,
    )


def _listed(values: list[str] | None) -> list[str]:
    """The items of cells that contain lists."""
    parts = [part.strip() for value in values or () for part in _LIST.split(value)]
    return [part for part in parts if part]
