"""What it takes to undo an event: a plan, made from what the event says and from what is there now.

A plan touches nothing. It names each value that is not what the event left, so that a person can
decide; carried out, it calls the verbs that anyone calls, so every rule holds and every write is
recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import Conflict

# Of ``Difference.field``: other events of the thing that the event created.
SINCE = "since"


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that changed since: what undoing puts back, what the event left, what is there now.

    ``field`` is the API's name.
    """

    field: str
    back: Any
    left: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Plan:
    """How to undo an event; ``act`` is None where nothing of it is left."""

    act: Callable[[], object] | None
    differences: tuple[Difference, ...] = ()


NOTHING_LEFT = Plan(None)

Reversal = Callable[[Actor, AuditEvent], Plan]


def impossible(message: str) -> Conflict:
    """What is said where an event cannot be undone any more."""
    return Conflict("invariant_violation", message)


def one_value(field: str, back: Any, left: Any, now: Any, act: Callable[[], object]) -> Plan:
    """The plan for an event that changed one value."""
    if now == back:
        return NOTHING_LEFT
    return Plan(act, () if now == left else (Difference(field, back, left, now),))
