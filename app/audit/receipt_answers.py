"""Answers of other processes about what they had shown a bot before its change.

A row asks each process that a receipt names. The process answers within a second or two
(``accounts/answering.py``). Once all have answered, nothing about the receipt is unknown. The event
itself never changes, as checkpoints cover it.
"""

from collections.abc import Iterable
from typing import Any, cast

from sqlalchemy import JSON, Index, Table, insert, select, text
from sqlalchemy.orm import Mapped, mapped_column

from app.audit.receipts import MAX_NAMED_COMMENTS, Receipt
from app.database.columns import Id
from app.database.session import Base, Prepared, session

# Changes whose answers one statement reads.
BATCH = 500
_OPEN = text("answer IS NULL")


class ReceiptAnswer(Base):
    """A process's answer about what it had shown a bot before a change; null until it answers."""

    __tablename__ = "receipt_answers"
    __table_args__ = (Index(None, "process_id", sqlite_where=_OPEN, postgresql_where=_OPEN),)

    event_id: Mapped[str] = mapped_column(Id, primary_key=True)
    process_id: Mapped[str] = mapped_column(Id, primary_key=True)
    # Reads beyond those of the receipt: ``ticket``, ``page`` and ``house_rules`` are versions,
    # ``comments`` are ids. ``unsure`` if the process cannot tell.
    answer: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


_ASK = Prepared(insert(cast("Table", ReceiptAnswer.__table__)))


def ask(event_id: str, process_ids: Iterable[str]) -> None:
    """Ask these processes about the receipt of an event, in the transaction of the change."""
    for process_id in process_ids:
        _ASK.all(event_id=event_id, process_id=process_id, answer=None)


def with_answers(rows: Iterable[tuple[str, Receipt | None]]) -> dict[str, Receipt | None]:
    """The receipts of these events merged with the answers; needs a unit of work."""
    found = dict(rows)
    event_ids = [key for key, receipt in found.items() if receipt and receipt.get("other_readers")]
    for start in range(0, len(event_ids), BATCH):
        answers: dict[str, dict[str, dict[str, Any]]] = {}
        statement = select(ReceiptAnswer.event_id, ReceiptAnswer.process_id, ReceiptAnswer.answer)
        of_these = ReceiptAnswer.event_id.in_(event_ids[start : start + BATCH])
        for row in session.execute(statement.where(of_these, ReceiptAnswer.answer.is_not(None))):
            answers.setdefault(row.event_id, {})[row.process_id] = row.answer
        for event_id, of_event in answers.items():
            found[event_id] = _with_answers(found[event_id] or {}, of_event)
    return found


def answered_receipt(event_id: str, receipt: Receipt | None) -> Receipt | None:
    """``with_answers`` for one event."""
    return with_answers([(event_id, receipt)])[event_id]


def _with_answers(receipt: Receipt, answers: dict[str, dict[str, Any]]) -> Receipt:
    sure = {key for key, answer in answers.items() if not answer.get("unsure")}
    readers = [one for one in receipt["other_readers"] if one not in sure]
    merged: Receipt = {**receipt, "other_readers": readers}
    shown = set[str]()
    for answer in answers.values():
        for part in ("ticket", "page", "house_rules"):
            if part in answer:
                read = max(merged[part]["read"], answer[part])
                merged[part] = {**merged[part], "read": read}
        shown.update(answer.get("comments", ()))
    if shown:
        comments = merged["comments"]
        all_unread = [*comments.get("more_unread", ()), *comments["unread"]]
        unread = [one for one in all_unread if one[0] not in shown]
        read = comments["count"] - len(unread)
        merged["comments"] = {**comments, "read": read, "unread": unread[-MAX_NAMED_COMMENTS:]}
    return merged
