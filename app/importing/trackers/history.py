"""The history of an issue in the other tracker, as a comment on its ticket.

The audit log only records what happened here, so it gets no events of the other tracker.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.core import text
from app.core.clock import iso
from app.importing.issues import IssueComment
from app.importing.trackers import messages
from app.tickets.importing import history_text

MAX_LINES = 200
MAX_LINE_LENGTH = 300
_MARKUP = re.compile(r"([\\`*_\[\]<>~|])")


@dataclass(frozen=True, slots=True)
class PastChange:
    """One change: when (ms), by whom, and what, such as ``added label bug``."""

    at: int
    who: str
    what: str


def as_comment(tracker: str, changes: Iterable[PastChange]) -> IssueComment | None:
    """A comment with the newest changes, oldest first, at the time of the last; None if empty."""
    ordered = sorted(changes, key=lambda change: change.at)
    if not ordered:
        return None
    first, last = _day(ordered[0]), _day(ordered[-1])
    span = first if first == last else messages.days(first, last)
    count = len(ordered)
    shown = ordered[-MAX_LINES:]
    earlier = count - len(shown)
    lines = (
        [messages.earlier_changes(earlier, text.pluralize(earlier, "changes"))] if earlier else []
    )
    about = messages.changes_in(count, text.pluralize(count, "changes"), span)
    body = history_text(tracker, about, [*lines, *map(_line, shown)])
    return IssueComment("", body, ordered[-1].at)


def _day(change: PastChange) -> str:
    return iso(change.at)[:10]


def _line(change: PastChange) -> str:
    when = iso(change.at)[:16].replace("T", " ")
    what = " ".join(f"{change.who or messages.SOMEONE} {change.what}".split())
    if len(what) > MAX_LINE_LENGTH:
        what = what[: MAX_LINE_LENGTH - 1] + "…"
    return f"{when} " + _MARKUP.sub(r"\\\1", what)


def with_history(
    comments: Iterable[IssueComment], tracker: str, changes: Iterable[PastChange]
) -> tuple[IssueComment, ...]:
    """The comments and the history, ordered by time."""
    history = as_comment(tracker, changes)
    every = [*comments, *([history] if history else [])]
    return tuple(sorted(every, key=lambda one: one.written_at or 0))
