"""Quick add: one line becomes a ticket, with a small grammar for what is said of it.

``Fix the login !high @bo #bug ^OPS-3 due:2026-12-01``: a priority, an assignee, labels, the parent,
the due date. A piece that names nothing known stays in the title: ``Fix #123`` means what it says.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from app.core import text
from app.core.actor import Actor
from app.core.clock import now_ms
from app.core.ids import is_display_id
from app.tickets import loaders
from app.tickets.models import Priority, TicketType

_PIECE = re.compile(
    r"(?<!\S)(?:(?P<sign>[!@#^])(?:\"(?P<quoted>[^\"]+)\"|(?P<word>[^\s\"]+))|due:(?P<due>\S+))(?!\S)",
    re.IGNORECASE,
)
_BELOW = {TicketType.EPIC: TicketType.STORY, TicketType.STORY: TicketType.SUBTASK}


@dataclass(slots=True)
class QuickTicket:
    """What a line says: the title that is left, the fields, and what was understood, in words."""

    title: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    # (what it is, how it reads) of each piece that was understood.
    understood: list[tuple[str, str]] = field(default_factory=list)

    def take(self, name: str, value: Any, label: str, words: str) -> None:
        """Note a field and how to show it; a later piece replaces an earlier one."""
        if name == "label_ids":
            held = self.fields.setdefault(name, [])
            if value in held:
                return
            held.append(value)
        else:
            self.understood = [one for one in self.understood if one[0] != label]
            self.fields[name] = value
        self.understood.append((label, words))


def read(
    actor: Actor,
    project_id: str,
    line: str,
    *,
    users: Iterable[Any],
    labels: Iterable[Mapping[str, str]],
) -> QuickTicket:
    """Read a line. ``users`` are those that may be assigned, ``labels`` those of the project."""
    people = {user.username.lower(): user for user in users}
    named = {_plain(label["name"]): label for label in labels}
    draft = QuickTicket()

    def taken(found: re.Match[str]) -> str:
        word = found["quoted"] or found["word"] or ""
        if found["due"]:
            known = _due(draft, found["due"])
        elif found["sign"] == "!":
            known = _priority(draft, word)
        elif found["sign"] == "@":
            user = people.get(word.lower())
            known = user is not None
            if user is not None:
                draft.take("assignee_user_id", user.id, "Assignee", user.display_name)
        elif found["sign"] == "#":
            label = named.get(_plain(word))
            known = label is not None
            if label is not None:
                draft.take("label_ids", label["id"], "Label", label["name"])
        else:
            known = _parent(actor, project_id, draft, word)
        return " " if known else found[0]

    draft.title = " ".join(_PIECE.sub(taken, line).split())
    return draft


def _plain(name: str) -> str:
    """A label's name for comparing: spaces may be written as hyphens."""
    return text.same_name(name).replace(" ", "-")


def _priority(draft: QuickTicket, word: str) -> bool:
    found = [level for level in Priority if level.value == word.lower()]
    for level in found:
        draft.take("priority", level.value, "Priority", level.value.capitalize())
    return bool(found)


def _due(draft: QuickTicket, word: str) -> bool:
    today = datetime.fromtimestamp(now_ms() / 1000, UTC).date()
    known = {"today": today, "tomorrow": today + timedelta(days=1)}
    day = known.get(word.lower())
    if day is None:
        # Only the long form is a date: Python would also take 20261201.
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", word, re.ASCII):
            return False
        try:
            day = date.fromisoformat(word)
        except ValueError:
            return False
    draft.take("due_date", day.isoformat(), "Due", day.isoformat())
    return True


def _parent(actor: Actor, project_id: str, draft: QuickTicket, word: str) -> bool:
    number = word.upper()
    found = loaders.named_in_body(actor, number) if is_display_id(number) else None
    if found is None or found.project_id != project_id or found.type not in _BELOW:
        return False
    kind = _BELOW[TicketType(found.type)]
    draft.take("parent_ticket_id", found.id, "Parent", f"{found.display_id} {found.title}")
    draft.fields["type"] = kind.value
    return True
