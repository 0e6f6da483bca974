"""Filters of boards and lists, which are parameters of the address with the names of REST.

In addition to REST, a name may repeat (any value matches), assignees can be ``me`` or ``none``, a
parent can be a display id, and ``q`` is a full-text search. Invalid values are ignored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, or_, select
from werkzeug.datastructures import MultiDict

from app.core.ids import as_uuid, is_display_id
from app.database.session import AnyRow
from app.projects.loaders import SeenProject
from app.search.service import QUERY_LENGTH, ticket_ids
from app.tickets.board_sidebar import board_sidebar
from app.tickets.filters import DUE, FILTERS, UNTOUCHED
from app.tickets.messages import NOBODY
from app.tickets.models import Ticket
from app.tickets.pages import messages
from app.tickets.pages.blueprint import Options, projects_shown, user_options, words
from app.web.guard import actor

# The most values of one filter; a statement has a limited number of parameters.
MAX_VALUES = 500
MIN_OPTIONS_FOR_COLUMNS = 12

Chosen = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    label: str
    options: Sequence[tuple[str, str]]
    values: Sequence[str]
    # The colors of the options that are labels.
    colors: Mapping[str, str]

    @property
    def is_many(self) -> bool:
        """Whether its options need several columns and a box to find one."""
        return len(self.options) >= MIN_OPTIONS_FOR_COLUMNS


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter value, and the address without it."""

    name: str
    value: str
    label: str
    text: str
    href: str


def chosen_in(query: MultiDict[str, str]) -> Chosen:
    """The valid filters of a query string."""
    chosen: Chosen = {}
    text = query.get("q", "").strip()[:QUERY_LENGTH]
    if text:
        chosen["q"] = [text]
    for name, ticket_filter in FILTERS.items():
        if ticket_filter.is_flag and query.get(name) == "true":
            chosen[name] = ["true"]
        elif ticket_filter.label and not ticket_filter.is_flag:
            values = [value for value in query.getlist(name) if _is_valid(name, value)]
            if values:
                chosen[name] = list(dict.fromkeys(values))[:MAX_VALUES]
    return chosen


def _is_valid(name: str, value: str) -> bool:
    allowed = FILTERS[name].words
    if allowed:
        return value in allowed
    if name == "assignee_user_id" and value in ("me", "none"):
        return True
    if name == "parent_ticket_id" and is_display_id(value.upper()):
        return True
    return as_uuid(value) is not None


def conditions(chosen: Chosen) -> list[ColumnElement[bool]]:
    result: list[ColumnElement[bool]] = []
    for name, values in chosen.items():
        if name == "q":
            result.append(FILTERS["among"].condition(ticket_ids(values[0])))
        elif name == "assignee_user_id":
            people = {"me": actor().id, "none": None}
            result.append(FILTERS[name].condition([people.get(value, value) for value in values]))
        elif name == "parent_ticket_id":
            result.append(_below(values))
        else:
            result.append(FILTERS[name].condition(values))
    return result


def _below(values: list[str]) -> ColumnElement[bool]:
    numbers = [value.upper() for value in values if is_display_id(value.upper())]
    by_id = [value for value in values if as_uuid(value)]
    parents = select(Ticket.id).where(or_(Ticket.display_id.in_(numbers), Ticket.id.in_(by_id)))
    return FILTERS["parent_ticket_id"].condition(parents.correlate(None))


def menu(
    path: str,
    chosen: Chosen,
    more: dict[str, str],
    project: SeenProject | None,
    users: Sequence[AnyRow],
    *,
    states: Options | None = None,
) -> dict[str, Any]:
    """The context of the filter menu: groups, chips, labels and saved views.

    ``more`` are the other parameters of the address. ``states`` are options for a list: the states
    of its project, or none for categories instead. Boards filter by neither. Needs a unit of work.
    """
    project_id = project.id if project else None
    sidebar = board_sidebar(project_id, actor().id)
    # Who is in the filter stays an option, or the next change of the form would drop the filter.
    people = user_options(users, project_id, chosen.get("assignee_user_id", ()))[1:]
    by_category = states is not None and project is None
    options: dict[str, Options] = {
        "project_id": [] if project else [(one["id"], one["name"]) for one in projects_shown()],
        "state_id": states or [],
        "state_category": words(FILTERS["state_category"].words) if by_category else [],
        "assignee_user_id": [("me", messages.ME), ("none", NOBODY), *people],
        "priority": words(FILTERS["priority"].words),
        "ticket_type": words(FILTERS["ticket_type"].words),
        "label_id": [(one["id"], one["name"]) for one in sidebar.labels] if project else [],
        "due": list(DUE.items()),
        "untouched": list(UNTOUCHED.items()),
    }
    colors = {one["id"]: one["color"] for one in sidebar.labels} if project else {}
    names = {user.id: user.display_name for user in users}
    groups = [
        Group(name, FILTERS[name].label, values, chosen.get(name, []), colors)
        for name, values in options.items()
        if values
    ]
    here = address(path, chosen, **more)
    return {
        "project": project,
        "labels": sidebar.labels,
        "views": [{**view, "owner": names.get(view["user_id"], "")} for view in sidebar.views],
        "groups": groups,
        "chips": _chips(path, chosen, groups, more),
        "chosen": chosen,
        "action": path,
        "address": here,
        "query": here.partition("?")[2],
    }


def _chips(path: str, chosen: Chosen, groups: Sequence[Group], more: dict[str, str]) -> list[Chip]:
    texts = {(group.name, value): text for group in groups for value, text in group.options}
    chips = []
    for name, values in chosen.items():
        for value in values:
            others = {**chosen, name: [other for other in values if other != value]}
            label = FILTERS[name].label if name in FILTERS else messages.TEXT
            text = texts.get((name, value), _text_of(name, value))
            if name in FILTERS and FILTERS[name].is_flag:
                label, text = "", label
            chips.append(Chip(name, value, label, text, address(path, others, **more)))
    return chips


def _text_of(name: str, value: str) -> str:
    """The text of a value that is not an option: a word, a display id, or a deleted row."""
    if name == "q":
        return f"“{value}”"
    if value in FILTERS[name].words:
        return value.capitalize()
    return value.upper() if is_display_id(value.upper()) else "unknown"


def address(path: str, chosen: Chosen, **more: str) -> str:
    pairs = [(name, value) for name, values in chosen.items() for value in values]
    query = urlencode([*pairs, *((name, value) for name, value in more.items() if value)])
    return f"{path}?{query}" if query else path
