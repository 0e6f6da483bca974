"""What bots have read, by subject: the version of a ticket or page, and single comments.

Only what a response showed whole counts as read. Comments are marked one by one, as a bot may read
any page of them. ``activity/receipts.py`` compares a change with these rows. ``read_notes.py`` has
the reads that a process has not stored yet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any, cast

from sqlalchemy import Table, Text, bindparam, case, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.accounts.models import BotRead
from app.core.clock import now_ms
from app.database.columns import Id
from app.database.session import Prepared, is_postgresql

GAP = "gap"
# The mark of a comment: the time in its id, and the last characters of the id.
_TIME, _END = 12, 8
MARK = _TIME + _END
# Marks kept per ticket, of the newest comments; trimmed at twice this. Receipts use fewer.
MAX_MARKS = 500
_ID_AND_TIME = itemgetter("id", "updated_at")


@dataclass(frozen=True, slots=True)
class Shown:
    """A bot's read of a version of a subject, or of comments of a ticket."""

    subject: str
    version: int = 0
    marks: frozenset[str] = frozenset()

    def with_more(self, other: "Shown") -> "Shown":
        """Combine two reads of one subject; returns one of them if it covers the other."""
        if self.covers(other):
            return self
        if other.covers(self):
            return other
        newest = max(self.version, other.version)
        return Shown(self.subject, newest, self.marks | other.marks)

    def covers(self, other: "Shown") -> bool:
        return self.version >= other.version and self.marks >= other.marks


def of_ticket(ticket_id: str) -> str:
    return f"ticket:{ticket_id}"


def of_comments(ticket_id: str) -> str:
    return f"comments:{ticket_id}"


def of_page(page_id: str) -> str:
    return f"page:{page_id}"


def mark_of(comment_id: str) -> str:
    return comment_id[:8] + comment_id[9:13] + comment_id[-_END:]


def marks_in(seen: str) -> frozenset[str]:
    return frozenset(seen[at : at + MARK] for at in range(0, len(seen), MARK))


def trimmed(seen: str) -> str:
    """The marks of the newest comments, at most ``MAX_MARKS``."""
    newest: Sequence[str] = sorted(marks_in(seen))[-MAX_MARKS:]
    return "".join(newest)


def ticket_seen(ticket_id: str, updated_at: int) -> list[Shown]:
    return [_ticket(ticket_id, updated_at)]


def tickets_seen(rows: Iterable[dict[str, Any]]) -> list[Shown]:
    """The reads of tickets in the form of REST."""
    return list(map(_listed, map(_ID_AND_TIME, rows)))


# Cached, as tickets are read again and again; ``Notes.fresh`` knows an object by its identity.
@lru_cache(maxsize=8192)
def _ticket(ticket_id: str, updated_at: int) -> Shown:
    return Shown(of_ticket(ticket_id), updated_at)


@lru_cache(maxsize=8192)
def _listed(shown: tuple[str, str]) -> Shown:
    ticket_id, updated_at = shown
    moment = datetime.fromisoformat(updated_at)
    return _ticket(ticket_id, int(moment.timestamp()) * 1000 + moment.microsecond // 1000)


def comments_seen(rows: Iterable[dict[str, Any]]) -> list[Shown]:
    """The reads of comments in the form of REST."""
    marks: dict[str, set[str]] = {}
    for row in rows:
        marks.setdefault(row["ticket_id"], set()).add(mark_of(row["id"]))
    return [Shown(of_comments(key), marks=frozenset(found)) for key, found in marks.items()]


def events_seen(rows: Iterable[dict[str, Any]]) -> list[Shown]:
    """The reads of comments in a feed: their events have the whole text."""
    return comments_seen(
        {"id": row["payload"]["comment_id"], "ticket_id": row["ticket_id"]}
        for row in rows
        if row["event_type"] in ("comment.created", "comment.updated")
    )


def page_seen(page_id: str, revision_number: int) -> list[Shown]:
    return [Shown(of_page(page_id), revision_number)]


READS = cast("Table", BotRead.__table__)
_KEY = (
    READS.c.user_id == bindparam("user_id", type_=Id()),
    READS.c.subject == bindparam("subject"),
)
_SEEN = Prepared(select(READS.c.version, READS.c.seen).where(*_KEY))


def _store(dialect: Any) -> Prepared:
    inserted = dialect.insert(READS)
    new, old = inserted.excluded, READS.c
    is_later = new.read_at >= old.read_at
    kept = {
        "read_at": case((is_later, new.read_at), else_=old.read_at),
        "marks": case((is_later, new.marks), else_=old.marks),
        "version": case((new.version > old.version, new.version), else_=old.version),
        # The marks are usually new; a duplicate does no harm.
        "seen": old.seen + new.seen,
        "seen_at": case((new.seen_at > old.seen_at, new.seen_at), else_=old.seen_at),
    }
    return Prepared(
        inserted.on_conflict_do_update(index_elements=["user_id", "subject"], set_=kept)
    )


_STORE_SQLITE, _STORE_POSTGRESQL = _store(sqlite), _store(postgresql)


def store(user_id: str, seen: Shown, *, read_at: int = 0, marks: str = "") -> None:
    """Store a read in the current transaction; ``read_at`` and ``marks`` are for ``unread``."""
    statement = _STORE_POSTGRESQL if is_postgresql() else _STORE_SQLITE
    key = {"user_id": user_id, "subject": seen.subject}
    before, added = "", ""
    if seen.marks:
        row = _SEEN.first(**key)
        before = row.seen if row is not None else ""
        added = "".join(sorted(seen.marks - marks_in(before)))
    statement.all(
        **key, read_at=read_at, marks=marks, version=seen.version, seen=added, seen_at=now_ms()
    )
    if len(before) > 2 * MAX_MARKS * MARK:
        # Has no effect if another process has added marks meanwhile.
        _TRIM.all(**key, before=before + added, after=trimmed(before + added))


_TRIM = Prepared(
    update(READS)
    .where(*_KEY, READS.c.seen == bindparam("before", type_=Text))
    .values(seen=bindparam("after", type_=Text))
)
_SET_PART = Prepared(update(READS).where(*_KEY).values(seen=bindparam("part")))


def store_part(user_id: str, page_id: str, revision: int, part: tuple[int, int, int]) -> None:
    """Store that a bot read part of a page: start, end and the length of the whole text.

    The page counts as read once contiguous parts from the beginning reach its end.
    """
    start, end, length = part
    subject = of_page(page_id)
    row = _SEEN.first(user_id=user_id, subject=subject)
    known, _, reached = (row.seen if row is not None else "").partition(":")
    before = int(reached) if known == str(revision) else 0
    so_far = max(before, end) if start <= before else before
    store(user_id, Shown(subject, revision if so_far >= length else 0))
    _SET_PART.all(user_id=user_id, subject=subject, part=f"{revision}:{so_far}")


def store_gap(user_ids: Iterable[str], moment: int) -> None:
    """Store that reads of these bots up to a time (ms) may be missing."""
    for user_id in user_ids:
        store(user_id, Shown(GAP, moment))
