"""Receipts: what a bot had read when it changed something, kept with the event of the change.

A verb that changes a row calls ``begin`` before it does, as it locks the row; ``record`` asks
``of``. ``activity/receipts.py`` knows what bots have read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from app.audit.catalogue import REVERSIBLE
from app.core.actor import Actor
from app.database.session import unit_values

Receipt = dict[str, Any]
# The newest comments that a receipt names as not read.
NAMED = 20


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
