"""Filtered lists of tickets: keyset pages along an index, whose cost does not grow with the table.

``sorting.py`` has the orders of REST and tools. ``list_pages.py`` sorts and groups the lists of
pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Integer,
    Select,
    bindparam,
    exists,
    false,
    literal_column,
    select,
)

from app.core.actor import Access, Actor, operation
from app.database.pagination import Page, page
from app.database.session import AnySelect, Prepared, is_postgresql, session
from app.database.sql_functions import Unindexed
from app.projects import loaders as projects
from app.projects.models import StateCategory, WorkflowState
from app.tickets import filters as ticket_filters
from app.tickets.filters import FILTERS
from app.tickets.list_orders import after, decode, encode, order_by, selected
from app.tickets.models import Ticket, TicketLabel, TicketType
from app.tickets.read import WHOLE, TicketShape, in_live_projects
from app.tickets.sorting import KEYS, TicketSort

# -- REST and tools: one cached statement per set of filters -------------------------------------

# The tickets that a list can hold, independent of its filters.
_BOUNDS: dict[str, ColumnElement[bool]] = {
    "live": Ticket.deleted_at.is_(None),
    "in_live_projects": in_live_projects(),
    "allowlist": Ticket.project_id.in_(bindparam("allowlist", expanding=True)),
    "nothing": false(),
}
# Rewritten filters for an index or a planner; ``_rewritten`` chooses them.
_REWRITTEN: dict[str, ColumnElement[bool]] = {
    # Matches the partial index of epics.
    "epics": Ticket.type == literal_column("'epic'"),
    # Checked per ticket, for a label that many tickets carry.
    "common_label_id": exists().where(
        TicketLabel.ticket_id == Ticket.id, TicketLabel.label_id == bindparam("common_label_id")
    ),
    "unassigned": Ticket.assignee_user_id.is_(None),
    # Checked once, for the state of the filter ``state_id``.
    "category_of_state": select(WorkflowState.category)
    .where(WorkflowState.id == bindparam("state_id"))
    .correlate(None)
    .scalar_subquery()
    == bindparam("category_of_state"),
}
# Filters whose conditions contain the current time.
_OF_THE_MOMENT = frozenset({"stalled"})
# The filters with an index in list order, the most selective one first.
_INDEXED = {
    "parent_ticket_id": Ticket.parent_ticket_id,
    "assignee_user_id": Ticket.assignee_user_id,
    "reporter_user_id": Ticket.reporter_user_id,
    "state_id": Ticket.state_id,
    "project_id": Ticket.project_id,
}
# For a label on fewer tickets than this, its tickets are looked up first. Those of any other label
# are frequent enough to be found along the list.
_COMMON = 2000
_LAST_OF_FEW = {
    "label_id": Prepared(
        select(TicketLabel.label_id)
        .where(TicketLabel.label_id == bindparam("value"))
        .limit(1)
        .offset(_COMMON - 1)
    ),
    **{
        name: Prepared(
            select(Ticket.id)
            .where(column == bindparam("value"), Ticket.deleted_at.is_(None))
            .limit(1)
            .offset(_COMMON - 1)
        )
        for name, column in _INDEXED.items()
    },
}


@operation(Access.READ)
def list_tickets(
    actor: Actor,
    /,
    *,
    limit: int,
    cursor: str | None,
    sort: str = TicketSort.CREATED,
    include_deleted: bool = False,
    shape: TicketShape = WHOLE,
    **filters: Any,
) -> Page:
    """Tickets of all projects that the actor sees, newest first, in this shape.

    A cursor belongs to its ``sort``; raises InvalidField for another.
    """
    bounds: dict[str, Any] = {"allowlist": list(actor.allowlist)} if actor.allowlist else {}
    if not include_deleted:
        bounds |= {"live": True, "in_live_projects": True}
    return ticket_page(filters, bounds, sort=sort, limit=limit, cursor=cursor, shape=shape)


@operation(Access.READ)
def list_project_tickets(
    actor: Actor,
    /,
    project_id: str,
    *,
    limit: int,
    cursor: str | None,
    sort: str = TicketSort.CREATED,
    include_deleted: bool = False,
    **filters: Any,
) -> Page:
    """Tickets of one project, newest first; ``sort`` as in ``list_tickets``."""
    project = projects.visible(actor, project_id, include_deleted=include_deleted)
    bounds = {} if include_deleted else {"live": True}
    filters["project_id"] = project.id
    return ticket_page(filters, bounds, sort=sort, limit=limit, cursor=cursor)


def ticket_page(
    filters: dict[str, Any],
    bounds: dict[str, Any],
    *,
    limit: int,
    cursor: str | None,
    sort: str = TicketSort.CREATED,
    shape: TicketShape = WHOLE,
) -> Page:
    """A page of tickets, newest first, by values of ``FILTERS``; a list matches any of its values.

    None and False are not filters. If a value is a query, or a condition depends on the time, the
    statement cannot be cached.
    """
    values = ticket_filters.given(filters)
    queries = {
        name: value
        for name, value in values.items()
        if isinstance(value, Select) or name in _OF_THE_MOMENT
    }
    values = {name: value for name, value in values.items() if name not in queries}
    values = _rewritten(values) | bounds
    lists = frozenset(name for name, value in values.items() if isinstance(value, list))
    special = [FILTERS[name].condition(value) for name, value in queries.items()]
    if sort != TicketSort.CREATED:
        found = _Found(values, lists, special)
        return _sorted_page(found, TicketSort(sort), shape, limit=limit, cursor=cursor)
    first = next((name for name in _INDEXED if name in values and name not in lists), None)
    if values.keys() >= {"epics", "project_id"} and first != "parent_ticket_id":
        # A project has fewer epics than an assignee has tickets.
        first = "project_id"
    statement = _filtered(shape.statement, frozenset(values), lists, first)
    return page(
        statement.where(*special).params(values) if special else statement,
        kind="ticket",
        sort=Ticket.created_at,
        id_column=Ticket.id,
        limit=limit,
        cursor=cursor,
        build=shape.build,
        values=None if special else values,
    )


def _rewritten(values: dict[str, Any]) -> dict[str, Any]:
    """The same filters, with those of ``_REWRITTEN`` if a database evaluates them faster."""
    values = {
        name: value[0] if isinstance(value, list) and len(value) == 1 and value[0] else value
        for name, value in values.items()
    }
    if values.get("assignee_user_id") == [None]:
        values["unassigned"] = values.pop("assignee_user_id")
    is_epic = values.get("ticket_type") == TicketType.EPIC
    if values.get("ready") and (is_epic or values.get("state_category") == StateCategory.DONE):
        # Such tickets are never ready, so no ticket is read.
        values["nothing"] = True
    if is_epic:
        del values["ticket_type"]
        values["epics"] = True
    label_id = values.get("label_id")
    if isinstance(label_id, str) and is_common("label_id", label_id):
        values["common_label_id"] = values.pop("label_id")
    if {"state_id", "state_category"} <= values.keys() and is_postgresql():
        # PostgreSQL would check each ticket of the state; SQLite reads the state first.
        values["category_of_state"] = values.pop("state_category")
    return values


def is_common(name: str, value: str) -> bool:
    """Whether so many tickets have this value that a list should check it ticket by ticket."""
    return bool(_LAST_OF_FEW[name].all(value=value))


def any_is_common(label_ids: Sequence[str]) -> bool:
    return any(is_common("label_id", label_id) for label_id in label_ids)


@lru_cache(maxsize=512)
def _filtered(
    statement: AnySelect, names: frozenset[str], lists: frozenset[str], first: str | None
) -> AnySelect:
    """The statement with these filters; of the indexed ones, only ``first`` uses its index.

    Cached, because building it costs more than running it.
    """
    if "nothing" in names:
        return statement.where(false())
    for name in sorted(names):
        if name in _BOUNDS:
            statement = statement.where(_BOUNDS[name])
        elif name in _REWRITTEN:
            statement = statement.where(_REWRITTEN[name])
        elif name in _INDEXED and name != first and name not in lists:
            statement = statement.where(Unindexed(_INDEXED[name]) == bindparam(name))
        else:
            value: BindParameter[Any] = bindparam(name, expanding=name in lists)
            statement = statement.where(FILTERS[name].condition(value))
    return statement


# -- REST and tools: other orders -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """The filters of a list: values, the names of those with several, and further conditions."""

    values: dict[str, Any]
    lists: frozenset[str]
    special: list[ColumnElement[bool]]

    @property
    def first(self) -> str | None:
        """The filter whose index is used: that of a project, or one that few tickets match.

        The others are checked along the order: frequent matches are found soon.
        """
        for name in _INDEXED:
            if name in self.values and name not in self.lists:
                value = self.values[name]
                if name == "project_id" or not is_common(name, value):
                    return name
        return None


def _sorted_page(
    found: _Found, sort: TicketSort, shape: TicketShape, *, limit: int, cursor: str | None
) -> Page:
    """A page in this order. Its ids are selected first, so that little data is sorted."""
    keys = KEYS[sort]
    kind = f"ticket/{sort}"
    position = {}
    if cursor is not None:
        position = {
            f"after_{number}": value for number, value in enumerate(decode(cursor, kind, keys))
        }
    statement = _sorted(
        sort, frozenset(found.values), found.lists, found.first, bool(position), limit + 1
    )
    if found.special:
        rows = session.execute(statement.where(*found.special), found.values | position).all()
    else:
        rows = _prepared(statement).all(**found.values, **position)
    next_cursor = encode(kind, rows[limit - 1]) if len(rows) > limit else None
    ids = [row[-1] for row in rows[:limit]]
    by_id = {row.id: row for row in _prepared(_among(shape.statement)).all(ids=ids)}
    return Page(shape.build([by_id[one] for one in ids]), next_cursor)


_KEYED = select(Ticket.id).outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)


@lru_cache(maxsize=512)
def _sorted(
    sort: TicketSort,
    names: frozenset[str],
    lists: frozenset[str],
    first: str | None,
    is_continued: bool,
    limit: int,
) -> AnySelect:
    keys = KEYS[sort]
    statement = _filtered(_KEYED, names, lists, first).with_only_columns(*selected(keys))
    if is_continued:
        statement = statement.where(after(keys, [None] * len(keys)))
    return statement.order_by(*order_by(keys)).limit(literal_column(str(limit), Integer))


@lru_cache(maxsize=4)
def _among(source: AnySelect) -> AnySelect:
    return source.where(Ticket.id.in_(bindparam("ids", expanding=True)))


@lru_cache(maxsize=512)
def _prepared(statement: AnySelect) -> Prepared:
    return Prepared(statement)


# -- pages ---------------------------------------------------------------------------------------


def ids(
    conditions: Sequence[ColumnElement[bool]], limit: int, *, order: Sequence[Any] = ()
) -> list[str]:
    """The ids of matching tickets."""
    statement = (
        select(Ticket.id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.deleted_at.is_(None), *conditions)
        .order_by(*order)
        .limit(limit)
    )
    return list(session.scalars(statement))
