"""Receipts: what a bot had read when it changed something, kept with the event of the change.

A verb that changes a row calls ``begin`` before it does, as it locks the row; ``record`` asks
``of``. ``activity/receipts.py`` knows what bots have read.

A change's receipt names the processes that may have shown its bot more than was stored by then
(``other_readers``). For each of them a row asks what it had shown the bot before the change. The
process answers within a second or two (``accounts/answering.py``). Once all have, nothing about
the receipt is unknown. The event itself never changes, as checkpoints cover it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from sqlalchemy import JSON, Index, Table, insert, select, text
from sqlalchemy.orm import Mapped, mapped_column

from app.audit.catalogue import REVERSIBLE
from app.core.actor import Actor
from app.database.columns import Id
from app.database.session import Base, Prepared, session, unit_values

Receipt = dict[str, Any]
# The newest comments that a receipt names as not read.
NAMED = 20
# Changes whose answers are read at once.
AT_ONCE = 500
_OPEN = text("answer IS NULL")


class VersionedKind(StrEnum):
    """What has a version that is read, and the attribute with that version."""

    TICKET = "updated_at"
    PAGE = "revision_number"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is about to be changed, or is new where ``kind`` is None."""

    project_id: str | None
    kind: VersionedKind | None = None
    row: Any = None
    # The version before the change.
    version: int = 0


@dataclass(frozen=True, slots=True)
class Begun:
    subject: Subject
    receipt: Receipt


Builder = Callable[[Actor, Subject], Receipt]
_builders: list[Builder] = []
# In the values of a unit of work: what was begun, by the id of its target.
_BEGUN = "receipts"


def install(builder: Builder) -> None:
    """Have ``builder`` make the receipts, in the transaction of the change."""
    _builders[:] = [builder]


def begin(actor: Actor, kind: VersionedKind, row: Any) -> None:
    """Note what a bot has read of a ticket or page that it is about to change."""
    values = unit_values() if actor.is_bot and actor.has_receipts else None
    if values is None:
        return
    begun = _begun(values)
    if row.id not in begun:
        subject = Subject(row.project_id, kind, row, getattr(row, kind.value))
        begun[row.id] = Begun(subject, _builders[0](actor, subject))


def of(actor: Actor, event_type: str, key: str | None, project_id: str | None) -> Receipt | None:
    """The receipt of an event about a target.

    None for what is no change of a bot, and where there was nothing to read.
    """
    has_one = actor.is_bot and actor.has_receipts and event_type in REVERSIBLE
    values = unit_values() if has_one else None
    if values is None:
        return None
    begun = _begun(values)
    # What is new has nothing to be read but the rules of its project.
    rules = f"rules:{project_id}"
    if key is None or key not in begun:
        if rules not in begun:
            subject = Subject(project_id)
            begun[rules] = Begun(subject, _builders[0](actor, subject))
        begun[key or rules] = begun[rules]
    return begun[key or rules].receipt or None


def begun_in_unit() -> Iterator[Begun]:
    """What the current unit of work has begun to change."""
    values = unit_values()
    if values is not None:
        yield from (one for one in _begun(values).values() if one.subject.kind is not None)


def _begun(values: dict[str, Any]) -> dict[str, Begun]:
    return cast("dict[str, Begun]", values.setdefault(_BEGUN, {}))


class ReceiptAnswer(Base):
    """What a process had shown the bot of a change before it; null until the process says so."""

    __tablename__ = "receipt_answers"
    __table_args__ = (Index(None, "process_id", sqlite_where=_OPEN, postgresql_where=_OPEN),)

    event_id: Mapped[str] = mapped_column(Id, primary_key=True)
    process_id: Mapped[str] = mapped_column(Id, primary_key=True)
    # What a receipt has, as far as it is more than was stored: ``ticket``, ``page`` and
    # ``house_rules`` are versions, ``comments`` ids. ``unsure`` where the process cannot tell.
    answer: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


_ASK = Prepared(insert(cast("Table", ReceiptAnswer.__table__)))


def ask(event_id: str, receipt: Receipt | None) -> None:
    """Ask the processes that a receipt names, in the transaction of the change."""
    for process_id in (receipt or {}).get("other_readers", ()):
        _ASK.all(event_id=event_id, process_id=process_id, answer=None)


def with_answers(rows: Iterable[tuple[str, Receipt | None]]) -> dict[str, Receipt | None]:
    """The receipts of these events with what processes have answered; needs a unit of work."""
    found = dict(rows)
    asked = [key for key, receipt in found.items() if receipt and receipt.get("other_readers")]
    for start in range(0, len(asked), AT_ONCE):
        answers: dict[str, dict[str, dict[str, Any]]] = {}
        statement = select(ReceiptAnswer.event_id, ReceiptAnswer.process_id, ReceiptAnswer.answer)
        of_these = ReceiptAnswer.event_id.in_(asked[start : start + AT_ONCE])
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
        merged["comments"] = {**comments, "read": read, "unread": unread[-NAMED:]}
    return merged
