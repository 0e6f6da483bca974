"""What others did on a ticket since a bot last read it, over MCP.

A bot reads a ticket and its comments separately. On PostgreSQL, events may commit out of order,
so a reading is a time plus the marks of the known events in the ``OVERLAP_MS`` before it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, or_, select, true

from app.accounts import bot_reads
from app.accounts.bot_reads import READS
from app.audit.event_types import Category
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.database.columns import Id
from app.database.session import Prepared, session
from app.inbox.bot_news import IS_NOT_IMPORTED, rows_of
from app.inbox.service import IGNORED
from app.tickets.changes import OVERLAP_MS

# The most unread events in a response, and the newest events of a ticket that are searched.
MAX_EVENTS = 10
NEWEST_EVENTS = 200
# A mark is the last characters of an event's id.
MARK_LENGTH = 6
# Marks per reading; if there are more events, the oldest count as unread.
MAX_MARKS = 64


class ReadPart(StrEnum):
    """The parts of a ticket that are read separately."""

    TICKET = "ticket"
    COMMENTS = "comments"


SUBJECTS = {ReadPart.TICKET: bot_reads.of_ticket, ReadPart.COMMENTS: bot_reads.of_comments}


@dataclass(frozen=True, slots=True)
class Reading:
    """A bot's reading of a ticket, with the events that it is certain to see."""

    user_id: str
    ticket_id: str
    read_at: int
    marks: str


_NEWEST_FIRST = (AuditEvent.created_at.desc(), AuditEvent.id.desc())
_OF_TICKET = AuditEvent.ticket_id == bindparam("ticket_id", type_=Id())


def _by_others(actor_user_id: Any) -> ColumnElement[bool]:
    return or_(actor_user_id.is_(None), actor_user_id != bindparam("user_id", type_=Id()))


_LATELY = Prepared(
    select(AuditEvent.id)
    .where(
        _OF_TICKET,
        AuditEvent.created_at >= bindparam("start"),
        _by_others(AuditEvent.actor_user_id),
    )
    .order_by(*_NEWEST_FIRST)
    .limit(MAX_MARKS)
)


_of_ticket = (
    READS.c.user_id == bindparam("user_id", type_=Id()),
    # Other rows are reads that only receipts use.
    READS.c.read_at > 0,
    READS.c.subject.in_([bindparam("ticket"), bindparam("comments")]),
)
_since = (
    select(AuditEvent.id, AuditEvent.event_type, AuditEvent.created_at)
    .add_columns(AuditEvent.actor_user_id, AuditEvent.category)
    .where(
        _OF_TICKET,
        # Null if the bot read nothing, so that no event matches.
        AuditEvent.created_at
        >= select(func.min(READS.c.read_at) - OVERLAP_MS).where(*_of_ticket).scalar_subquery(),
    )
    .order_by(*_NEWEST_FIRST)
    .limit(NEWEST_EVENTS)
    .subquery()
)
# Pairs each event with each reading.
_SINCE = Prepared(
    select(
        *(_since.c.id, _since.c.event_type, _since.c.created_at),
        *(READS.c.subject, READS.c.read_at, READS.c.marks),
    )
    .join_from(_since, READS, true())
    .where(
        *_of_ticket,
        _since.c.category == Category.ACTIVITY.value,
        _since.c.event_type.not_in(IGNORED),
        _by_others(_since.c.actor_user_id),
    )
    .order_by(_since.c.created_at.desc(), _since.c.id.desc())
)


@operation(Access.READ)
def begin_reading(actor: Actor, ticket_id: str) -> Reading:
    """The events that the bot will certainly see if it reads the ticket in this unit of work."""
    moment = now_ms()
    rows = _LATELY.all(ticket_id=ticket_id, start=moment - OVERLAP_MS, user_id=actor.id)
    return Reading(actor.id, ticket_id, moment, "".join(row.id[-MARK_LENGTH:] for row in rows))


@operation(Access.READ)
def unread(actor: Actor, ticket_id: str) -> list[dict[str, str]]:
    """The newest ``MAX_EVENTS`` unread events, oldest first; needs a unit of work.

    A part that was never read counts as read with the other; without any reading nothing is unread.
    """
    rows = _SINCE.all(
        user_id=actor.id,
        ticket_id=ticket_id,
        **{part.value: _subject(part, ticket_id) for part in ReadPart},
    )
    if not rows:
        return []
    readings = {row.subject: row for row in rows}
    found = {row.id: row for row in rows}
    fresh = [event.id for event in found.values() if _is_unread(event, readings, ticket_id)]
    if not fresh:
        return []
    newest_first = session.scalars(
        select(AuditEvent)
        .where(AuditEvent.id.in_(fresh), IS_NOT_IMPORTED)
        .order_by(*_NEWEST_FIRST)
        .limit(MAX_EVENTS)
    ).all()
    return [
        {name: row[name] for name in ("who", "what", "when")}
        for row in rows_of(actor, newest_first[::-1])
    ]


def _is_unread(event: Any, readings: dict[str, Any], ticket_id: str) -> bool:
    is_comment = event.event_type.startswith("comment.")
    parts = (
        (ReadPart.COMMENTS, ReadPart.TICKET) if is_comment else (ReadPart.TICKET, ReadPart.COMMENTS)
    )
    subjects = [_subject(part, ticket_id) for part in parts]
    reading = next(readings[subject] for subject in subjects if subject in readings)
    marks = {
        reading.marks[at : at + MARK_LENGTH] for at in range(0, len(reading.marks), MARK_LENGTH)
    }
    is_known = event.id[-MARK_LENGTH:] in marks
    return event.created_at >= reading.read_at - OVERLAP_MS and not is_known


def _subject(part: ReadPart, ticket_id: str) -> str:
    return SUBJECTS[part](ticket_id)
