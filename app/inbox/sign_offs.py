"""Tickets that a bot left in the review state of their project, for a person to sign off.

``tickets/sign_off.py`` has the rule that bots need a person for this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, select

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.audit.event_types import Category
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, ActorKind, operation
from app.core.errors import Conflict, InvalidField
from app.core.etag import check_if_match, etag
from app.database.session import session
from app.inbox import messages
from app.projects import states
from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets import loaders, service
from app.tickets.models import Comment, Ticket

# The most tickets that are considered, the newest first, and that are shown.
MAX_TICKETS = 200
MAX_SHOWN_TICKETS = 20
# The newest events of a ticket that are searched for what bots did.
MAX_EVENTS_PER_TICKET = 50
ENTRIES = ("ticket.state_changed", "ticket.created", "ticket.restored")


@dataclass(frozen=True, slots=True)
class AwaitedSignOff:
    """A ticket that a bot left in the review state; ``said`` is its last comment on it."""

    ticket: Any
    by: UserSummary
    said: str
    at: int
    event_id: str

    @property
    def seen(self) -> str:
        """The ETag of the ticket as shown."""
        return etag(self.ticket.updated_at, self.ticket.id)


def last_comment(*conditions: ColumnElement[bool]) -> ScalarSelect[str]:
    """The body of the last comment of an event's actor on its ticket, in SQL."""
    return (
        select(Comment.body)
        .where(
            Comment.ticket_id == AuditEvent.ticket_id,
            Comment.author_user_id == AuditEvent.actor_user_id,
            Comment.deleted_at.is_(None),
            *conditions,
        )
        .order_by(Comment.created_at.desc(), Comment.id.desc())
        .limit(1)
        .correlate(AuditEvent)
        .scalar_subquery()
    )


@operation(Access.HUMAN)
def awaited(actor: Actor) -> list[AwaitedSignOff]:
    """The tickets that wait for a sign-off, the longest waiting last.

    There is one more than ``MAX_SHOWN_TICKETS`` if not all are shown.
    """
    in_review = (
        select(Ticket.id)
        .join(Project, Project.review_state_id == Ticket.state_id)
        .where(Project.sign_off, Project.deleted_at.is_(None), Ticket.deleted_at.is_(None))
        .order_by(Ticket.updated_at.desc(), Ticket.id.desc())
        .limit(MAX_TICKETS)
        .subquery()
    )
    last_entry = (
        select(AuditEvent.id)
        .where(AuditEvent.ticket_id == Ticket.id, AuditEvent.event_type.in_(ENTRIES))
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(1)
        .correlate(Ticket)
        .scalar_subquery()
    )
    rows = session.execute(
        select(
            AuditEvent.id.label("event_id"),
            AuditEvent.created_at,
            Ticket.id,
            Ticket.project_id,
            Ticket.display_id,
            Ticket.title,
            Ticket.type,
            Ticket.updated_at,
            Project.key,
            WorkflowState.name.label("state_name"),
            User.id.label("user_id"),
            User.type.label("user_type"),
            User.username,
            User.display_name,
            last_comment().label("said"),
        )
        .select_from(Ticket)
        .join(Project, Project.id == Ticket.project_id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .join(AuditEvent, AuditEvent.id == last_entry)
        .join(User, User.id == AuditEvent.actor_user_id)
        .where(Ticket.id.in_(select(in_review.c.id)), AuditEvent.actor_kind == ActorKind.BOT.value)
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(MAX_SHOWN_TICKETS + 1)
    )
    return [
        AwaitedSignOff(
            row,
            user_summary(row.user_id, row.user_type, row.username, row.display_name),
            row.said or "",
            row.created_at,
            row.event_id,
        )
        for row in rows
    ]


@operation(Access.HUMAN)
def done_by_bots(actor: Actor, reference: str) -> tuple[Ticket, Sequence[AuditEvent]]:
    """A ticket and what bots did on it after a person's last action, oldest first.

    Raises NotFound or Gone.
    """
    ticket = loaders.visible(actor, reference)
    newest = session.scalars(
        select(AuditEvent)
        .where(
            AuditEvent.ticket_id == ticket.id,
            AuditEvent.category == Category.ACTIVITY.value,
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(MAX_EVENTS_PER_TICKET)
    ).all()
    since = next(
        (place for place, event in enumerate(newest) if event.actor_kind == ActorKind.HUMAN),
        len(newest),
    )
    return ticket, newest[:since][::-1]


@operation(Access.HUMAN)
def sign_off(actor: Actor, reference: str, *, seen: str, comment: str = "") -> Ticket:
    """Move a waiting ticket to the project's first done state.

    ``seen`` is the ETag of what the person saw. Raises Conflict ``etag_mismatch``, or
    ``invariant_violation`` if the ticket does not wait, and InvalidField for a bad comment.
    """
    ticket = _waiting(actor, reference, seen)
    done = next(
        (one for one in states.ordered(ticket.project_id) if one.category == StateCategory.DONE),
        None,
    )
    if done is None:
        raise Conflict("invariant_violation", messages.NO_DONE_STATE)
    return service.transition_ticket(actor, ticket, state_id=done.id, comment=comment or None)


@operation(Access.HUMAN)
def send_back(actor: Actor, reference: str, *, seen: str, comment: str) -> Ticket:
    """Move a waiting ticket back to its previous state, with a comment that says why.

    Raises the errors of ``sign_off``, and InvalidField without a comment.
    """
    ticket = _waiting(actor, reference, seen)
    if not comment.strip():
        raise InvalidField("comment", "blank", messages.SAY_WHAT_IS_MISSING)
    return service.transition_ticket(actor, ticket, state_id=_state_before(ticket), comment=comment)


def _waiting(actor: Actor, reference: str, seen: str) -> Ticket:
    ticket = loaders.writable(actor, reference)
    project = session.get_one(Project, ticket.project_id)
    if not project.sign_off or ticket.state_id != project.review_state_id:
        message = messages.not_waiting(ticket.display_id)
        raise Conflict("invariant_violation", message)
    check_if_match(seen, ticket.etag)
    return ticket


def _state_before(ticket: Ticket) -> str:
    """The open state that the ticket came from, else the first active, else the first open one."""
    open_states = [
        one
        for one in states.ordered(ticket.project_id)
        if one.category != StateCategory.DONE and one.id != ticket.state_id
    ]
    came_from = session.scalar(
        select(AuditEvent.payload["from_state_id"].as_string())
        .where(AuditEvent.ticket_id == ticket.id, AuditEvent.event_type == "ticket.state_changed")
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(1)
    )
    if any(one.id == came_from for one in open_states):
        return str(came_from)
    active = [one for one in open_states if one.category == StateCategory.ACTIVE]
    if not open_states:
        raise Conflict("invariant_violation", messages.NO_OTHER_OPEN_STATE)
    return (active or open_states)[0].id
