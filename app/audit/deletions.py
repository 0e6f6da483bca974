"""Checking who deleted an item: a bot may restore only its own deletions."""

from typing import Literal

from sqlalchemy import select

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import Forbidden
from app.database.session import session


def check_own(
    actor: Actor,
    event_type: Literal["ticket.deleted", "comment.deleted", "wiki.deleted"],
    *,
    ticket_id: str | None = None,
    comment_id: str | None = None,
    page_id: str | None = None,
) -> None:
    """Raise Forbidden ``not_own_deletion`` for a bot unless the last deletion is its own.

    ``ticket_id`` is that of the ticket or of the comment's ticket.
    """
    if not actor.is_bot:
        return
    statement = select(AuditEvent.actor_user_id).where(AuditEvent.event_type == event_type)
    if ticket_id is not None:
        statement = statement.where(AuditEvent.ticket_id == ticket_id)
    if comment_id is not None:
        statement = statement.where(AuditEvent.payload["comment_id"].as_string() == comment_id)
    if page_id is not None:
        statement = statement.where(AuditEvent.target_id == page_id)
    newest_first = statement.order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    if session.scalar(newest_first.limit(1)) != actor.user_id:
        raise Forbidden("not_own_deletion")
