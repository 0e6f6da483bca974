"""The parts by which a rewind undoes an event, each with its earlier and its present value."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.ids import UUID_PATTERN
from app.rewind import messages
from app.rewind.others import EXISTS, Key, OtherWrite, OtherWrites
from app.rewind.scope import RewindScope

# Longer texts are compared by hash, so that a preview does not keep them.
MAX_KEPT_LENGTH = 200
_FILE_ADDRESS = re.compile(rf"/files/({UUID_PATTERN.pattern})")


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
    # By file id: the texts that show the file, or showed it before newer events were undone.
    showing: dict[str, set[Key]] = field(default_factory=dict)

    def now(self, key: Key, value: Any) -> Any:
        """The value of a key once the newer events are taken back; ``value`` is the present one."""
        return self.foreseen.get(key, short(value))

    def foresee(self, part: RewindPart) -> None:
        """Note that a part will be put back.

        Also indexes a parent or a relation by its tickets, and a text by the files that it shows.
        """
        key = part.key
        self.foreseen[key] = short(part.back)
        if isinstance(part.back, str):
            self.foreseen[(*key, "files")] = files = shown_files(part.back)
            for file_id in files:
                self.foreseen.setdefault(("showing", file_id), set()).add(key)
        if key[-1] == "parent_ticket_id" and part.back:
            self.foreseen.setdefault(("below", part.back), set()).add(key[1])
        if key[0] == "relation":
            for end in key[1:3]:
                self.foreseen.setdefault(("related", end), set()).add(key)

    def foreseen_at(self, what: Literal["below", "related"], ticket_id: str) -> set[Any]:
        """The tickets that will be below a ticket, or the relations that will be changed."""
        found: set[Any] = self.foreseen.get((what, ticket_id), set())
        return found

    def was_put_back(self, part: RewindPart) -> None:
        """Note the files that a text shows again."""
        if isinstance(part.back, str):
            for file_id in shown_files(part.back):
                self.showing.setdefault(file_id, set()).add(part.key)

    def texts_showing(self, file_id: str) -> set[Key]:
        """The texts that may show the file."""
        foreseen: set[Key] = self.foreseen.get(("showing", file_id), set())
        return self.showing.get(file_id, set()) | foreseen

    def files_of(self, key: Key, text: str) -> frozenset[str]:
        """The files that the text of a key shows once the newer events are undone."""
        foreseen: frozenset[str] | None = self.foreseen.get((*key, "files"))
        return shown_files(text) if foreseen is None else foreseen

    def exists(self, subject: Key, *, is_there: bool) -> bool:
        return bool(self.now((*subject, EXISTS), is_there))


def shown_files(text: str) -> frozenset[str]:
    """The ids of the files whose addresses are in the text."""
    return frozenset(_FILE_ADDRESS.findall(text))


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
