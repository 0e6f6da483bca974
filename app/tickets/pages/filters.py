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
from app.projects.models import StateCategory, WorkflowState
from app.search.service import QUERY_LENGTH, ticket_ids
from app.tickets import conditions as extra
from app.tickets import readiness
from app.tickets.models import Ticket, TicketLabel
from app.tickets.pages.blueprint import KINDS, PRIORITIES

CATEGORIES = tuple(str(one) for one in StateCategory)
# Of one filter: more than any menu offers, and no more than a statement takes as parameters.
MOST_VALUES = 500
# Those that take an id, or a word of a closed set.
NAMES = (
    "project_id",
    "state_id",
    "state_category",
    "assignee_user_id",
    "label_id",
    "ticket_type",
    "priority",
    "parent_ticket_id",
)
CLOSED = {"ticket_type": KINDS, "priority": PRIORITIES, "state_category": CATEGORIES}
COLUMNS = {
    "project_id": Ticket.project_id,
    "state_id": Ticket.state_id,
    "state_category": WorkflowState.category,
    "ticket_type": Ticket.type,
    "priority": Ticket.priority,
}
FLAGS = {
    "ready": ("Ready", "Can be started: not done, nobody's, and nothing open blocks it"),
    "blocked": ("Blocked", "An open ticket blocks it"),
    "quiet": ("Quiet bots", "Open with a bot that was silent on it for half an hour"),
}
CONDITIONS = {
    "ready": readiness.is_ready,
    "blocked": readiness.is_blocked,
    "quiet": extra.is_quiet,
}

Chosen = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Filter:
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
    for name in NAMES:
        values = [value for value in query.getlist(name) if _fits(name, value)]
        if values:
            found[name] = list(dict.fromkeys(values))[:MOST_VALUES]
    for name in FLAGS:
        if query.get(name) == "true":
            found[name] = ["true"]
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
    """The filters as conditions on tickets joined with their states."""
    found: list[ColumnElement[bool]] = []
    for name, values in chosen.items():
        if name in COLUMNS:
            found.append(COLUMNS[name].in_(values))
        elif name in CONDITIONS:
            found.append(CONDITIONS[name]())
        elif name == "q":
            found.append(Ticket.id.in_(ticket_ids(values[0])))
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


def offered(
    chosen: Chosen,
    *,
    users: Sequence[tuple[str, str]],
    labels: Sequence[tuple[str, str]] = (),
    states: Sequence[tuple[str, str]] = (),
    projects: Sequence[tuple[str, str]] = (),
    categories: bool = False,
) -> list[Filter]:
    """The groups of the filter menu; those without options are left out."""
    groups: list[tuple[str, str, Sequence[tuple[str, str]]]] = [
        ("project_id", "Project", projects),
        ("state_id", "State", states),
        ("state_category", "State", words(CATEGORIES) if categories else ()),
        ("assignee_user_id", "Assignee", [("me", "Me"), ("none", "Nobody"), *users]),
        ("priority", "Priority", words(PRIORITIES)),
        ("ticket_type", "Type", words(KINDS)),
        ("label_id", "Label", labels),
    ]
    return [
        Filter(name, label, options, chosen.get(name, []))
        for name, label, options in groups
        if options
    ]


def words(values: Sequence[str]) -> list[tuple[str, str]]:
    """Words of a closed set as options."""
    return [(value, value.capitalize()) for value in values]


def chips(path: str, chosen: Chosen, groups: Sequence[Filter], **more: str) -> list[Chip]:
    """What is filtered by, one chip a value; ``more`` is what else the address keeps."""
    named = {(group.name, value): text for group in groups for value, text in group.options}
    labels = {group.name: group.label for group in groups} | {
        "q": "Text",
        "parent_ticket_id": "Parent",
        "state_category": "State",
    }
    made = []
    for name, values in chosen.items():
        for value in values:
            left = {**chosen, name: [one for one in values if one != value]}
            flag = FLAGS.get(name)
            text = flag[0] if flag else named.get((name, value), _unnamed(name, value))
            label = "" if flag else labels.get(name, "")
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
