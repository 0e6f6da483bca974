"""What happened to an issue in the other tracker, as a comment of its ticket.

The audit log says what happened here, so it takes no events of the past.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.core.clock import iso
from app.importing.issues import IssueComment

MOST_LINES = 200
LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class PastChange:
    """One change: when (ms), by whom, and what, such as ``added label bug``."""

    at: int
    who: str
    what: str


def as_comment(tracker: str, changes: Iterable[PastChange]) -> IssueComment | None:
    """The newest changes, oldest first, at the time of the last one; None if there are none."""
    ordered = sorted(changes, key=lambda change: change.at)
    if not ordered:
        return None
    shown = ordered[-MOST_LINES:]
    lines = [f"**History in {tracker}**", ""]
    if len(shown) < len(ordered):
        lines.append(f"- {len(ordered) - len(shown)} earlier changes")
    lines += [_line(change) for change in shown]
    return IssueComment("", "\n".join(lines), ordered[-1].at)


def _line(change: PastChange) -> str:
    when = iso(change.at)[:16].replace("T", " ")
    what = " ".join(change.what.split())
    if len(what) > LONGEST_LINE:
        what = what[: LONGEST_LINE - 1] + "…"
    return f"- {when} {change.who or 'someone'} {what}"


def with_history(
    comments: Iterable[IssueComment], tracker: str, changes: Iterable[PastChange]
) -> tuple[IssueComment, ...]:
    """The comments by time, the history among them."""
    history = as_comment(tracker, changes)
    every = [*comments, *([history] if history else [])]
    return tuple(sorted(every, key=lambda one: one.written_at or 0))
