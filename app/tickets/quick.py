"""Quick add: the grammar of a line that becomes a ticket.

``Fix the login !high @bo #bug ^OPS-3 due:2026-12-01`` sets the priority, the assignee, a label, the
parent and the due date. A word with no known meaning stays in the title, as in ``Fix #123``.
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
from app.tickets.creating import CHILD_TYPE
from app.tickets.models import Priority, TicketType

_PIECE = re.compile(
    r"(?<!\S)(?:(?P<sign>[!@#^])(?:\"(?P<quoted>[^\"]+)\"|(?P<word>[^\s\"]+))|due:(?P<due>\S+))(?!\S)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class QuickTicket:
    """A parsed line: the rest as title, the fields, and what was understood."""

    title: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    # (label, text) of each word that was understood, for chips.
    understood: list[tuple[str, str]] = field(default_factory=list)

    def take(self, name: str, value: Any, label: str, words: str) -> None:
        """Set a field and its chip; a later value replaces an earlier one, labels add up."""
        if name == "label_ids":
            label_ids = self.fields.setdefault(name, [])
            if value in label_ids:
                return
            label_ids.append(value)
        else:
            self.understood = [chip for chip in self.understood if chip[0] != label]
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
    """Parse a line. ``users`` can be assigned, and ``labels`` are those of the project."""
    users_by_name = {user.username.lower(): user for user in users}
    labels_by_name = {_plain(label["name"]): label for label in labels}
    draft = QuickTicket()

    def replacement(match: re.Match[str]) -> str:
        word = match["quoted"] or match["word"] or ""
        if match["due"]:
            is_known = _due(draft, match["due"])
        elif match["sign"] == "!":
            is_known = _priority(draft, word)
        elif match["sign"] == "@":
            user = users_by_name.get(word.lower())
            is_known = user is not None
            if user is not None:
                draft.take("assignee_user_id", user.id, "Assignee", user.display_name)
        elif match["sign"] == "#":
            label = labels_by_name.get(_plain(word))
            is_known = label is not None
            if label is not None:
                draft.take("label_ids", label["id"], "Label", label["name"])
        else:
            is_known = _parent(actor, project_id, draft, word)
        return " " if is_known else match[0]

    draft.title = " ".join(_PIECE.sub(replacement, line).split())
    return draft


def _plain(name: str) -> str:
    """A label's name for comparison; hyphens may stand for spaces."""
    return text.same_name(name).replace(" ", "-")


def _priority(draft: QuickTicket, word: str) -> bool:
    value = word.lower()
    if value not in set(Priority):
        return False
    draft.take("priority", value, "Priority", value.capitalize())
    return True


def _due(draft: QuickTicket, word: str) -> bool:
    today = datetime.fromtimestamp(now_ms() / 1000, UTC).date()
    named = {"today": today, "tomorrow": today + timedelta(days=1)}
    day = named.get(word.lower())
    if day is None:
        # Python also parses 20261201, which is not a date here.
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
    parent = loaders.named_in_body(actor, number) if is_display_id(number) else None
    if parent is None or parent.project_id != project_id or parent.type not in CHILD_TYPE:
        return False
    draft.take("parent_ticket_id", parent.id, "Parent", f"{parent.display_id} {parent.title}")
    draft.fields["type"] = CHILD_TYPE[TicketType(parent.type)].value
    return True
