"""The list of tickets as people see it: sorted, a keyset page at a time, forwards and back.

Sorted by when tickets were made, in one project or all (``ix_tickets_live_project``,
``ix_tickets_live_all``), and in a project by when they last changed (``ix_tickets_live_updated``).
Those are the orders that an index gives; by anything else a page would read every ticket.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.accounts.builders import user_summary
from app.accounts.models import User
from app.core.db import AnyRow, session
from app.core.pagination import Cursor, encode, page
from app.projects.models import WorkflowState
from app.tickets.builders import state_summary
from app.tickets.models import Ticket
from app.tickets.queries import labels_of

Row = dict[str, Any]

Parent = aliased(Ticket, name="parent")
COLUMNS = (
    Ticket.id,
    Ticket.display_id,
    Ticket.project_id,
    Ticket.type,
    Ticket.title,
    Ticket.priority,
    Ticket.due_date,
    Ticket.created_at,
    Ticket.updated_at,
    Ticket.parent_ticket_id,
    Parent.display_id.label("parent_display_id"),
    Parent.title.label("parent_title"),
    WorkflowState.id.label("state_id"),
    WorkflowState.name.label("state_name"),
    WorkflowState.category.label("state_category"),
    User.id.label("user_id"),
    User.type.label("user_type"),
    User.username,
    User.display_name,
)
SOURCE = (
    select(*COLUMNS)
    .join(WorkflowState, WorkflowState.id == Ticket.state_id)
    .outerjoin(User, User.id == Ticket.assignee_user_id)
    .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
    .where(Ticket.deleted_at.is_(None))
)


@dataclass(frozen=True, slots=True)
class Sort:
    """An order: by which column, and whether the smallest comes first."""

    name: str
    column: InstrumentedAttribute[int]
    ascending: bool = False

    @property
    def kind(self) -> str:
        """What cursors of this order are called: those of another one do not fit."""
        return f"ticket.{self.name}"


SORTS = {
    one.name: one
    for one in (
        Sort("created", Ticket.created_at),
        Sort("oldest", Ticket.created_at, ascending=True),
        Sort("updated", Ticket.updated_at),
        Sort("stale", Ticket.updated_at, ascending=True),
    )
}
OF_ALL_PROJECTS = ("created", "oldest")


@dataclass(frozen=True, slots=True)
class Found:
    """A page of rows, and the cursors of the pages around it."""

    rows: list[Row]
    before: str | None
    after: str | None


def find(
    conditions: Sequence[ColumnElement[bool]],
    sort: Sort,
    *,
    limit: int,
    cursor: str | None,
    backwards: bool = False,
) -> Found:
    """The page after a cursor, or ``backwards`` the one before it; raises InvalidField."""
    found = page(
        SOURCE.where(*conditions),
        kind=sort.kind,
        sort=sort.column,
        id_column=Ticket.id,
        limit=limit,
        cursor=cursor,
        build=build,
        ascending=sort.ascending != backwards,
    )
    rows = found.data[::-1] if backwards else found.data
    more = found.next_cursor is not None
    return Found(
        rows,
        before=_cursor(rows, 0, sort) if (more if backwards else cursor is not None) else None,
        after=_cursor(rows, -1, sort) if (backwards or more) else None,
    )


def _cursor(rows: Sequence[Row], at: int, sort: Sort) -> str | None:
    if not rows:
        return None
    return encode(Cursor(kind=sort.kind, id=rows[at]["id"], at=rows[at][sort.column.key]))


def build(rows: Sequence[AnyRow]) -> list[Row]:
    """Rows as templates read them."""
    labels = labels_of([row.id for row in rows])
    return [
        {
            "id": row.id,
            "display_id": row.display_id,
            "project_id": row.project_id,
            "type": row.type,
            "title": row.title,
            "priority": row.priority,
            "due_date": row.due_date,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "parent_id": row.parent_ticket_id,
            "parent": row.parent_display_id,
            "parent_title": row.parent_title,
            "state": state_summary(row.state_id, row.state_name, row.state_category),
            "assignee": user_summary(row.user_id, row.user_type, row.username, row.display_name)
            if row.user_id
            else None,
            "labels": labels.get(row.id, []),
        }
        for row in rows
    ]


def ids(conditions: Sequence[ColumnElement[bool]], limit: int) -> list[str]:
    """The ids of the tickets that fit, newest first, at most so many."""
    statement = (
        select(Ticket.id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.deleted_at.is_(None), *conditions)
        .order_by(Ticket.created_at.desc(), Ticket.id.desc())
        .limit(limit)
    )
    return list(session.scalars(statement))
