"""Plans for undoing an event, made from its payload and the current values.

A plan writes nothing. It names each value that differs from what the event left, so that a person
can decide. Its ``act`` calls ordinary verbs, so every rule applies and every write is recorded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import Conflict
from app.tickets.models import Comment, Ticket
from app.wiki.models import WikiPage

# A ``Difference.field``: later events on what the event created.
SINCE = "since"


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that changed later: what undo puts back, what the event left, and the present value.

    ``field`` is the name of the API.
    """

    field: str
    back: Any
    left: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Plan:
    """How to undo an event; ``act`` is None if there is nothing left to undo."""

    act: Callable[[], object] | None
    differences: tuple[Difference, ...] = ()


NOTHING_LEFT = Plan(None)

Reversal = Callable[[Actor, AuditEvent], Plan]


def impossible(message: str) -> Conflict:
    """The error for an event that cannot be undone."""
    return Conflict("invariant_violation", message)


def one_value(field: str, back: Any, left: Any, now: Any, act: Callable[[], object]) -> Plan:
    """The plan for an event that changed one value."""
    if now == back:
        return NOTHING_LEFT
    return Plan(act, () if now == left else (Difference(field, back, left, now),))


def values_to_put_back(
    row: object, changes: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], tuple[Difference, ...]]:
    """The earlier values of an event's changes that are not in place, and the differences."""
    values: dict[str, Any] = {}
    differences: list[Difference] = []
    for name, change in changes.items():
        now = getattr(row, name)
        if now == change["from"]:
            continue
        values[name] = change["from"]
        if now != change["to"]:
            differences.append(Difference(name, change["from"], change["to"], now))
    return values, tuple(differences)


def put_back(
    row: object, changes: Mapping[str, Mapping[str, Any]], update: Callable[..., object]
) -> Plan:
    """The plan for an event that changed these fields; ``update`` gets the earlier values."""
    values, differences = values_to_put_back(row, changes)
    return Plan(lambda: update(**values), differences) if values else NOTHING_LEFT


def changed_since(row: object, event: AuditEvent, *fields: str) -> tuple[Difference, ...]:
    """The fields whose values differ from those with which the event created the row."""
    changes = {name: {"from": None, "to": event.payload[name]} for name in fields}
    return values_to_put_back(row, changes)[1]


def deleting(
    load: Callable[[AuditEvent], Ticket | Comment | WikiPage],
    delete: Callable[[Actor, str], object],
) -> Reversal:
    """Undo of an event that restored a row: delete the row again."""

    def reversal(actor: Actor, event: AuditEvent) -> Plan:
        row = load(event)
        return NOTHING_LEFT if row.is_deleted else Plan(lambda: delete(actor, row.id))

    return reversal


def restoring(
    load: Callable[[AuditEvent], Ticket | Comment | WikiPage],
    restore: Callable[[Actor, str], object],
) -> Reversal:
    """Undo of an event that deleted a row: restore it."""

    def reversal(actor: Actor, event: AuditEvent) -> Plan:
        row = load(event)
        return Plan(lambda: restore(actor, row.id)) if row.is_deleted else NOTHING_LEFT

    return reversal
