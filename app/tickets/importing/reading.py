"""Reading the file: each line an issue, or a note on why it is none."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core import strict_json
from app.core.clock import now_ms
from app.tickets.importing.report import Report


@dataclass(frozen=True, slots=True)
class Link:
    """A dependency: this issue depends on, or belongs to, another."""

    kind: str
    other_id: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment as it was written elsewhere."""

    author: str
    text: str
    written_at: int | None


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue of the file; times in milliseconds."""

    id: str
    title: str
    sections: tuple[tuple[str, str], ...]
    status: str
    priority: int
    kind: str
    assignee: str
    author: str
    labels: tuple[str, ...]
    links: tuple[Link, ...]
    remarks: tuple[Remark, ...]
    created_at: int | None
    updated_at: int | None
    closing: str
    is_deleted: bool


SECTIONS = (
    ("description", ""),
    ("design", "Design"),
    ("acceptance_criteria", "Acceptance criteria"),
    ("notes", "Notes"),
)


def read(lines: Iterable[bytes], report: Report) -> Iterator[Issue]:
    """The issues of a file; a line that is none is noted and passed over."""
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            issue = _issue(strict_json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            report.note(f"line {number}", "is not an issue", str(error))
            continue
        if issue.id in seen:
            report.note(issue.id, "stands in the file twice; the first one counts")
            continue
        seen.add(issue.id)
        yield issue


def _issue(found: Any) -> Issue:
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
            Link(_text(link, "type"), _text(link, "depends_on_id"))
            for link in found.get("dependencies") or ()
        ),
        remarks=tuple(
            Remark(_text(remark, "author"), _text(remark, "text"), _time(remark.get("created_at")))
            for remark in found.get("comments") or ()
        ),
        created_at=_time(found.get("created_at")),
        updated_at=_time(found.get("updated_at")),
        closing=_text(found, "close_reason"),
        is_deleted=bool(found.get("deleted_at")),
    )


def _text(found: dict[str, Any], key: str) -> str:
    value = found.get(key)
    return value.replace("\x00", "") if isinstance(value, str) else ""


def _time(value: Any) -> int | None:
    """Milliseconds of an ISO 8601 time, never in the future; None where there is none."""
    if not isinstance(value, str) or not value:
        return None
    moment = int(datetime.fromisoformat(value).timestamp() * 1000)
    return max(0, min(moment, now_ms()))
