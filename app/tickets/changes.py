"""Changes after a viewer's last request, for boards and lists that update themselves.

The source is the audit log. On PostgreSQL an earlier transaction may commit later, so each request
looks back ``OVERLAP_MS`` before the newest event seen. The token marks the events already known.
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
from app.database.session import AnyRow, AnySelect, Prepared, session
from app.projects.models import Project
from app.tickets.models import RelationType, Ticket, TicketRelation

OVERLAP_MS = 10_000
# More events than this are not reported one by one.
MAX_EVENTS = 200
# A token marks each known event of the overlap by the last characters of its id.
_MARK = 6
_MAX_MARKS = 64
TOKEN = re.compile(rf"(\d{{1,15}})\.((?:[0-9a-f]{{{_MARK}}}){{0,{_MAX_MARKS}}})")

# Events that change the columns or labels of a project, or its existence.
_OF_FRAME = ("workflow_state.", "label.", "project.")
# Events that change names of users.
_OF_NAMES = ("user.", "bot.updated")


@dataclass(frozen=True, slots=True)
class News:
    """The tickets that may look different, and the token of the next request."""

    token: str
    ticket_ids: frozenset[str]
    # Columns or labels changed, so the whole page must be loaded again.
    is_frame: bool
    # There are more than MAX_EVENTS events.
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A parsed token: the time (ms) from which to look, and the marks of known events after it."""

    start: int
    marks: frozenset[str]

    def knows(self, event_id: str) -> bool:
        return event_id[-_MARK:] in self.marks


def read_token(token: str) -> Seen:
    """Parse a token; a malformed one counts as that of a new viewer."""
    match = TOKEN.fullmatch(token)
    if match is None:
        return Seen(now_ms() - OVERLAP_MS, frozenset())
    letters = match[2]
    marks = (letters[start : start + _MARK] for start in range(0, len(letters), _MARK))
    return Seen(int(match[1]), frozenset(marks))


def next_token(rows: Sequence[AnyRow], seen: Seen) -> str:
    """The token after these events, which are ordered newest first.

    The overlap is limited to the events that a token can mark: an event inside it without a mark
    would be reported in every response.
    """
    start = max(seen.start, rows[0].created_at - OVERLAP_MS if rows else 0)
    if len(rows) > _MAX_MARKS:
        start = max(start, rows[_MAX_MARKS].created_at + 1)
    known = [row.id[-_MARK:] for row in rows[:_MAX_MARKS] if row.created_at >= start]
    return f"{start}.{''.join(known)}"


_EVENT = (
    AuditEvent.id,
    AuditEvent.event_type,
    AuditEvent.ticket_id,
    AuditEvent.payload,
    AuditEvent.created_at,
)
_TOUCHES = or_(
    AuditEvent.ticket_id.is_not(None),
    *(AuditEvent.event_type.startswith(prefix) for prefix in _OF_FRAME),
)
_SINCE = AuditEvent.created_at >= bindparam("start", type_=BigInteger)


def _newest(statement: AnySelect) -> Prepared:
    order = (AuditEvent.created_at.desc(), AuditEvent.id.desc())
    return Prepared(statement.order_by(*order).limit(MAX_EVENTS))


# The project is also selected, so that one statement checks that it exists.
_OF_PROJECT = _newest(
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
)
_OF_ALL = _newest(select(*_EVENT).where(_SINCE, _TOUCHES))
_OF_ALL_AND_NAMES = _newest(
    select(AuditEvent.id, AuditEvent.created_at).where(
        _SINCE, or_(_TOUCHES, *(AuditEvent.event_type.startswith(prefix) for prefix in _OF_NAMES))
    )
)


def since(token: str | None) -> tuple[bool, str]:
    """Whether the holder of this token has seen everything that boards show, and the next token.

    Stricter than ``news``: a change to any ticket of any project counts, and to any user name.
    """
    seen = read_token(token or "")
    rows = _OF_ALL_AND_NAMES.all(start=seen.start)
    is_current = token is not None and all(seen.knows(row.id) for row in rows)
    return is_current, next_token(rows, seen)


def current_token() -> str:
    """The token for a page whose data is read after this call."""
    return since(None)[1]


@operation(Access.READ)
def news(actor: Actor, key: str | None, token: str) -> News | None:
    """The news of a project, or of all; None if there is none, after a single statement.

    Raises NotFound or Gone for the project.
    """
    seen = read_token(token)
    if key is None:
        rows = _OF_ALL.all(start=seen.start)
    else:
        rows = _OF_PROJECT.all(start=seen.start, key=key)
        if not rows or not actor.sees_project(rows[0].project_id):
            raise NotFound("project", key)
        if rows[0].deleted_at is not None:
            raise Gone("project", key)
        rows = [row for row in rows if row.id is not None]
    fresh = [row for row in rows if not seen.knows(row.id)]
    if not fresh:
        return None
    return News(
        token=next_token(rows, seen),
        ticket_ids=_touched(fresh),
        is_frame=any(row.event_type.startswith(_OF_FRAME) for row in fresh),
        is_cut=len(rows) == MAX_EVENTS,
    )


def _touched(rows: Sequence[AnyRow]) -> frozenset[str]:
    """The tickets of these events, and the tickets whose cards show data of them."""
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
        # Cards show the number of children, the blockers, and the title of the epic.
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
    """The other tickets in an event: the ends of a relation, the parents before and after."""
    ids = {payload.get("parent_ticket_id")}
    if event_type.startswith("ticket.relation_"):
        ids |= {payload.get("source_ticket_id"), payload.get("target_ticket_id")}
    if event_type == "ticket.updated":
        parent = payload.get("changes", {}).get("parent_ticket_id", {})
        ids |= {parent.get("from"), parent.get("to")}
    return {ticket_id for ticket_id in ids if ticket_id}
