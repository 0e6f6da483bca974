"""Trees of epics, stories and subtasks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import aliased

from app.database.session import session
from app.projects.models import StateCategory, WorkflowState
from app.tickets import list_pages, listing
from app.tickets.cards import Parts, parts_of
from app.tickets.list_pages import FoundTickets, Order, Row
from app.tickets.models import Ticket
from app.tickets.read import LIVE, tickets_json

LEVELS = 3
MAX_TICKETS_PER_LEVEL = 1000


@dataclass(slots=True)
class Branch:
    """A ticket with its descendants."""

    row: Row
    level: int
    # Whether the ticket itself matches the filters.
    fits: bool
    parts: Parts
    below: list["Branch"] = field(default_factory=list)


def find_trees(
    project_id: str,
    conditions: Sequence[ColumnElement[bool]],
    order: Order,
    *,
    limit: int,
    cursor: str | None,
    backwards: bool,
) -> tuple[list[Branch], FoundTickets]:
    """A page of the project's trees: all branches, depth first, and the page of their roots.

    A ticket that does not match is included only if a descendant matches. Raises InvalidField.
    """
    inside = Ticket.project_id == project_id
    shown = _with_ancestors(inside, conditions)
    roots = [inside, Ticket.parent_ticket_id.is_(None)]
    if conditions:
        roots.append(Ticket.id.in_(shown))
    found = list_pages.walk(roots, order, limit=limit, cursor=cursor, backwards=backwards)
    rows = list(found.rows)
    parent_ids = [row["id"] for row in rows]
    for _ in range(LEVELS - 1):
        if not parent_ids:
            break
        conditions_below = [Ticket.parent_ticket_id.in_(parent_ids)]
        if conditions:
            conditions_below.append(Ticket.id.in_(shown))
        statement = LIVE.where(*conditions_below).order_by(Ticket.created_at, Ticket.id)
        below = tickets_json(session.execute(statement.limit(MAX_TICKETS_PER_LEVEL)).all())
        rows += below
        parent_ids = [row["id"] for row in below]
    return _branches(found.rows, rows, _fitting(rows, conditions)), found


def _with_ancestors(inside: ColumnElement[bool], conditions: Sequence[ColumnElement[bool]]) -> Any:
    """A query for the ids of matching tickets and their ancestors."""
    fitting = (
        select(Ticket.id, Ticket.parent_ticket_id.label("above"))
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(inside, Ticket.deleted_at.is_(None), *conditions)
        .cte("fitting")
    )
    parent = aliased(Ticket)
    grand = select(parent.parent_ticket_id).where(parent.id.in_(select(fitting.c.above)))
    both = aliased(Ticket)
    return select(both.id).where(
        or_(
            both.id.in_(select(fitting.c.id)),
            both.id.in_(select(fitting.c.above)),
            both.id.in_(grand),
        )
    )


def _fitting(rows: Sequence[Row], conditions: Sequence[ColumnElement[bool]]) -> set[str]:
    all_ids = [row["id"] for row in rows]
    if not conditions or not all_ids:
        return set(all_ids)
    return set(listing.ids([Ticket.id.in_(all_ids), *conditions], len(all_ids)))


def _branches(top: Sequence[Row], rows: Sequence[Row], fitting: set[str]) -> list[Branch]:
    parts = parts_of([row["id"] for row in rows])
    below: dict[str, list[Row]] = {}
    for row in rows:
        if row["parent_ticket_id"]:
            below.setdefault(row["parent_ticket_id"], []).append(row)
    branches: list[Branch] = []

    def add(row: Row, level: int) -> Branch:
        identifier = row["id"]
        branch = Branch(row, level, identifier in fitting, parts.get(identifier, Parts()))
        branches.append(branch)
        branch.below = [add(child, level + 1) for child in below.get(identifier, [])]
        return branch

    for row in top:
        add(row, 1)
    return branches


def open_below(ticket_ids: Collection[str]) -> int:
    """The number of open children of the done ones among these tickets."""
    parent, parent_state = aliased(Ticket), aliased(WorkflowState)
    done = StateCategory.DONE.value
    statement = (
        select(func.count())
        .select_from(Ticket)
        .join(parent, parent.id == Ticket.parent_ticket_id)
        .join(parent_state, parent_state.id == parent.state_id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(
            Ticket.parent_ticket_id.in_(ticket_ids),
            Ticket.deleted_at.is_(None),
            parent_state.category == done,
            WorkflowState.category != done,
        )
    )
    return int(session.scalar(statement) or 0)


def kept_below(ticket_ids: Collection[str]) -> int:
    """The number of live children that stay if these tickets are deleted."""
    statement = select(func.count()).where(
        Ticket.parent_ticket_id.in_(ticket_ids),
        Ticket.id.not_in(ticket_ids),
        Ticket.deleted_at.is_(None),
    )
    return int(session.scalar(statement) or 0)
