"""Receipts: what a bot had read when it changed something, stored with the event of the change.

A loader that locks a row calls ``begin``, a loader that reads a project to write in it calls
``begin_in``, and ``record`` calls ``of``. ``activity/receipts.py`` finds what bots have read. Its
statement reads the project too, so that a receipt costs no extra statement.

A receipt names the processes that may have shown its bot more than was stored at that time
(``other_readers``). ``receipt_answers.py`` has their answers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from app.audit.event_types import REVERSIBLE
from app.core.actor import Actor
from app.database.session import unit_values

Receipt = dict[str, Any]
# A receipt names this many of the newest unread comments.
MAX_NAMED_COMMENTS = 20


class VersionedKind(StrEnum):
    """Kinds of items with a version, each with the attribute that holds it."""

    TICKET = "updated_at"
    PAGE = "revision_number"


@dataclass(frozen=True, slots=True)
class Subject:
    """The item that is about to change; if ``kind`` is None, it is new."""

    project_id: str | None
    kind: VersionedKind | None = None
    id: str = ""
    row: Any = None
    # The version before the change.
    version: int = 0
    # Used instead of ``project_id``.
    project_key: str | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    subject: Subject
    receipt: Receipt
    # A ``SeenProject``, or None.
    project: Any


Builder = Callable[[Actor, Subject], Begun]
_builders: list[Builder] = []
# The key in a unit of work's values: begun receipts, by the id of their target.
_BEGUN = "receipts"


def install(builder: Builder) -> None:
    """Have ``builder`` make the receipts, in the transaction of the change."""
    _builders[:] = [builder]


def begin(actor: Actor, kind: VersionedKind, row: Any) -> Any:
    """Note what a bot has read of a ticket or page that it is about to change.

    Returns the ``SeenProject`` of the row, if it has one and the receipt's statement read it.
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
    """Note what a bot has read before it writes in a project; returns the project as ``begin``."""
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

    None if the event is no change by a bot, or if there was nothing to read.
    """
    begun = _begun(actor) if event_type in REVERSIBLE else None
    if begun is None:
        return None
    # For a new item, only the house rules of its project can be read.
    rules = f"rules:{project_id}"
    if key is None or key not in begun:
        if rules not in begun:
            begun[rules] = _builders[0](actor, Subject(project_id))
        begun[key or rules] = begun[rules]
    return begun[key or rules].receipt or None


def begun_in_unit() -> Iterator[Begun]:
    """The existing items that the current unit of work has begun to change."""
    begun: dict[str, Begun] = (unit_values() or {}).get(_BEGUN, {})
    yield from (one for one in begun.values() if one.subject.kind is not None)


def _begun(actor: Actor) -> dict[str, Begun] | None:
    values = unit_values() if actor.is_bot and actor.has_receipts else None
    return None if values is None else cast("dict[str, Begun]", values.setdefault(_BEGUN, {}))
