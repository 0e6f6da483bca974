"""JSON lines, as the tracker beads exports them: each line an issue, or a note on why it is none.

An object has id, title, description, design, notes, acceptance_criteria, status, priority (0 most
urgent to 4), issue_type, assignee, created_by, labels, dependencies, comments and times.
"""

import codecs
from collections.abc import Iterator
from typing import Any

from app.core import json_parsing
from app.importing import dates
from app.importing.issues import Issue, IssueComment, IssueLink, IssueSource
from app.importing.report import ImportReport

SECTIONS = (
    ("description", ""),
    ("design", "Design"),
    ("acceptance_criteria", "Acceptance criteria"),
    ("notes", "Notes"),
)


def read(source: IssueSource, report: ImportReport) -> Iterator[Issue]:
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
