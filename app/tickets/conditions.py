"""Conditions on tickets that pages filter by, beyond those of REST."""

from sqlalchemy import ColumnElement, exists, select

from app.accounts.models import User, UserType
from app.audit.models import AuditEvent
from app.core.clock import now_ms
from app.projects.models import StateCategory, WorkflowState
from app.tickets import quiet
from app.tickets.models import Ticket


def is_quiet() -> ColumnElement[bool]:
    """An open ticket of a bot that has been silent on it, as ``quiet`` says."""
    signs = exists(
        select(AuditEvent.id).where(
            quiet.SIGN_OF_HOLDER, AuditEvent.created_at > now_ms() - quiet.QUIET_MS
        )
    )
    bots = select(User.id).where(User.type == UserType.BOT.value)
    return (
        Ticket.assignee_user_id.in_(bots)
        & (WorkflowState.category != StateCategory.DONE.value)
        & ~signs
    )
