"""Receipts: what a bot had read when it changed something, kept with the event of the change.

A loader that locks a row calls ``begin``, one that reads a project to write in it ``begin_in``;
``record`` asks ``of``. ``activity/receipts.py`` knows what bots have read. Its statement reads the
project too, so that a receipt costs no statement of its own.

A receipt names the processes that may have shown its bot more than was stored by then
(``other_readers``). ``receipt_answers.py`` has what they answer.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from app.audit.event_types import REVERSIBLE
from app.core.actor import Actor
from app.database.session import unit_values

Receipt = dict[str, Any]
# A receipt names the newest that were not read.
MAX_NAMED_COMMENTS = 20


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

    None where a bot changed nothing, and where there was nothing to read.
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
