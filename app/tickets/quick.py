"""Quick add: the grammar of a line that becomes a ticket.

``Fix the login /bug !high @bo #ui ^OPS-3 due:fri`` names a template and sets the priority, the
assignee, a label, the parent and the due date. A word with no known meaning stays in the title, as
in ``Fix #123``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core import text
from app.core.actor import Actor
from app.core.ids import is_display_id
from app.http import current
from app.tickets import due_dates, loaders, messages, templates
from app.tickets.creating import CHILD_TYPE
from app.tickets.models import Priority, TicketTemplate, TicketType
from app.web.filters import day as written

_PIECE = re.compile(
    r"(?<!\S)(?P<sign>[!@#^/]|due:)(?:\"(?P<quoted>[^\"]+)\"|(?P<word>[^\s\"]+))(?!\S)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class QuickTicket:
    """A parsed line: the rest as title, the fields, and what was understood."""

    title: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    # (label, text) of each word that was understood, for chips.
    understood: list[tuple[str, str]] = field(default_factory=list)
    template: TicketTemplate | None = None

    def take(self, name: str, value: Any, label: str, words: str) -> None:
        """Set a field and its chip; a later value replaces an earlier one, labels accumulate."""
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
    labels_by_name = {templates.plain(label["name"]): label for label in labels}
    draft = QuickTicket()

    def is_understood(sign: str, word: str) -> bool:
        match sign:
            case "/":
                return _template(project_id, draft, word)
            case "!":
                return _priority(draft, word)
            case "@":
                return _assignee(users_by_name, draft, word)
            case "#":
                return _label(labels_by_name, draft, word)
            case "^":
                return _parent(actor, project_id, draft, word)
        return _due(draft, word)

    def replacement(match: re.Match[str]) -> str:
        word = match["quoted"] or match["word"] or ""
        return " " if is_understood(match["sign"], word) else match[0]

    draft.title = " ".join(_PIECE.sub(replacement, line).split())
    if draft.template is not None:
        _fill(draft, draft.template)
    return draft


def _fill(draft: QuickTicket, template: TicketTemplate) -> None:
    """Fill in what the line does not specify; labels of both are combined."""
    label_ids = draft.fields.pop("label_ids", [])
    fields = templates.filled(template, {"title": draft.title, **draft.fields})
    draft.title = fields.pop("title")
    draft.fields = {**fields, "label_ids": text.unique([*fields["label_ids"], *label_ids])}


def _priority(draft: QuickTicket, word: str) -> bool:
    value = word.lower()
    if value not in set(Priority):
        return False
    draft.take("priority", value, messages.PRIORITY, value.capitalize())
    return True


def _assignee(users_by_name: Mapping[str, Any], draft: QuickTicket, word: str) -> bool:
    user = users_by_name.get(word.lower())
    if user is None:
        return False
    draft.take("assignee_user_id", user.id, messages.ASSIGNEE, user.display_name)
    return True


def _label(labels_by_name: Mapping[str, Mapping[str, str]], draft: QuickTicket, word: str) -> bool:
    label = labels_by_name.get(templates.plain(word))
    if label is None:
        return False
    draft.take("label_ids", label["id"], messages.LABEL, label["name"])
    return True


def _due(draft: QuickTicket, word: str) -> bool:
    day = due_dates.day_meant(word, current.today())
    if day is None:
        return False
    draft.take(
        "due_date",
        day.isoformat(),
        messages.DUE,
        messages.day_and_date(f"{day:%a}", written(day.isoformat())),
    )
    return True


def _template(project_id: str, draft: QuickTicket, word: str) -> bool:
    template = templates.find(project_id, word)
    if template is None:
        return False
    draft.template = template
    draft.understood = [chip for chip in draft.understood if chip[0] != messages.TEMPLATE]
    draft.understood.append((messages.TEMPLATE, template.name))
    return True


def _parent(actor: Actor, project_id: str, draft: QuickTicket, word: str) -> bool:
    number = word.upper()
    parent = loaders.named_in_body(actor, number) if is_display_id(number) else None
    if parent is None or parent.project_id != project_id or parent.type not in CHILD_TYPE:
        return False
    draft.take(
        "parent_ticket_id",
        parent.id,
        messages.PARENT,
        messages.titled(parent.display_id, parent.title),
    )
    draft.fields["type"] = CHILD_TYPE[TicketType(parent.type)].value
    return True
