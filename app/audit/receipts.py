"""Receipts: what a bot had read when it changed something, kept with the event of the change.

A loader that locks a row calls ``begin``, one that reads a project to write in it ``begin_in``;
``record`` asks ``of``. ``activity/receipts.py`` knows what bots have read. Its statement reads the
project too, so that a receipt costs no statement of its own.

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
    id: str = ""
    row: Any = None
    # The version before the change.
    version: int = 0
    # In place of ``project_id``.
    project_key: str | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    subject: Subject
    receipt: Receipt
    # A ``SeenProject``; None without one.
    project: Any


Builder = Callable[[Actor, Subject], Begun]
_builders: list[Builder] = []
# In the values of a unit of work: what was begun, by the id of its target.
_BEGUN = "receipts"


def install(builder: Builder) -> None:
    """Have ``builder`` make the receipts, in the transaction of the change."""
    _builders[:] = [builder]


def begin(actor: Actor, kind: VersionedKind, row: Any) -> Any:
    """Note what a bot has read of a ticket or page that it is about to change.

    The ``SeenProject`` of the row, if it has one and was read for this.
    """
    begun = _begun(actor)
    if begun is None:
        return None
    key = row.id
    if key not in begun:
        subject = Subject(row.project_id, kind, key, row, getattr(row, kind.value))
        begun[key] = _builders[0](actor, subject)
    return begun[key].project


def begin_in(actor: Actor, *, project_id: str | None = None, key: str | None = None) -> Any:
    """Note what a bot has read that is about to write in a project, which is returned as above."""
    begun = _begun(actor)
    if begun is None:
        return None
    for one in begun.values():
        if one.project is not None and one.project.id == project_id:
            return one.project
    made = _builders[0](actor, Subject(project_id, project_key=key))
    if made.project is not None:
        begun[f"rules:{made.project.id}"] = made
    return made.project


def of(actor: Actor, event_type: str, key: str | None, project_id: str | None) -> Receipt | None:
    """The receipt of an event about a target.

    None for what is no change of a bot, and where there was nothing to read.
    """
    begun = _begun(actor) if event_type in REVERSIBLE else None
    if begun is None:
        return None
    # What is new has nothing to be read but the rules of its project.
    rules = f"rules:{project_id}"
    if key is None or key not in begun:
        if rules not in begun:
            begun[rules] = _builders[0](actor, Subject(project_id))
        begun[key or rules] = begun[rules]
    return begun[key or rules].receipt or None


def begun_in_unit() -> Iterator[Begun]:
    """What the current unit of work has begun to change."""
    begun: dict[str, Begun] = (unit_values() or {}).get(_BEGUN, {})
    yield from (one for one in begun.values() if one.subject.kind is not None)


def _begun(actor: Actor) -> dict[str, Begun] | None:
    values = unit_values() if actor.is_bot and actor.has_receipts else None
    return None if values is None else cast("dict[str, Begun]", values.setdefault(_BEGUN, {}))


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
