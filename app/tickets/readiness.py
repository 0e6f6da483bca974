"""Which tickets count: those of live projects, those that something blocks, those to be started."""

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import aliased

from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets.models import RelationType, Ticket, TicketRelation, TicketType


def in_live_projects(ticket: type[Ticket] = Ticket) -> ColumnElement[bool]:
    """Tickets of deleted projects are in no list."""
    deleted = select(Project.id).where(Project.deleted_at.is_not(None))
    return ticket.project_id.not_in(deleted)


def is_blocked() -> ColumnElement[bool]:
    """An open ticket blocks it, one that can be seen: not deleted, nor its project."""
    blocker = aliased(Ticket, name="blocker")
    blocker_state = aliased(WorkflowState, name="blocker_state")
    return exists(
        select(TicketRelation.id)
        .join(blocker, blocker.id == TicketRelation.source_ticket_id)
        .join(blocker_state, blocker_state.id == blocker.state_id)
        .where(
            TicketRelation.target_ticket_id == Ticket.id,
            TicketRelation.type == RelationType.BLOCKS.value,
            blocker.deleted_at.is_(None),
            in_live_projects(blocker),
            blocker_state.category != StateCategory.DONE.value,
        )
    )


def is_ready() -> ColumnElement[bool]:
    """Work that may be started: not done, nobody's, not an epic, and not blocked."""
    return (
        Ticket.type.in_([TicketType.STORY.value, TicketType.SUBTASK.value])
        & Ticket.assignee_user_id.is_(None)
        & Ticket.deleted_at.is_(None)
        & (WorkflowState.category != StateCategory.DONE.value)
        & ~is_blocked()
    )
