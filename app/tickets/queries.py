"""Reading tickets: explicit columns, one query for the rows and one for their labels.

Lists are keyset pages over an index; nothing here grows with the table.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import aliased

from app.accounts.models import User
from app.core.db import AnyRow, AnySelect, session
from app.core.pagination import Page, page
from app.projects.models import Label, Project, StateCategory, WorkflowState
from app.tickets.builders import LabelSummary, ticket_json
from app.tickets.models import RelationType, Ticket, TicketLabel, TicketRelation, TicketType

Assignee = aliased(User, name="assignee")
Reporter = aliased(User, name="reporter")
Parent = aliased(Ticket, name="parent")
ParentState = aliased(WorkflowState, name="parent_state")

# In the order in which ``builders.ticket_json`` unpacks them.
COLUMNS = (
    Ticket.id,
    Ticket.display_id,
    Ticket.ticket_number,
    Ticket.project_id,
    Ticket.type,
    Ticket.title,
    Ticket.body,
    Ticket.priority,
    Ticket.due_date,
    Ticket.created_at,
    Ticket.updated_at,
    Ticket.deleted_at,
    Ticket.state_id,
    WorkflowState.name.label("state_name"),
    WorkflowState.category.label("state_category"),
    Ticket.assignee_user_id,
    Assignee.type.label("assignee_type"),
    Assignee.username.label("assignee_username"),
    Assignee.display_name.label("assignee_display_name"),
    Ticket.reporter_user_id,
    Reporter.type.label("reporter_type"),
    Reporter.username.label("reporter_username"),
    Reporter.display_name.label("reporter_display_name"),
    Ticket.parent_ticket_id,
    Parent.display_id.label("parent_display_id"),
    Parent.title.label("parent_title"),
    Parent.type.label("parent_type"),
    ParentState.id.label("parent_state_id"),
    ParentState.name.label("parent_state_name"),
    ParentState.category.label("parent_state_category"),
)

FULL = (
    select(*COLUMNS)
    .join(Reporter, Reporter.id == Ticket.reporter_user_id)
    .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
    .outerjoin(Assignee, Assignee.id == Ticket.assignee_user_id)
    .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
    .outerjoin(ParentState, ParentState.id == Parent.state_id)
)


def labels_of(ticket_ids: Iterable[str]) -> dict[str, list[LabelSummary]]:
    """The labels of each of these tickets, by name, in one query."""
    wanted = list(ticket_ids)
    found: dict[str, list[LabelSummary]] = {ticket_id: [] for ticket_id in wanted}
    if not wanted:
        return found
    rows = session.execute(
        select(TicketLabel.ticket_id, Label.id, Label.name, Label.color, Label.name_key)
        .join(Label, Label.id == TicketLabel.label_id)
        .where(TicketLabel.ticket_id.in_(wanted))
    ).all()
    for row in sorted(rows, key=lambda row: (row.name_key, row.id)):
        found[row.ticket_id].append({"id": row.id, "name": row.name, "color": row.color})
    return found


def build(rows: Sequence[AnyRow]) -> list[dict[str, Any]]:
    """The JSON of full rows."""
    labels = labels_of(row.id for row in rows)
    return [ticket_json(row, labels[row.id]) for row in rows]


def ticket_by_id(ticket_id: str) -> dict[str, Any]:
    """The JSON of one ticket that was found before."""
    return build([session.execute(FULL.where(Ticket.id == ticket_id)).one()])[0]


def in_live_projects() -> ColumnElement[bool]:
    """Tickets of deleted projects are in no list (decisions.md, section 2)."""
    deleted = select(Project.id).where(Project.deleted_at.is_not(None))
    return Ticket.project_id.not_in(deleted)


def is_ready() -> ColumnElement[bool]:
    """Work that may be started: not done, nobody's, not an epic, and no open ticket blocks it."""
    blocker = aliased(Ticket, name="blocker")
    blocker_state = aliased(WorkflowState, name="blocker_state")
    blocked = exists(
        select(TicketRelation.id)
        .join(blocker, blocker.id == TicketRelation.source_ticket_id)
        .join(blocker_state, blocker_state.id == blocker.state_id)
        .where(
            TicketRelation.target_ticket_id == Ticket.id,
            TicketRelation.type == RelationType.BLOCKS.value,
            blocker.deleted_at.is_(None),
            blocker_state.category != StateCategory.DONE.value,
        )
    )
    return (
        Ticket.type.in_([TicketType.STORY.value, TicketType.SUBTASK.value])
        & Ticket.assignee_user_id.is_(None)
        & Ticket.deleted_at.is_(None)
        & (WorkflowState.category != StateCategory.DONE.value)
        & ~blocked
    )


def filtered(statement: AnySelect, filters: dict[str, Any]) -> AnySelect:
    """Narrow a ticket query by the single-value filters of REST (interface.md, Tickets).

    Of the tools alone: ``state_ids`` and ``label_ids`` (any of them), ``unassigned``,
    ``updated_since`` in milliseconds, and ``among``, a query for the ids to choose from.
    """
    equal = {
        "project_id": Ticket.project_id,
        "state_id": Ticket.state_id,
        "ticket_type": Ticket.type,
        "assignee_user_id": Ticket.assignee_user_id,
        "reporter_user_id": Ticket.reporter_user_id,
        "priority": Ticket.priority,
        "parent_ticket_id": Ticket.parent_ticket_id,
    }
    for name, column in equal.items():
        if filters.get(name) is not None:
            statement = statement.where(column == filters[name])
    if filters.get("state_category") is not None:
        statement = statement.where(WorkflowState.category == filters["state_category"])
    if filters.get("label_id") is not None:
        labelled = select(TicketLabel.ticket_id).where(TicketLabel.label_id == filters["label_id"])
        statement = statement.where(Ticket.id.in_(labelled))
    if filters.get("ready"):
        statement = statement.where(is_ready())
    return _by_tool_filters(statement, filters)


def _by_tool_filters(statement: AnySelect, filters: dict[str, Any]) -> AnySelect:
    if filters.get("state_ids") is not None:
        statement = statement.where(Ticket.state_id.in_(filters["state_ids"]))
    if filters.get("label_ids") is not None:
        labelled = select(TicketLabel.ticket_id).where(
            TicketLabel.label_id.in_(filters["label_ids"])
        )
        statement = statement.where(Ticket.id.in_(labelled))
    if filters.get("unassigned"):
        statement = statement.where(Ticket.assignee_user_id.is_(None))
    if filters.get("updated_since") is not None:
        statement = statement.where(Ticket.updated_at >= filters["updated_since"])
    if filters.get("among") is not None:
        statement = statement.where(Ticket.id.in_(filters["among"]))
    return statement


def ticket_page(
    conditions: Iterable[ColumnElement[bool]],
    filters: dict[str, Any],
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool,
) -> Page:
    """A page of tickets, newest first."""
    statement = filtered(FULL.where(*conditions), filters)
    if not include_deleted:
        statement = statement.where(Ticket.deleted_at.is_(None))
    return page(
        statement,
        kind="ticket",
        sort=Ticket.created_at,
        id_column=Ticket.id,
        limit=limit,
        cursor=cursor,
        build=build,
    )
