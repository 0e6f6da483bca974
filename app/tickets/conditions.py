"""Conditions on tickets that pages filter by, beyond those of REST."""

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import aliased

from app.accounts.models import User, UserType
from app.audit.models import AuditEvent
from app.core.clock import MINUTE_MS, now_ms
from app.projects.models import StateCategory, WorkflowState
from app.tickets.models import RelationType, Ticket, TicketRelation

# A bot that wrote nothing on its ticket for so long counts as quiet (ui.md 4.1, A2).
QUIET_MS = 30 * MINUTE_MS


def is_blocked() -> ColumnElement[bool]:
    """An open ticket blocks it."""
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
            blocker_state.category != StateCategory.DONE.value,
        )
    )


def is_quiet() -> ColumnElement[bool]:
    """Work in progress by a bot that wrote nothing on the ticket for half an hour."""
    wrote = exists(
        select(AuditEvent.id).where(
            AuditEvent.ticket_id == Ticket.id,
            AuditEvent.created_at >= now_ms() - QUIET_MS,
            AuditEvent.actor_user_id == Ticket.assignee_user_id,
        )
    )
    bots = select(User.id).where(User.type == UserType.BOT.value)
    return (
        Ticket.assignee_user_id.in_(bots)
        & (WorkflowState.category == StateCategory.ACTIVE.value)
        & ~wrote
    )
