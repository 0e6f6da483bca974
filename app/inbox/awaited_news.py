"""Finds the actors that new events may concern, among those that wait for news.

It checks all of them at once and may name too many: an actor that it omits has no news, and for
an actor that it names, ``bot_news.py`` decides.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import bindparam, select, union

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.clock import now_ms
from app.database.columns import Id
from app.database.session import AnySelect, Prepared, session
from app.inbox import mentions
from app.tickets.changes import OVERLAP_MS
from app.tickets.models import Comment, Ticket, TicketWatcher

# The newest events that are read, and the newest comments and events per ticket.
MAX_ROWS = 2_000
# Events per query, with the texts of their comments.
PART = 50
# How often a look covers the whole overlap, and by how much other looks overlap the last one.
LOOK_BACK_MS, SHORT_MS = 500, 1_000
FIRST_MS = 3_000

_RECENT = Prepared(
    select(AuditEvent.id, AuditEvent.created_at)
    .where(AuditEvent.created_at >= bindparam("start"), AuditEvent.ticket_id.is_not(None))
    .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    .limit(MAX_ROWS)
)

_ticket_id = bindparam("ticket_id", type_=Id())
_newest_comments = (
    select(Comment.author_user_id)
    .where(Comment.ticket_id == _ticket_id)
    .order_by(Comment.created_at.desc(), Comment.id.desc())
    .limit(MAX_ROWS)
    .subquery()
)
_newest_events = (
    select(AuditEvent.actor_user_id, AuditEvent.event_type)
    .where(AuditEvent.ticket_id == _ticket_id)
    .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    .limit(MAX_ROWS)
    .subquery()
)
# Users by the kinds of tickets that concern a bot (``service.concerned_by``): watched, assigned,
# created, commented on, claimed. The cache of ``mentions.py`` has tickets with a mention.
_TAKING_PART = Prepared(
    union(
        select(TicketWatcher.user_id).where(TicketWatcher.ticket_id == _ticket_id),
        select(Ticket.assignee_user_id).where(Ticket.id == _ticket_id),
        select(Ticket.reporter_user_id).where(Ticket.id == _ticket_id),
        select(_newest_comments.c.author_user_id),
        select(_newest_events.c.actor_user_id).where(
            _newest_events.c.event_type == "ticket.assigned"
        ),
    )
)


def _events(ids: list[str]) -> AnySelect:
    columns = (AuditEvent.id, AuditEvent.ticket_id, AuditEvent.actor_user_id, AuditEvent.event_type)
    return select(*columns).where(AuditEvent.id.in_(ids))


class NewsWatch:
    """Tracks the events that were seen; ``look`` needs a unit of work."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        # The times of the last look, and of the last look that covered the whole overlap.
        self._looked_at = self._looked_back_at = 0

    def look(self, waiting: Mapping[str, Actor]) -> frozenset[str] | None:
        """The ids of actors that new events may concern; None if there are no new events.

        ``waiting`` maps ids to actors. The first look ignores events older than ``FIRST_MS``.
        """
        new = self._new()
        if not new:
            return None
        events = [event for some in _in_parts(new) for event in session.execute(_events(some))]
        taking_part: dict[str, set[str]] = {event.ticket_id: set() for event in events}
        for user_id, ticket_id in _mentioned(waiting, frozenset(taking_part)):
            taking_part[ticket_id].add(user_id)
        for ticket_id, user_ids in taking_part.items():
            user_ids |= {row[0] for row in _TAKING_PART.all(ticket_id=ticket_id)}
        concerned = set(_named(events, waiting))
        for event in events:
            # An actor's own events are not news to it.
            concerned |= taking_part[event.ticket_id] - {event.actor_user_id}
        return frozenset(concerned & waiting.keys())

    def _new(self) -> list[str]:
        """The ids of the events that no earlier look has seen."""
        moment = now_ms()
        is_lookback = not 0 <= moment - self._looked_back_at < LOOK_BACK_MS
        start = moment - OVERLAP_MS if is_lookback else self._looked_at - SHORT_MS
        rows = _RECENT.all(start=start)
        if not self._looked_at:
            self._seen = {row.id for row in rows if row.created_at < moment - FIRST_MS}
        new = [row.id for row in rows if row.id not in self._seen]
        if is_lookback:
            self._seen, self._looked_back_at = {row.id for row in rows}, moment
        else:
            self._seen.update(new)
        self._looked_at = moment
        return new


def _in_parts(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), PART):
        yield ids[start : start + PART]


def _mentioned(
    waiting: Mapping[str, Actor], ticket_ids: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Pairs of a waiting user and a ticket that has mentioned the user earlier."""
    for user_id in waiting:
        known = mentions.cached_tickets(user_id)
        for ticket_id in ticket_ids if known is None else ticket_ids & known:
            yield user_id, ticket_id


def _named(events: list[Any], waiting: Mapping[str, Actor]) -> Iterator[str]:
    """The ids of waiting users that the comments among these events may mention."""
    commented = [one.id for one in events if one.event_type == mentions.COMMENT_CREATED]
    for some in _in_parts(commented):
        for payload in session.scalars(select(AuditEvent.payload).where(AuditEvent.id.in_(some))):
            text = (payload.get("body") or "").casefold()
            if "@" in text:
                yield from (id for id, actor in waiting.items() if f"@{actor.username}" in text)
