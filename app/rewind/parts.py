"""The parts by which a rewind undoes an event, each with its earlier and its present value."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.rewind import messages
from app.rewind.others import EXISTS, Key, OtherWrite, OtherWrites
from app.rewind.scope import RewindScope

# Longer texts are compared by hash, so that a preview does not keep them.
MAX_KEPT_LENGTH = 200


@dataclass(frozen=True, slots=True)
class RewindPart:
    """One value that an event changed.

    ``name`` distinguishes it from the event's other parts. ``obstacle`` is the reason not to put it
    back: a later write by others, or a sentence.
    """

    name: str
    key: Key
    back: Any
    now: Any
    obstacle: OtherWrite | str | None = None


@dataclass(slots=True)
class RewindView:
    """The data by which an event is judged.

    A preview writes nothing, so ``foreseen`` holds the values after the undo of newer events.
    """

    scope: RewindScope
    others: OtherWrites
    foreseen: dict[Key, Any] = field(default_factory=dict)

    def now(self, key: Key, value: Any) -> Any:
        """The value of a key once the newer events are taken back; ``value`` is the present one."""
        return self.foreseen.get(key, short(value))

    def foresee(self, part: RewindPart) -> None:
        """Note that a part will be put back; also index a parent or a relation by its tickets."""
        key = part.key
        self.foreseen[key] = short(part.back)
        if key[-1] == "parent_ticket_id" and part.back:
            self.foreseen.setdefault(("below", part.back), set()).add(key[1])
        if key[0] == "relation":
            for end in key[1:3]:
                self.foreseen.setdefault(("related", end), set()).add(key)

    def foreseen_at(self, what: Literal["below", "related"], ticket_id: str) -> set[Any]:
        """The tickets that will be below a ticket, or the relations that will be changed."""
        found: set[Any] = self.foreseen.get((what, ticket_id), set())
        return found

    def exists(self, subject: Key, *, is_there: bool) -> bool:
        return bool(self.now((*subject, EXISTS), is_there))


def short(value: Any) -> Any:
    """The value, or the hash of a long text."""
    if isinstance(value, str) and len(value) > MAX_KEPT_LENGTH:
        return ("text", sha256(value.encode()).digest())
    return value


@dataclass(frozen=True, slots=True)
class Way:
    """How events of one type are undone: their parts, and the verb that puts parts back."""

    parts: Callable[[RewindView, AuditEvent], Iterator[RewindPart]]
    act: Callable[[Actor, AuditEvent, Sequence[RewindPart]], object]


def existing(subject: Key, *, back: bool, now: bool, **more: Any) -> RewindPart:
    return RewindPart(EXISTS, (*subject, EXISTS), back, now, **more)


def gone(view: RewindView, subject: Key, noun: str) -> str | None:
    """The obstacle of a part whose subject is deleted; None if a rewind deleted it."""
    key = (*subject, EXISTS)
    is_rewound = key in view.others.taken_back and key not in view.others.last
    return None if is_rewound else messages.deleted(noun)
