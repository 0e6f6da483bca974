"""Filters of the board and the list: they live in the address, under the names of REST.

Pages take more than REST does: a name may repeat (any of these), ``me`` and ``none`` stand for
people, a parent may be named by its number. What makes no sense is left out, as REST leaves out
unknown parameters.
"""

from typing import Any
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, or_, select
from werkzeug.datastructures import MultiDict

from app.core.actor import Actor
from app.core.ids import as_uuid, is_display_id
from app.tickets.models import Ticket, TicketLabel
from app.tickets.pages.blueprint import KINDS, PRIORITIES

NAMES = (
    "state_id",
    "assignee_user_id",
    "label_id",
    "ticket_type",
    "priority",
    "parent_ticket_id",
)
CLOSED = {"ticket_type": KINDS, "priority": PRIORITIES}
COLUMNS = {
    "state_id": Ticket.state_id,
    "ticket_type": Ticket.type,
    "priority": Ticket.priority,
}

Chosen = dict[str, list[str]]


def chosen_in(query: MultiDict[str, str]) -> Chosen:
    """The filters of an address that mean something."""
    found: Chosen = {}
    for name in NAMES:
        values = [value for value in query.getlist(name) if _fits(name, value)]
        if values:
            found[name] = list(dict.fromkeys(values))
    return found


def _fits(name: str, value: str) -> bool:
    if name in CLOSED:
        return value in CLOSED[name]
    if name == "assignee_user_id" and value in ("me", "none"):
        return True
    if name == "parent_ticket_id" and is_display_id(value.upper()):
        return True
    return as_uuid(value) is not None


def conditions(chosen: Chosen, actor: Actor) -> list[ColumnElement[bool]]:
    """The filters as conditions on tickets."""
    found: list[ColumnElement[bool]] = []
    for name, values in chosen.items():
        if name in COLUMNS:
            found.append(COLUMNS[name].in_(values))
        elif name == "assignee_user_id":
            found.append(_assigned(values, actor))
        elif name == "label_id":
            labelled = select(TicketLabel.ticket_id).where(TicketLabel.label_id.in_(values))
            found.append(Ticket.id.in_(labelled))
        else:
            found.append(_below(values))
    return found


def _assigned(values: list[str], actor: Actor) -> ColumnElement[bool]:
    people = [actor.id if value == "me" else value for value in values if value != "none"]
    either: list[ColumnElement[bool]] = [Ticket.assignee_user_id.in_(people)] if people else []
    if "none" in values:
        either.append(Ticket.assignee_user_id.is_(None))
    return or_(*either)


def _below(values: list[str]) -> ColumnElement[bool]:
    numbers = [value.upper() for value in values if is_display_id(value.upper())]
    named = select(Ticket.id).where(Ticket.display_id.in_(numbers)).correlate(None)
    by_id = [value for value in values if as_uuid(value)]
    return or_(Ticket.parent_ticket_id.in_(named), Ticket.parent_ticket_id.in_(by_id))


def fields(
    chosen: Chosen,
    *,
    users: list[tuple[str, str]],
    labels: list[tuple[str, str]],
    states: list[tuple[str, str]] | None = None,
) -> list[dict[str, Any]]:
    """The filter bar: one field for each filter, with what is chosen."""
    offered: list[tuple[str, str, list[tuple[str, str]]]] = [
        ("assignee_user_id", "Assignee", [("me", "Me"), ("none", "Nobody"), *users]),
        ("label_id", "Label", labels),
        ("ticket_type", "Type", [(kind, kind.capitalize()) for kind in KINDS]),
        ("priority", "Priority", [(level, level.capitalize()) for level in PRIORITIES]),
    ]
    if states is not None:
        offered.insert(0, ("state_id", "State", states))
    made: list[dict[str, Any]] = [
        {"name": name, "label": label, "options": options, "value": chosen.get(name, [""])[0]}
        for name, label, options in offered
    ]
    parent = chosen.get("parent_ticket_id", [""])[0]
    made.append({"name": "parent_ticket_id", "label": "Parent", "options": None, "value": parent})
    return made


def address(path: str, chosen: Chosen, **more: str) -> str:
    """The address of a filtered list."""
    pairs = [(name, value) for name, values in chosen.items() for value in values]
    query = urlencode([*pairs, *more.items()])
    return f"{path}?{query}" if query else path
