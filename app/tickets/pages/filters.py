"""Filters of the board and the list: they live in the address, under the names of REST.

Pages take more than REST does: a name may repeat (any of these), ``me`` and ``none`` stand for
people, a parent may be named by its number, ``q`` searches as the search page does. What makes no
sense is left out, as REST leaves out unknown parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, or_, select
from werkzeug.datastructures import MultiDict

from app.core.actor import Actor
from app.core.ids import as_uuid, is_display_id
from app.search.service import QUERY_LENGTH, ticket_ids
from app.tickets.filters import FILTERS
from app.tickets.models import Ticket

# Of one filter: more than any menu offers, and no more than a statement takes as parameters.
MOST_VALUES = 500
# What the text that is searched for is called.
TEXT = "Text"

Chosen = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Group:
    """One group of the filter menu: its options, and which of them are chosen."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter in use, and the address without it."""

    name: str
    value: str
    label: str
    text: str
    href: str


def chosen_in(query: MultiDict[str, str]) -> Chosen:
    """The filters of an address that mean something."""
    found: Chosen = {}
    asked = query.get("q", "").strip()[:QUERY_LENGTH]
    if asked:
        found["q"] = [asked]
    for name, known in FILTERS.items():
        if known.is_flag and query.get(name) == "true":
            found[name] = ["true"]
        elif known.label and not known.is_flag:
            values = [value for value in query.getlist(name) if _fits(name, value)]
            if values:
                found[name] = list(dict.fromkeys(values))[:MOST_VALUES]
    return found


def _fits(name: str, value: str) -> bool:
    words = FILTERS[name].words
    if words:
        return value in words
    if name == "assignee_user_id" and value in ("me", "none"):
        return True
    if name == "parent_ticket_id" and is_display_id(value.upper()):
        return True
    return as_uuid(value) is not None


def conditions(chosen: Chosen, actor: Actor) -> list[ColumnElement[bool]]:
    """The filters as conditions on tickets joined with their states."""
    found: list[ColumnElement[bool]] = []
    for name, values in chosen.items():
        if name == "q":
            found.append(FILTERS["among"].condition(ticket_ids(values[0])))
        elif name == "assignee_user_id":
            people = {"me": actor.id, "none": None}
            found.append(FILTERS[name].condition([people.get(one, one) for one in values]))
        elif name == "parent_ticket_id":
            found.append(_below(values))
        else:
            found.append(FILTERS[name].condition(values))
    return found


def _below(values: list[str]) -> ColumnElement[bool]:
    numbers = [value.upper() for value in values if is_display_id(value.upper())]
    named = select(Ticket.id).where(Ticket.display_id.in_(numbers)).correlate(None)
    by_id = [value for value in values if as_uuid(value)]
    is_below = FILTERS["parent_ticket_id"].condition
    return or_(is_below(named), is_below(by_id))


def offered(
    chosen: Chosen,
    *,
    users: Sequence[tuple[str, str]],
    labels: Sequence[tuple[str, str]] = (),
    states: Sequence[tuple[str, str]] = (),
    projects: Sequence[tuple[str, str]] = (),
    categories: bool = False,
) -> list[Group]:
    """The groups of the filter menu; those without options are left out."""
    groups: dict[str, Sequence[tuple[str, str]]] = {
        "project_id": projects,
        "state_id": states,
        "state_category": words(FILTERS["state_category"].words) if categories else (),
        "assignee_user_id": [("me", "Me"), ("none", "Nobody"), *users],
        "priority": words(FILTERS["priority"].words),
        "ticket_type": words(FILTERS["ticket_type"].words),
        "label_id": labels,
    }
    return [
        Group(name, FILTERS[name].label, options, chosen.get(name, []))
        for name, options in groups.items()
        if options
    ]


def words(values: Sequence[str]) -> list[tuple[str, str]]:
    """Words of a closed set as options."""
    return [(value, value.capitalize()) for value in values]


def chips(path: str, chosen: Chosen, groups: Sequence[Group], **more: str) -> list[Chip]:
    """What is filtered by, one chip a value; ``more`` is what else the address keeps."""
    named = {(group.name, value): text for group in groups for value, text in group.options}
    made = []
    for name, values in chosen.items():
        for value in values:
            left = {**chosen, name: [one for one in values if one != value]}
            label = FILTERS[name].label if name in FILTERS else TEXT
            text = named.get((name, value), _unnamed(name, value))
            if name in FILTERS and FILTERS[name].is_flag:
                label, text = "", label
            made.append(Chip(name, value, label, text, address(path, left, **more)))
    return made


def _unnamed(name: str, value: str) -> str:
    """What is no option: typed text, a parent's number, or something that is gone by now."""
    if name == "q":
        return f"“{value}”"
    return value.upper() if is_display_id(value.upper()) else "one that is not offered"


def address(path: str, chosen: Chosen, **more: str) -> str:
    """The address of a filtered list."""
    pairs = [(name, value) for name, values in chosen.items() for value in values]
    query = urlencode([*pairs, *((name, value) for name, value in more.items() if value)])
    return f"{path}?{query}" if query else path
