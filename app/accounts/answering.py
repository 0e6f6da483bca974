"""Answers to receipts that ask what this process had shown a bot before the bot's change.

Only times order a read against a change in another process. Times are by the database's clock,
which a process knows to within the duration of the query for it. If that is too coarse for an
answer, or the clock was set, the process is not sure. The version that a change replaced was
shown before the change, whatever the times say.
"""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import bindparam, select, update

from app.accounts import bot_reads, read_notes
from app.accounts.bot_reads import Shown
from app.accounts.read_notes import NotedRead, Notes
from app.audit.models import AuditEvent
from app.audit.receipt_answers import ReceiptAnswer
from app.database.session import reading, run_write, session

BATCH = 200
# Clock readings per batch of answers; the fastest one is the most exact.
CLOCK_READINGS = 3
# The clock counts as set if it moved by more than this relative to the process's clock.
STEP_US = 250_000
# The events of changes that give their subject a new version.
REPLACING = ("ticket.updated", "ticket.state_changed", "ticket.assigned", "wiki.updated")


def answer_receipts() -> None:
    """Answer all open questions to this process; opens units of work."""
    kept = read_notes.notes()
    if not kept.has_readers:
        return
    while True:
        with reading():
            questions = _open_questions(kept.process_id)
            clock = _compare_clocks(kept, CLOCK_READINGS if questions else 1)
        if not questions:
            break
        log = kept.log_of({row.user_id for row in questions})
        answers = [(row.event_id, _answer(row, log[row.user_id], clock)) for row in questions]
        run_write(partial(_store, kept.process_id, answers), async_commit=True)
        if len(questions) < BATCH:
            break
    kept.forget_old()


# The reads of a bot that this process noted, in order; None if the log is incomplete or uncertain.
Log = Sequence[NotedRead] | None


class _SharedClock:
    """Converts ``time.monotonic`` to the database's clock, in microseconds."""

    def __init__(self, ahead: int, slack: int) -> None:
        self._ahead, self._slack = ahead, slack

    def span(self, moment: float) -> tuple[int, int]:
        """The earliest and latest database time of a ``time.monotonic`` value."""
        latest = int(moment * 1_000_000) + self._ahead
        return latest - self._slack, latest


def _compare_clocks(kept: Notes, readings: int) -> _SharedClock:
    slack, ahead = min(_read_clock() for _ in range(readings))
    is_set = kept.clock_ahead is not None and abs(kept.clock_ahead - ahead) > STEP_US + slack
    kept.clock_ahead = ahead
    if is_set:
        kept.forget_order()
    return _SharedClock(ahead, slack)


def _read_clock() -> tuple[int, int]:
    """How long the reading took, and how far the clock is ahead at most, in microseconds."""
    before = time.monotonic()
    now = read_notes.shared_us()
    slack = int((time.monotonic() - before) * 1_000_000) + 1
    return slack, now - int(before * 1_000_000)


_OPEN_QUESTIONS = (
    select(
        ReceiptAnswer.event_id,
        AuditEvent.event_type,
        AuditEvent.actor_user_id.label("user_id"),
        AuditEvent.ticket_id,
        AuditEvent.receipt,
    )
    .join(AuditEvent, AuditEvent.id == ReceiptAnswer.event_id)
    .where(ReceiptAnswer.process_id == bindparam("process_id"), ReceiptAnswer.answer.is_(None))
    .order_by(ReceiptAnswer.event_id)
    .limit(BATCH)
)


def _open_questions(process_id: str) -> Sequence[Any]:
    return session.execute(_OPEN_QUESTIONS, {"process_id": process_id}).all()


def _store(process_id: str, answers: Iterable[tuple[str, dict[str, Any]]]) -> None:
    for event_id, answer in answers:
        session.execute(
            update(ReceiptAnswer)
            .where(ReceiptAnswer.event_id == event_id, ReceiptAnswer.process_id == process_id)
            .values(answer=answer)
            .execution_options(synchronize_session=False)
        )


def _answer(row: Any, log: Log, clock: _SharedClock) -> dict[str, Any]:
    """The reads that a receipt lacks; with ``unsure`` if the times of some reads leave it open."""
    if log is None:
        return {"unsure": True}
    moment = row.receipt["at"]
    surely, perhaps = dict[str, Shown](), dict[str, Shown]()
    for noted in log:
        earliest, latest = clock.span(noted.moment)
        replaced = _replaced_version(row, noted.shown.subject)
        if replaced is not None:
            # The version shows which came first, whatever the clock says.
            earliest = latest = moment + (-1 if noted.shown.version <= replaced else 1)
        if earliest < moment:
            _add(perhaps, noted.shown)
        if latest < moment:
            _add(surely, noted.shown)
    answer = _lacking(row, surely)
    return answer if answer == _lacking(row, perhaps) else answer | {"unsure": True}


def _add(reads: dict[str, Shown], shown: Shown) -> None:
    known = reads.get(shown.subject)
    reads[shown.subject] = shown if known is None else known.with_more(shown)


def _replaced_version(row: Any, subject: str) -> int | None:
    """The version of a subject that the change replaced; it cannot be shown after the change."""
    if row.event_type not in REPLACING:
        return None
    receipt = row.receipt
    if "ticket" in receipt and subject == bot_reads.of_ticket(row.ticket_id):
        return int(receipt["ticket"]["version"])
    if "page" in receipt and subject == bot_reads.of_page(receipt["page"]["page_id"]):
        return int(receipt["page"]["revision"])
    return None


def _lacking(row: Any, reads: dict[str, Shown]) -> dict[str, Any]:
    receipt = row.receipt
    found: dict[str, Any] = {}
    if "ticket" in receipt:
        ticket = receipt["ticket"]
        read = _read_version(reads, bot_reads.of_ticket(row.ticket_id), ticket["version"])
        if read > ticket["read"]:
            found["ticket"] = read
    for name in ("page", "house_rules"):
        if name in receipt:
            page = receipt[name]
            read = _read_version(reads, bot_reads.of_page(page["page_id"]), page["revision"])
            if read > page["read"]:
                found[name] = read
    if "comments" in receipt:
        shown = reads.get(bot_reads.of_comments(row.ticket_id))
        unread = [*receipt["comments"].get("more_unread", ()), *receipt["comments"]["unread"]]
        marks = shown.marks if shown else frozenset()
        comments = [one for one, _ in unread if bot_reads.mark_of(one) in marks]
        if comments:
            found["comments"] = comments
    return found


def _read_version(reads: dict[str, Shown], subject: str, at_most: int) -> int:
    shown = reads.get(subject)
    return min(shown.version, at_most) if shown else 0
