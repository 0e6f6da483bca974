"""Filtered lists of tickets: keyset pages along an index, whose cost does not grow with the table.

REST and tools list newest first. ``list_pages.py`` sorts and groups the lists of pages.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
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
from app.tickets.filters import FILTERS
from app.tickets.models import Ticket, TicketLabel, TicketType
from app.tickets.read import BODILESS, TICKETS, in_live_projects, tickets_json

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
# The filters with an index in list order, the most selective one first.
_INDEXED = {
    "parent_ticket_id": Ticket.parent_ticket_id,
    "assignee_user_id": Ticket.assignee_user_id,
    "reporter_user_id": Ticket.reporter_user_id,
    "state_id": Ticket.state_id,
    "project_id": Ticket.project_id,
}
# The tickets of a label on fewer tickets than this are looked up first. Those of any other label
# are frequent enough to be found along the list.
_COMMON = 2000
_LAST_OF_FEW = Prepared(
    select(TicketLabel.label_id)
    .where(TicketLabel.label_id == bindparam("label_id"))
    .limit(1)
    .offset(_COMMON - 1)
)


@operation(Access.READ)
def list_tickets(
    actor: Actor,
    /,
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool = False,
    with_body: bool = True,
    **filters: Any,
) -> Page:
    """Tickets of all projects that the actor sees, newest first; their body can be None."""
    bounds: dict[str, Any] = {"allowlist": list(actor.allowlist)} if actor.allowlist else {}
    if not include_deleted:
        bounds |= {"live": True, "in_live_projects": True}
    return ticket_page(filters, bounds, limit=limit, cursor=cursor, with_body=with_body)


@operation(Access.READ)
def list_project_tickets(
    actor: Actor,
    /,
    project_id: str,
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool = False,
    **filters: Any,
) -> Page:
    """Tickets of one project, newest first."""
    project = projects.visible(actor, project_id, include_deleted=include_deleted)
    bounds = {} if include_deleted else {"live": True}
    return ticket_page({**filters, "project_id": project.id}, bounds, limit=limit, cursor=cursor)


def ticket_page(
    filters: dict[str, Any],
    bounds: dict[str, Any],
    *,
    limit: int,
    cursor: str | None,
    with_body: bool = True,
) -> Page:
    """A page of tickets, newest first, by values of ``FILTERS``; a list matches any of its values.

    None and False are no filters. With a query as a value, the statement cannot be cached.
    """
    values = {
        name: value for name, value in filters.items() if value is not None and value is not False
    }
    queries = {name: value for name, value in values.items() if isinstance(value, Select)}
    values = {name: value for name, value in values.items() if name not in queries}
    values = _rewritten(values) | bounds
    lists = frozenset(name for name, value in values.items() if isinstance(value, list))
    statement = _filtered(with_body, frozenset(values), lists)
    special = [FILTERS[name].condition(value) for name, value in queries.items()]
    return page(
        statement.where(*special).params(values) if special else statement,
        kind="ticket",
        sort=Ticket.created_at,
        id_column=Ticket.id,
        limit=limit,
        cursor=cursor,
        build=tickets_json,
        values=None if special else values,
    )


def _rewritten(values: dict[str, Any]) -> dict[str, Any]:
    """The same filters, with those of ``_REWRITTEN`` where a database answers them faster."""
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
    if isinstance(label_id, str) and is_common(label_id):
        values["common_label_id"] = values.pop("label_id")
    if {"state_id", "state_category"} <= values.keys() and is_postgresql():
        # PostgreSQL would check each ticket of the state; SQLite reads the state first.
        values["category_of_state"] = values.pop("state_category")
    return values


def is_common(label_id: str) -> bool:
    """Whether so many tickets carry a label that a list asks them one by one."""
    return bool(_LAST_OF_FEW.all(label_id=label_id))


@lru_cache(maxsize=512)
def _filtered(with_body: bool, names: frozenset[str], lists: frozenset[str]) -> AnySelect:
    """The statement of these filters. Cached, because building it costs more than running it."""
    statement: AnySelect = TICKETS if with_body else BODILESS
    if "nothing" in names:
        return statement.where(false())
    first = next((name for name in _INDEXED if name in names - lists), None)
    if names >= {"epics", "project_id"} and first != "parent_ticket_id":
        # A project has fewer epics than an assignee has tickets.
        first = "project_id"
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


# -- pages ---------------------------------------------------------------------------------------


def ids(conditions: Sequence[ColumnElement[bool]], limit: int) -> list[str]:
    """The ids of matching tickets, newest first."""
    statement = (
        select(Ticket.id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.deleted_at.is_(None), *conditions)
        .order_by(Ticket.created_at.desc(), Ticket.id.desc())
        .limit(limit)
    )
    return list(session.scalars(statement))
