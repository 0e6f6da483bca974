"""Mentions: ``@name`` in a new comment, outside of code, found in ``comment.created`` events.

A name that is added to a comment later does not count.

Events never change, so each process caches a user's mentions and reads only later events.
"""

import re
from collections.abc import Set
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, String, cast, func, select

from app import markdown
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.clock import now_ms
from app.database.session import session

COMMENT_CREATED = "comment.created"
# On PostgreSQL, events may commit out of order, so each query overlaps the previous one by this.
OVERLAP_MS = 10_000
CACHED_USERS = 1000
# Each query searches at most this many of the newest comments.
COMMENTS_READ = 50_000


@dataclass(frozen=True, slots=True)
class _CachedMentions:
    """The tickets that mention a user up to ``until``, with the time of the last mention."""

    until: int = 0
    tickets: dict[str, int] = field(default_factory=dict)


# By user id.
_cached_mentions: dict[str, _CachedMentions] = {}


def may_mention(username: str) -> ColumnElement[bool]:
    """SQL for whether an event may mention this user; ``is_mentioned`` decides."""
    payload = func.lower(cast(AuditEvent.payload, String))
    return (AuditEvent.event_type == COMMENT_CREATED) & payload.contains(
        f"@{username}", autoescape=True
    )


def mention_pattern(username: str) -> re.Pattern[str]:
    """Matches the whole name after ``@`` at the start of a word."""
    name = re.escape(username)
    return re.compile(rf"(?<![\w@])@{name}(?![\w-]|\.\w)", re.IGNORECASE)


def is_mentioned(username: str, body: str) -> bool:
    """Whether this Markdown, once rendered, mentions the user."""
    return mention_pattern(username).search(body) is not None and markdown.mentions(body, username)


def cached_tickets(user_id: str) -> Set[str] | None:
    """The tickets that ``mentioned_on`` found last; None if its result is not cached."""
    known = _cached_mentions.get(user_id)
    return None if known is None else known.tickets.keys()


def mentioned_on(actor: Actor, since: int) -> list[str]:
    """The ids of tickets on which someone else mentioned this user, the latest mention first.

    ``since`` is in milliseconds.
    """
    known = _cached_mentions.get(actor.id, _CachedMentions())
    moment = now_ms()
    newest = (
        select(AuditEvent.id)
        .where(
            AuditEvent.event_type == COMMENT_CREATED,
            AuditEvent.created_at >= max(since, known.until - OVERLAP_MS),
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(COMMENTS_READ)
    )
    recent = newest.subquery()
    rows = session.execute(
        select(AuditEvent.ticket_id, AuditEvent.payload, AuditEvent.created_at)
        .join(recent, recent.c.id == AuditEvent.id)
        .where(may_mention(actor.username), AuditEvent.actor_user_id != actor.id)
        .order_by(AuditEvent.created_at.desc())
    )
    tickets = dict(known.tickets)
    for row in rows:
        # Rows are newest first: after a ticket's newest mention, skip the others.
        is_newer = row.created_at > tickets.get(row.ticket_id, 0)
        if is_newer and is_mentioned(actor.username, row.payload.get("body") or ""):
            tickets[row.ticket_id] = row.created_at
    tickets = {ticket_id: time for ticket_id, time in tickets.items() if time >= since}
    if len(_cached_mentions) >= CACHED_USERS and actor.id not in _cached_mentions:
        _cached_mentions.clear()
    _cached_mentions[actor.id] = _CachedMentions(moment, tickets)
    return sorted(tickets, key=lambda ticket_id: -tickets[ticket_id])
