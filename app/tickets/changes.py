"""What happened since a viewer last asked, for boards and lists that stay fresh by themselves.

The audit log says what changed: one indexed look answers a viewer for whom nothing did. On
PostgreSQL a transaction that began earlier may commit later, so every look reaches back
``OVERLAP_MS`` before the newest event that the viewer has seen, and the viewer brings along which
of those it knows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, and_, bindparam, or_, select, union
from sqlalchemy.orm import aliased

from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.errors import Gone, NotFound
from app.database.session import AnyRow, Prepared, session
from app.projects.models import Project
from app.tickets.models import RelationType, Ticket, TicketRelation

OVERLAP_MS = 10_000
# More events than this are not worth telling apart.
MOST_EVENTS = 200
# What a viewer knows of the overlap: the last letters of each event's id.
_MARK = 6
_MARKS_KEPT = 64
_TOKEN = re.compile(rf"(\d{{1,15}})\.((?:[0-9a-f]{{{_MARK}}}){{0,{_MARKS_KEPT}}})")

# Events of a project that change its columns, its labels, or whether it is there.
_OF_FRAME = ("workflow_state.", "label.", "project.")
# Events that change what people and bots are called.
_OF_NAMES = ("user.", "bot.updated")


@dataclass(frozen=True, slots=True)
class News:
    """What is new: the tickets that may look different, and the token to ask with next."""

    token: str
    ticket_ids: frozenset[str]
    # Columns or labels changed: what is shown cannot be mended piece by piece.
    is_frame: bool
    # There were more events than were looked at.
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What a viewer has seen: from when to look, and the events that it knows from then on."""

    start: int
    marks: frozenset[str]


def first_token() -> str:
    """The token of a page that is being made now."""
    return f"{now_ms() - OVERLAP_MS}."


def _read(token: str) -> Seen:
    """The token that a viewer brought; one that is none of ours counts as a new viewer's."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        return Seen(now_ms() - OVERLAP_MS, frozenset())
    marks = found[2]
    pieces = (marks[at : at + _MARK] for at in range(0, len(marks), _MARK))
    return Seen(int(found[1]), frozenset(pieces))


def _next_token(rows: Sequence[AnyRow], seen: Seen) -> str:
    """The token after these events, the newest first.

    Where the overlap holds more of them than a token can name, it is made shorter: an event that is
    neither named nor too old would be news for ever.
    """
    start = max(seen.start, rows[0].created_at - OVERLAP_MS if rows else 0)
    if len(rows) > _MARKS_KEPT:
        start = max(start, rows[_MARKS_KEPT].created_at + 1)
    known = [row.id[-_MARK:] for row in rows[:_MARKS_KEPT] if row.created_at >= start]
    return f"{start}.{''.join(known)}"


_EVENT = (
    AuditEvent.id,
    AuditEvent.event_type,
    AuditEvent.ticket_id,
    AuditEvent.payload,
    AuditEvent.created_at,
)
_TOUCHES = or_(
    AuditEvent.ticket_id.is_not(None), *(AuditEvent.event_type.startswith(one) for one in _OF_FRAME)
)
_SINCE = AuditEvent.created_at >= bindparam("start", type_=BigInteger)
# The project comes along, so that one statement also says whether it is there.
_OF_PROJECT = Prepared(
    select(*_EVENT, Project.id.label("project_id"), Project.deleted_at)
    .select_from(Project)
    .outerjoin(
        AuditEvent,
        and_(
            AuditEvent.project_id == Project.id,
            AuditEvent.category.in_(["activity", "audit_only"]),
            _SINCE,
            _TOUCHES,
        ),
    )
    .where(Project.key == bindparam("key"))
    .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    .limit(MOST_EVENTS)
)
_OF_ALL = Prepared(
    select(*_EVENT)
    .where(_SINCE, _TOUCHES)
    .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    .limit(MOST_EVENTS)
)
_OF_ALL_AND_NAMES = Prepared(
    select(AuditEvent.id, AuditEvent.created_at)
    .where(_SINCE, or_(_TOUCHES, *(AuditEvent.event_type.startswith(one) for one in _OF_NAMES)))
    .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    .limit(MOST_EVENTS)
)


def since(token: str | None) -> tuple[bool, str]:
    """Whether who holds this token has seen all that boards show, and the token of who has now.

    Stricter than ``news``: what happens to any ticket of any project counts, and to any name.
    """
    seen = _read(token or "")
    rows = _OF_ALL_AND_NAMES.all(start=seen.start)
    is_current = token is not None and all(row.id[-_MARK:] in seen.marks for row in rows)
    return is_current, _next_token(rows, seen)


@operation(Access.READ)
def news(actor: Actor, key: str | None, token: str) -> News | None:
    """What happened in a project (in all, without a key); None if nothing did.

    One statement where nothing did. Raises NotFound or Gone for the project.
    """
    seen = _read(token)
    if key is None:
        rows = _OF_ALL.all(start=seen.start)
    else:
        rows = _OF_PROJECT.all(start=seen.start, key=key)
        if not rows or not actor.sees_project(rows[0].project_id):
            raise NotFound("project", key)
        if rows[0].deleted_at is not None:
            raise Gone("project", key)
        rows = [row for row in rows if row.id is not None]
    fresh = [row for row in rows if row.id[-_MARK:] not in seen.marks]
    if not fresh:
        return None
    return News(
        token=_next_token(rows, seen),
        ticket_ids=_touched(fresh),
        # A new viewer has no marks, and already sees what is older than its page.
        is_frame=any(
            row.event_type.startswith(_OF_FRAME)
            and (seen.marks or row.created_at > seen.start + OVERLAP_MS)
            for row in fresh
        ),
        is_cut=len(rows) == MOST_EVENTS,
    )


def _touched(rows: Sequence[AnyRow]) -> frozenset[str]:
    """The tickets of these events, and those whose cards speak of them."""
    own = {row.ticket_id for row in rows if row.ticket_id is not None}
    if not own:
        return frozenset()
    named = set().union(*(_named_in(row.event_type, row.payload) for row in rows))
    renamed = {
        row.ticket_id
        for row in rows
        if row.event_type == "ticket.updated" and "title" in row.payload.get("changes", {})
    }
    child = aliased(Ticket)
    around = [
        # A story counts its subtasks, a ticket knows what blocks it, a story names its epic.
        select(Ticket.parent_ticket_id).where(
            Ticket.id.in_(own), Ticket.parent_ticket_id.is_not(None)
        ),
        select(TicketRelation.target_ticket_id).where(
            TicketRelation.source_ticket_id.in_(own),
            TicketRelation.type == RelationType.BLOCKS.value,
        ),
    ]
    if renamed:
        around.append(select(child.id).where(child.parent_ticket_id.in_(renamed)))
    return frozenset(own | named | set(session.scalars(union(*around))))


def _named_in(event_type: str, payload: dict[str, Any]) -> set[str]:
    """Other tickets that an event names: the far end of a relation, parents before and after."""
    found = {payload.get("parent_ticket_id")}
    if event_type.startswith("ticket.relation_"):
        found |= {payload.get("source_ticket_id"), payload.get("target_ticket_id")}
    if event_type == "ticket.updated":
        parent = payload.get("changes", {}).get("parent_ticket_id", {})
        found |= {parent.get("from"), parent.get("to")}
    return {one for one in found if one}
