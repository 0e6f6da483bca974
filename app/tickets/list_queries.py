"""Lists of tickets by filter: keyset pages over an index; nothing here grows with the table."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    bindparam,
    exists,
    false,
    literal_column,
    select,
)

from app.core.db import AnySelect, Prepared, is_postgresql
from app.core.pagination import Page, page
from app.core.unindexed import Unindexed
from app.projects.models import StateCategory, WorkflowState
from app.tickets.models import Ticket, TicketLabel, TicketType
from app.tickets.queries import BODILESS, LISTED, build
from app.tickets.readiness import in_live_projects, is_ready


def _labelled(wanted: ColumnElement[bool]) -> ColumnElement[bool]:
    return Ticket.id.in_(select(TicketLabel.ticket_id).where(wanted))


def _carrying_label() -> ColumnElement[bool]:
    """As ``label_id``, asked of one ticket after another, for a label that many have."""
    return exists().where(
        TicketLabel.ticket_id == Ticket.id, TicketLabel.label_id == bindparam("common_label_id")
    )


def _category_of_state() -> ScalarSelect[str]:
    one = select(WorkflowState.category).where(WorkflowState.id == bindparam("state_id"))
    return one.correlate(None).scalar_subquery()


# What each filter asks of a ticket: first the filters of REST, then those
# of the tools and of the verbs themselves; lists mean any of them, times are milliseconds.
CONDITIONS: dict[str, ColumnElement[bool]] = {
    "project_id": Ticket.project_id == bindparam("project_id"),
    "state_id": Ticket.state_id == bindparam("state_id"),
    "ticket_type": Ticket.type == bindparam("ticket_type"),
    # As ``ticket_type``, in words that an index of epics has.
    "epics": Ticket.type == literal_column("'epic'"),
    "assignee_user_id": Ticket.assignee_user_id == bindparam("assignee_user_id"),
    "reporter_user_id": Ticket.reporter_user_id == bindparam("reporter_user_id"),
    "priority": Ticket.priority == bindparam("priority"),
    "parent_ticket_id": Ticket.parent_ticket_id == bindparam("parent_ticket_id"),
    "state_category": WorkflowState.category == bindparam("state_category"),
    # As ``state_category``, asked once of the one state whose tickets are wanted.
    "category_of_state": _category_of_state() == bindparam("category_of_state"),
    "label_id": _labelled(TicketLabel.label_id == bindparam("label_id")),
    "common_label_id": _carrying_label(),
    "ready": is_ready(),
    "state_ids": Ticket.state_id.in_(bindparam("state_ids", expanding=True)),
    "label_ids": _labelled(TicketLabel.label_id.in_(bindparam("label_ids", expanding=True))),
    "unassigned": Ticket.assignee_user_id.is_(None),
    "updated_since": Ticket.updated_at >= bindparam("updated_since"),
    "project_ids": Ticket.project_id.in_(bindparam("project_ids", expanding=True)),
    "in_live_projects": in_live_projects(),
    "live": Ticket.deleted_at.is_(None),
    "none": false(),
}


# The filters that an index in list order answers, the one that leaves the fewest tickets first.
_INDEXED = {
    "parent_ticket_id": Ticket.parent_ticket_id,
    "assignee_user_id": Ticket.assignee_user_id,
    "reporter_user_id": Ticket.reporter_user_id,
    "state_id": Ticket.state_id,
    "project_id": Ticket.project_id,
}


@lru_cache(maxsize=512)
def _filtered(source: AnySelect, names: frozenset[str]) -> AnySelect:
    """The query of these filters. It is made once: making it costs more than running it."""
    if "none" in names:
        return source.where(false())
    first = next((name for name in _INDEXED if name in names), None)
    if names >= {"epics", "project_id"} and first != "parent_ticket_id":
        # Epics of a project are fewer than what anybody has in it.
        first = "project_id"
    statement = source
    for name in sorted(names):
        if name in _INDEXED and name != first:
            statement = statement.where(Unindexed(_INDEXED[name]) == bindparam(name))
        else:
            statement = statement.where(CONDITIONS[name])
    return statement


# A label on fewer tickets than this is looked up first; with another, one of its tickets is soon
# met on the way through the list.
_COMMON = 2000
_LAST_OF_FEW = Prepared(
    select(TicketLabel.label_id)
    .where(TicketLabel.label_id == bindparam("label_id"))
    .limit(1)
    .offset(_COMMON - 1)
)


def _is_common(label_id: str) -> bool:
    return bool(_LAST_OF_FEW.all(label_id=label_id))


def ticket_page(
    conditions: Iterable[ColumnElement[bool]],
    filters: dict[str, Any],
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool,
    with_body: bool = True,
) -> Page:
    """A page of tickets, newest first, by the filters of ``CONDITIONS``; the body can be None.

    ``among`` is a query for the ids to choose from; ``conditions`` are whatever else must hold.
    Both cost a query made for this page alone.

    PostgreSQL plans a list anew for each request, and should: which index is best follows from the
    values. So the statement has tickets with their labels alone; the rest that they show comes by
    others, planned once.
    """
    given = {name: filters[name] for name in CONDITIONS.keys() & filters.keys()}
    values = {name: value for name, value in given.items() if value is not None}
    values = {name: value for name, value in values.items() if value is not False}
    if not include_deleted:
        values["live"] = True
    is_epic = values.get("ticket_type") == TicketType.EPIC
    if values.get("ready") and (is_epic or values.get("state_category") == StateCategory.DONE):
        # No such ticket is ready, so none has to be looked at.
        values["none"] = True
    if is_epic:
        del values["ticket_type"]
        values["epics"] = True
    if "label_id" in values and _is_common(values["label_id"]):
        values["common_label_id"] = values.pop("label_id")
    if {"state_id", "state_category"} <= values.keys() and is_postgresql():
        # It would ask each of the state's tickets; SQLite looks at the state first.
        values["category_of_state"] = values.pop("state_category")
    special = [*conditions]
    if filters.get("among") is not None:
        special.append(Ticket.id.in_(filters["among"]))
    source = LISTED if with_body else BODILESS
    statement = _filtered(source, frozenset(values))
    return page(
        statement.where(*special).params(values) if special else statement,
        kind="ticket",
        sort=Ticket.created_at,
        id_column=Ticket.id,
        limit=limit,
        cursor=cursor,
        build=build,
        values=None if special else values,
    )
