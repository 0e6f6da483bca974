"""The inbox: what others did to the tickets that concern a person, grouped by ticket.

A ticket concerns its watchers, assignee, creator, commenters and mentioned users, unless they
muted it. This is computed when the inbox is read: indexes find the newest
``MAX_TICKETS_PER_KIND``, and the newest event of each ticket. Nothing older than ``DAYS`` is news.

The read marker of the inbox is the event up to which everything is read. For a ticket with its
own marker, that marker applies instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    ColumnElement,
    Select,
    String,
    and_,
    case,
    cast,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    union,
    union_all,
)
from sqlalchemy.orm import aliased

from app.accounts import personal
from app.accounts.models import BotToken, Preferences, ReadMarker
from app.activity.service import events_json
from app.audit.event_types import Category
from app.audit.models import AuditEvent
from app.audit.service import is_stable
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import DAY_MS, MINUTE_MS, now_ms
from app.core.errors import InvalidField, NotFound
from app.database.columns import Id, shared_alias
from app.database.pagination import Cursor, Page, decode, encode
from app.database.session import by_id, session
from app.inbox import messages
from app.inbox.mentions import mentioned_on
from app.projects.models import Project
from app.tickets import loaders as tickets
from app.tickets.comments import with_texts
from app.tickets.models import Comment, Ticket, TicketMute, TicketWatcher

SUBJECT = "inbox"
# The subject of a ticket's marker is this prefix plus the ticket's id.
OF_TICKET = "inbox:"
DAYS = 30
MAX_COUNT = 100
# The kinds: watched, assigned, created, commented on, mentioned on.
MAX_TICKETS_PER_KIND = 500
# A bot's claims are looked up among this many of its events, including calls.
CLAIMS_AMONG = 2000
EVENTS_PER_TICKET = 5
# The last use of a token is written up to a minute late (``accounts/authentication.py``).
AT_WORK_MS = 2 * MINUTE_MS
# Events that are not news to anyone.
IGNORED = ("ticket.watcher_added", "ticket.watcher_removed")

Own = shared_alias(ReadMarker, "own")


@dataclass(frozen=True, slots=True)
class HeaderStatus:
    """What the header of a page shows; tickets are counted up to ``MAX_COUNT``."""

    unread_tickets: int
    is_bot_at_work: bool


@dataclass(frozen=True, slots=True)
class TicketNews:
    """What happened to a ticket: its newest events, the oldest unread one, whether it is read."""

    # A row with the ticket's display id, title and type.
    ticket: Any
    # Events of comments have ``text``, the current text.
    events: list[dict[str, Any]]
    # The number of older events that are not shown, up to ``MAX_COUNT``.
    more: int
    # The ids of the newest event, and of the oldest that becomes news if marked as unread.
    newest: str
    oldest: str
    is_read: bool


@dataclass(frozen=True, slots=True)
class _Read:
    """Events are read up to ``event_id``, at time ``at``; none before ``oldest`` (ms) is news."""

    oldest: int
    at: int
    event_id: str


def _read(actor: Actor) -> _Read:
    marker = personal.marker(actor, SUBJECT)
    oldest = now_ms() - DAYS * DAY_MS
    if marker is None:
        return _Read(oldest, oldest, ids.NIL_ID)
    return _Read(oldest, max(oldest, ids.created_ms(marker.event_id)), marker.event_id)


def concerned_by(actor: Actor) -> CTE:
    """The ids of the newest tickets of each kind that concern the user."""
    watched = (
        select(TicketWatcher.ticket_id.label("id"))
        .where(TicketWatcher.user_id == actor.id)
        .order_by(TicketWatcher.created_at.desc())
    )
    held = _tickets().where(Ticket.assignee_user_id == actor.id)
    is_notified = ~exists().where(
        Preferences.user_id == actor.id,
        Preferences.choices[personal.TAKING_PART].as_string() == "off",
    )
    created = _tickets().where(Ticket.reporter_user_id == actor.id, is_notified)
    commented = (
        select(Comment.ticket_id.label("id"))
        .where(Comment.author_user_id == actor.id, Comment.deleted_at.is_(None), is_notified)
        .order_by(Comment.created_at.desc())
    )
    mentioned = select(Ticket.id).where(Ticket.id.in_(mentioned_tickets(actor)))
    parts = [watched, held, created, commented]
    if not actor.is_human:
        parts.append(_claimed(actor))
    bounded = [select(part.limit(MAX_TICKETS_PER_KIND).subquery()) for part in parts]
    return union(*bounded, mentioned).cte("concerned")


def _claimed(actor: Actor) -> Select[Any]:
    """The tickets that a bot claimed recently: it gets news if someone takes one over."""
    own = (
        select(AuditEvent)
        .where(AuditEvent.actor_user_id == actor.id)
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(CLAIMS_AMONG)
        .subquery()
    )
    event = aliased(AuditEvent, own)
    return select(event.ticket_id.label("id")).where(
        event.event_type == "ticket.assigned",
        event.payload["assignee_user_id"].as_string() == actor.id,
    )


def mentioned_tickets(actor: Actor) -> list[str]:
    """The ids of tickets with the newest mentions of the last ``DAYS``."""
    return mentioned_on(actor, now_ms() - DAYS * DAY_MS)[:MAX_TICKETS_PER_KIND]


def _tickets() -> Select[Any]:
    newest = (Ticket.created_at.desc(), Ticket.id.desc())
    return select(Ticket.id).where(Ticket.deleted_at.is_(None)).order_by(*newest)


def is_shown(actor: Actor) -> ColumnElement[bool]:
    """Whether a ticket is live and not muted; only checked for the few with news."""
    muted = exists().where(TicketMute.ticket_id == Ticket.id, TicketMute.user_id == actor.id)
    return and_(Ticket.deleted_at.is_(None), Project.deleted_at.is_(None), ~muted)


def is_news(actor: Actor, oldest: int) -> ColumnElement[bool]:
    """Whether an event is an action of others, not before ``oldest`` (ms)."""
    return and_(
        AuditEvent.category == Category.ACTIVITY.value,
        AuditEvent.event_type.not_in(IGNORED),
        or_(AuditEvent.actor_user_id.is_(None), AuditEvent.actor_user_id != actor.id),
        AuditEvent.created_at >= oldest,
    )


def _is_unread(read: _Read) -> ColumnElement[bool]:
    """Whether an event is newer than the marker; ``Own`` is the marker of its ticket."""
    return and_(
        # Lets the index find the few events that are so new.
        AuditEvent.created_at >= case((Own.event_id.is_(None), read.at), else_=read.oldest),
        AuditEvent.id > _marker(read),
    )


def _marker(read: _Read) -> ColumnElement[str]:
    return func.coalesce(Own.event_id, literal(read.event_id, Id), type_=Id())


def _own_marker(actor: Actor, ticket_id: Any) -> ColumnElement[bool]:
    subject = literal(OF_TICKET, String).concat(cast(ticket_id, String))
    return and_(Own.user_id == actor.id, Own.subject == subject)


@operation(Access.HUMAN)
def news(
    actor: Actor,
    *,
    limit: int,
    cursor: str | None,
    with_read: bool = False,
    after: str = "",
    until: int | None = None,
    ticket_id: str | None = None,
) -> Page:
    """The tickets with news, the newest event first.

    ``with_read`` includes read tickets. Only events after the event ``after``, and up to ``until``
    (ms), count; without ``until`` stable ones, so that a marker at the newest hides none.
    ``ticket_id`` limits the result to one ticket. Raises InvalidField for a bad cursor.
    """
    read = _read(actor)
    span = [is_news(actor, read.oldest)]
    if after:
        span += [AuditEvent.created_at >= ids.created_ms(after), AuditEvent.id > after]
    span.append(AuditEvent.created_at <= until if until is not None else is_stable())
    wanted = span if with_read else [*span, _is_unread(read)]
    concerned = concerned_by(actor)
    newest = (
        select(AuditEvent.id)
        .where(AuditEvent.ticket_id == concerned.c.id, *wanted)
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(1)
        .correlate(concerned, Own)
        .scalar_subquery()
    )
    # Materialized, so that each ticket is evaluated once.
    groups = (
        select(
            concerned.c.id.label("ticket_id"),
            newest.label("newest"),
            _marker(read).label("marker"),
        )
        .select_from(concerned)
        .outerjoin(Own, _own_marker(actor, concerned.c.id))
        .cte("groups")
        .prefix_with("MATERIALIZED")
    )
    statement = (
        select(groups, Ticket.display_id, Ticket.title, Ticket.type)
        .join(Ticket, Ticket.id == groups.c.ticket_id)
        .join(Project, Project.id == Ticket.project_id)
        .where(groups.c.newest.is_not(None), is_shown(actor))
    )
    if ticket_id is not None:
        statement = statement.where(groups.c.ticket_id == ticket_id)
    if cursor is not None:
        statement = statement.where(groups.c.newest < decode(cursor, SUBJECT).id)
    rows = session.execute(statement.order_by(groups.c.newest.desc()).limit(limit + 1)).all()
    next_cursor = None
    if len(rows) > limit:
        last = rows[limit - 1].newest
        next_cursor = encode(Cursor(SUBJECT, last, ids.created_ms(last)))
    return Page(_with_events(actor, rows[:limit], span, with_read=with_read), next_cursor)


def _with_events(
    actor: Actor, groups: Sequence[Any], span: list[ColumnElement[bool]], *, with_read: bool
) -> list[TicketNews]:
    """The groups with their newest events within the span."""
    if not groups:
        return []
    newest_first = (AuditEvent.created_at.desc(), AuditEvent.id.desc())
    parts = [
        select(AuditEvent.id, AuditEvent.ticket_id)
        .where(
            AuditEvent.ticket_id == group.ticket_id,
            *span,
            AuditEvent.id > (ids.NIL_ID if with_read else group.marker),
        )
        .order_by(*newest_first)
        .limit(EVENTS_PER_TICKET + MAX_COUNT)
        for group in groups
    ]
    found: dict[str, list[str]] = {}
    for row in session.execute(union_all(*(select(part.subquery()) for part in parts))):
        found.setdefault(row.ticket_id, []).append(row.id)
    event_ids = {key: sorted(some, reverse=True) for key, some in found.items()}
    shown = [event_id for some in event_ids.values() for event_id in some[:EVENTS_PER_TICKET]]
    events = session.scalars(select(AuditEvent).where(AuditEvent.id.in_(shown))).all()
    by_id = {event["id"]: event for event in with_texts(events_json(events, actor))}
    return [
        TicketNews(
            ticket=group,
            events=[by_id[event_id] for event_id in event_ids[group.ticket_id][:EVENTS_PER_TICKET]],
            more=len(event_ids[group.ticket_id][EVENTS_PER_TICKET:]),
            newest=group.newest,
            oldest=min(
                (one for one in event_ids[group.ticket_id] if one > group.marker),
                default=group.newest,
            ),
            is_read=group.newest <= group.marker,
        )
        for group in groups
    ]


@operation(Access.HUMAN)
def header_status(actor: Actor) -> HeaderStatus:
    """How many tickets have unread events, and whether a bot is active."""
    concerned, read = concerned_by(actor), _read(actor)
    is_unread = (
        exists()
        .where(
            AuditEvent.ticket_id == concerned.c.id, is_news(actor, read.oldest), _is_unread(read)
        )
        .correlate(concerned, Own)
    )
    with_news = (
        select(concerned.c.id)
        .select_from(concerned)
        .outerjoin(Own, _own_marker(actor, concerned.c.id))
        .where(is_unread)
        .cte("with_news")
        .prefix_with("MATERIALIZED")
    )
    unread_tickets = (
        select(with_news.c.id)
        .join(Ticket, Ticket.id == with_news.c.id)
        .join(Project, Project.id == Ticket.project_id)
        .where(is_shown(actor))
        .limit(MAX_COUNT)
        .subquery()
    )
    used = exists().where(BotToken.is_active, BotToken.last_used_at >= now_ms() - AT_WORK_MS)
    count = select(func.count()).select_from(unread_tickets).scalar_subquery()
    tickets, is_bot_at_work = session.execute(select(count, used)).one()
    return HeaderStatus(tickets, bool(is_bot_at_work))


@operation(Access.HUMAN)
def mark_read(actor: Actor, event_id: str) -> None:
    """Mark everything up to this event as read; raises InvalidField if there is no such event."""
    event = event_of(event_id)
    personal.move_marker(actor, SUBJECT, event.id)
    # Tickets that were marked as unread become read too.
    session.execute(
        delete(ReadMarker).where(
            ReadMarker.user_id == actor.id,
            ReadMarker.subject.startswith(OF_TICKET),
            ReadMarker.event_id <= event.id,
        )
    )


@operation(Access.HUMAN)
def mark_ticket_read(actor: Actor, reference: str, event_id: str) -> None:
    """Mark a ticket's events up to this one as read; raises InvalidField and NotFound."""
    ticket = _ticket(reference)
    event_id = max(event_of(event_id).id, _read(actor).event_id)
    personal.move_marker(actor, f"{OF_TICKET}{ticket.id}", event_id)


@operation(Access.HUMAN)
def mark_ticket_unread(actor: Actor, reference: str, event_id: str) -> None:
    """Mark a ticket's events from this one on as unread; raises InvalidField and NotFound."""
    ticket = _ticket(reference)
    before = str(UUID(int=UUID(event_of(event_id).id).int - 1))
    personal.move_marker(actor, f"{OF_TICKET}{ticket.id}", before, may_go_back=True)


def _ticket(reference: str) -> Ticket:
    ticket = tickets.find(reference)
    if ticket is None:
        raise NotFound("ticket", reference)
    return ticket


def event_of(event_id: str) -> AuditEvent:
    """The event of this id; raises InvalidField if there is none."""
    event = by_id(AuditEvent, event_id)
    if event is None:
        raise InvalidField("event_id", "not_found", messages.EVENT_NOT_FOUND)
    return event
