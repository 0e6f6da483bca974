"""Stalled bots: those assigned an open ticket but silent on it for STALLED_MINUTES.

No extra data is stored: the audit log has the bot's last event on the ticket, or its assignment.
Every ticket has at least its creation event, even an imported one.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select

from app.accounts.models import User, UserType
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.clock import MINUTE_MS, now_ms
from app.database.session import AnySelect, session
from app.projects.models import StateCategory, WorkflowState
from app.tickets.models import Ticket
from app.tickets.read import in_live_projects

DEFAULT_MINUTES = 30
_limits = {"stalled_after_ms": DEFAULT_MINUTES * MINUTE_MS}
_ASSIGNING = ("ticket.assigned", "ticket.created")
# The assignee's own events on its ticket, and the assignment.
_SIGN_OF_HOLDER = and_(
    AuditEvent.ticket_id == Ticket.id,
    or_(AuditEvent.actor_user_id == Ticket.assignee_user_id, AuditEvent.event_type.in_(_ASSIGNING)),
)


def configure(minutes: int) -> None:
    """Set, for this process, the number of silent minutes after which a bot counts as stalled."""
    _limits["stalled_after_ms"] = minutes * MINUTE_MS


def threshold() -> int:
    """The time (ms) before which a stalled bot had its last event."""
    return now_ms() - _limits["stalled_after_ms"]


def last_signs() -> AnySelect:
    """Each open ticket that a bot holds: ``id``, the bot as ``who``, its last event ``at`` (ms)."""
    return (
        select(
            Ticket.id,
            Ticket.assignee_user_id.label("who"),
            func.max(AuditEvent.created_at).label("at"),
        )
        .join(User, and_(User.id == Ticket.assignee_user_id, User.type == UserType.BOT.value))
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .join(AuditEvent, _SIGN_OF_HOLDER)
        .where(
            Ticket.deleted_at.is_(None),
            in_live_projects(),
            WorkflowState.category != StateCategory.DONE.value,
        )
        .group_by(Ticket.id, Ticket.assignee_user_id)
    )


def has_stalled_bot() -> ColumnElement[bool]:
    """The condition that an open ticket has a stalled bot; same rule as ``last_signs``."""
    bots = select(User.id).where(User.type == UserType.BOT.value)
    signs = exists(
        select(AuditEvent.id).where(_SIGN_OF_HOLDER, AuditEvent.created_at > threshold())
    )
    return (
        Ticket.assignee_user_id.in_(bots)
        & (WorkflowState.category != StateCategory.DONE.value)
        & ~signs
    )


def is_stalled(at: int) -> bool:
    """Whether a bot whose last event was at this time (ms) counts as stalled."""
    return at <= threshold()


@operation(Access.READ)
def stalled_since(actor: Actor, ticket_id: str) -> int | None:
    """When (ms) a stalled bot last did something to the ticket; None if its holder is not one."""
    row = session.execute(last_signs().where(Ticket.id == ticket_id)).first()
    return row.at if row is not None and is_stalled(row.at) else None


def stalled_since_by_id(ticket_ids: Sequence[str]) -> dict[str, int]:
    """By id: when (ms) the stalled bot that holds the ticket last did something to it."""
    rows = session.execute(last_signs().where(Ticket.id.in_(ticket_ids)))
    return {row.id: row.at for row in rows if is_stalled(row.at)}


@operation(Access.READ)
def held_by(actor: Actor, bot_id: str, limit: int) -> Sequence[Any]:
    """The open tickets that a bot holds, longest silent first, with ``at`` (ms) and the state."""
    signs = last_signs().where(Ticket.assignee_user_id == bot_id).subquery()
    return session.execute(
        select(
            Ticket.id,
            Ticket.display_id,
            Ticket.title,
            Ticket.type,
            WorkflowState.name.label("state"),
            WorkflowState.category,
            signs.c.at,
        )
        .join(signs, signs.c.id == Ticket.id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .order_by(signs.c.at, Ticket.id)
        .limit(limit)
    ).all()
