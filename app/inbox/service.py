"""The inbox: what others did to the tickets that a person watches, holds or is mentioned in.

It is a query over the audit log of the last ``DAYS``. Read markers, one for everything and one per
ticket, only move forward.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    String,
    and_,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    union,
)
from sqlalchemy.orm import aliased

from app.accounts import personal
from app.accounts.models import BotToken, ReadMarker
from app.activity.service import of_rows
from app.audit.catalogue import Category
from app.audit.models import AuditEvent
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import DAY_MS, MINUTE_MS, now_ms
from app.core.errors import InvalidField, NotFound
from app.database.pagination import Page, page
from app.database.session import by_id, session
from app.inbox.mentions import mentioned_on
from app.projects.models import Project
from app.tickets import loaders as tickets
from app.tickets.models import Ticket, TicketWatcher

SUBJECT = "inbox"
# The subject of a ticket's marker is this prefix and the ticket's id.
OF_TICKET = "inbox:"
DAYS = 30
COUNTED = 100
# The last use of a token is written up to a minute late (``accounts/last_used.py``).
AT_WORK_MS = 2 * MINUTE_MS
# Sorts before every event id.
BEFORE_ALL = "00000000-0000-0000-0000-000000000000"
# Events that are no news to anyone.
IGNORED = ("ticket.watcher_added", "ticket.watcher_removed")

Own = aliased(ReadMarker, name="own")


@dataclass(frozen=True, slots=True)
class Standing:
    """What the header of every page shows; ``tickets`` counts those with news up to ``COUNTED``."""

    tickets: int
    is_bot_at_work: bool


@dataclass(frozen=True, slots=True)
class _Read:
    """How far everything is read: events before ``start``, and those up to ``event_id``."""

    start: int
    event_id: str


def _read(actor: Actor) -> _Read:
    marker = personal.marker(actor, SUBJECT)
    oldest = now_ms() - DAYS * DAY_MS
    if marker is None:
        return _Read(oldest, BEFORE_ALL)
    return _Read(max(oldest, ids.created_ms(marker.event_id)), marker.event_id)


def _own_tickets(actor: Actor) -> CTE:
    """The ids of the live tickets that the person watches, holds or is mentioned in."""
    watched = select(TicketWatcher.ticket_id.label("id")).where(TicketWatcher.user_id == actor.id)
    held = select(Ticket.id).where(Ticket.assignee_user_id == actor.id, Ticket.deleted_at.is_(None))
    mentioned = select(Ticket.id).where(
        Ticket.id.in_(mentioned_on(actor, now_ms() - DAYS * DAY_MS))
    )
    live = (
        select(Ticket.id)
        .join(Project, Project.id == Ticket.project_id)
        .where(Ticket.deleted_at.is_(None), Project.deleted_at.is_(None))
    )
    return live.where(Ticket.id.in_(union(watched, held, mentioned))).cte("own_tickets")


def _is_news(actor: Actor, read: _Read) -> ColumnElement[bool]:
    """Whether an event is by someone else and unread; ``Own`` is the marker of its ticket."""
    return and_(
        AuditEvent.category == Category.ACTIVITY.value,
        AuditEvent.event_type.not_in(IGNORED),
        or_(AuditEvent.actor_user_id.is_(None), AuditEvent.actor_user_id != actor.id),
        AuditEvent.created_at >= read.start,
        AuditEvent.id > read.event_id,
        or_(Own.event_id.is_(None), AuditEvent.id > Own.event_id),
    )


def _own_marker(actor: Actor, ticket_id: Any) -> ColumnElement[bool]:
    subject = literal(OF_TICKET, String).concat(cast(ticket_id, String))
    return and_(Own.user_id == actor.id, Own.subject == subject)


@operation(Access.HUMAN)
def unread(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """The unread events, newest first; raises InvalidField for a bad cursor."""
    own = _own_tickets(actor)
    return page(
        select(AuditEvent, AuditEvent.id, AuditEvent.created_at)
        .join(own, own.c.id == AuditEvent.ticket_id)
        .outerjoin(Own, _own_marker(actor, AuditEvent.ticket_id))
        .where(_is_news(actor, _read(actor))),
        kind="audit_event",
        sort=AuditEvent.created_at,
        id_column=AuditEvent.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: of_rows(rows, actor),
    )


@operation(Access.HUMAN)
def standing(actor: Actor) -> Standing:
    """How many tickets have unread events, and whether a bot was active just now."""
    own = _own_tickets(actor)
    news = (
        exists()
        .where(AuditEvent.ticket_id == own.c.id, _is_news(actor, _read(actor)))
        .correlate(own, Own)
    )
    unread_tickets = (
        select(own.c.id)
        .outerjoin(Own, _own_marker(actor, own.c.id))
        .where(news)
        .limit(COUNTED)
        .subquery()
    )
    used = exists().where(BotToken.is_active, BotToken.last_used_at >= now_ms() - AT_WORK_MS)
    count = select(func.count()).select_from(unread_tickets).scalar_subquery()
    tickets, is_bot_at_work = session.execute(select(count, used)).one()
    return Standing(tickets, bool(is_bot_at_work))


@operation(Access.HUMAN)
def mark_read(actor: Actor, event_id: str) -> None:
    """Mark everything up to this event as read; raises InvalidField if there is no such event."""
    personal.move_marker(actor, SUBJECT, _event(event_id).id)


@operation(Access.HUMAN)
def mark_ticket_read(actor: Actor, reference: str, event_id: str) -> None:
    """Mark a ticket's events up to this one as read; raises InvalidField and NotFound."""
    ticket = tickets.find(reference)
    if ticket is None:
        raise NotFound("ticket", reference)
    personal.move_marker(actor, f"{OF_TICKET}{ticket.id}", _event(event_id).id)


def _event(event_id: str) -> AuditEvent:
    event = by_id(AuditEvent, event_id)
    if event is None:
        raise InvalidField("event_id", "not_found", "There is no such event.")
    return event
