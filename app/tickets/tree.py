"""The list as a tree: epics, below them their stories, below those their subtasks.

A page holds the top of so many trees, newest first, and all that lies below. With filters, what
does not fit stays only where something below it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import aliased

from app.core.db import session
from app.projects.models import WorkflowState
from app.tickets import listing
from app.tickets.cards import Parts, parts_of
from app.tickets.listing import Found, Row, Sort
from app.tickets.models import Ticket

LEVELS = 3
# Of one page of trees; more would be no page.
MOST_BELOW = 1000


@dataclass(slots=True)
class Branch:
    """A ticket with what lies below it."""

    row: Row
    level: int
    # Whether it fits the filters itself.
    fits: bool
    parts: Parts
    below: list["Branch"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Forest:
    """A page of trees, flat and in order, and the cursors around it."""

    branches: list[Branch]
    found: Found


def find(
    project_id: str,
    conditions: Sequence[ColumnElement[bool]],
    sort: Sort,
    *,
    limit: int,
    cursor: str | None,
    backwards: bool = False,
) -> Forest:
    """A page of the project's trees; raises InvalidField for a bad cursor."""
    inside = Ticket.project_id == project_id
    shown = _with_ancestors(inside, conditions)
    top = [inside, Ticket.parent_ticket_id.is_(None)]
    if conditions:
        top.append(Ticket.id.in_(shown))
    found = listing.find(top, sort, limit=limit, cursor=cursor, backwards=backwards)
    rows = list(found.rows)
    layer = [row["id"] for row in rows]
    for _ in range(LEVELS - 1):
        if not layer:
            break
        under = [Ticket.parent_ticket_id.in_(layer)]
        if conditions:
            under.append(Ticket.id.in_(shown))
        statement = listing.SOURCE.where(*under).order_by(Ticket.created_at, Ticket.id)
        below = listing.build(session.execute(statement.limit(MOST_BELOW)).all())
        rows += below
        layer = [row["id"] for row in below]
    return Forest(_flat(found.rows, rows, _fitting(rows, conditions)), found)


def _with_ancestors(inside: ColumnElement[bool], conditions: Sequence[ColumnElement[bool]]) -> Any:
    """A query for the ids of what fits, and of what it lies below."""
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
    every = [row["id"] for row in rows]
    if not conditions or not every:
        return set(every)
    return set(listing.ids([Ticket.id.in_(every), *conditions], len(every)))


def _flat(top: Sequence[Row], rows: Sequence[Row], fitting: set[str]) -> list[Branch]:
    parts = parts_of([row["id"] for row in rows])
    below: dict[str, list[Row]] = {}
    for row in rows:
        if row["parent_id"]:
            below.setdefault(row["parent_id"], []).append(row)
    made: list[Branch] = []

    def add(row: Row, level: int) -> Branch:
        identifier = row["id"]
        branch = Branch(row, level, identifier in fitting, parts.get(identifier, Parts()))
        made.append(branch)
        branch.below = [add(child, level + 1) for child in below.get(identifier, [])]
        return branch

    for row in top:
        add(row, 1)
    return made
