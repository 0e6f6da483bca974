"""What others did on the tickets that concern a bot, by the rule of the inbox (``service.py``).

A bot has a cursor for the news that it has received. It is a token like those of boards
(``tickets/changes.py``), so that late commits on PostgreSQL are reported too, and none twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Integer, Table, bindparam, literal_column, or_, select, update

from app.accounts.bot_reads import Shown, events_seen
from app.accounts.models import User
from app.activity import sentences
from app.activity.service import events_json
from app.audit.event_types import EVENTS, IMPORTED, Category
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.clock import DAY_MS, MINUTE_MS, now_ms
from app.core.errors import InvalidField
from app.database.columns import Id, Moment
from app.database.session import Prepared, session
from app.database.sql_functions import Unindexed
from app.inbox import messages
from app.inbox.service import DAYS, IGNORED, concerned_by, is_news, is_shown
from app.projects.loaders import within_allowlist
from app.projects.models import Project
from app.tickets.changes import OVERLAP_MS, TOKEN, Seen, next_token, read_token
from app.tickets.comments import COMMENT_TEXT_EVENTS, present_bodies
from app.tickets.models import Ticket

# News per response.
MAX_NEWS = 20
# Characters of a comment that are shown.
EXCERPT_LENGTH = 300
# The most ids of already reported events in a cursor; a query must read past them.
MAX_KNOWN_EVENTS = 64
# From this many new events on, the news are queried instead of comparing ids.
MAX_COMPARED_EVENTS = 200
CACHED_BOTS = 10_000
CREATED = "ticket.created"
SYSTEM_NAME = "system"
STORED_EVERY_MS = MINUTE_MS
OF_TICKETS = tuple(
    name
    for name, kind in EVENTS.items()
    if name.startswith(("ticket.", "comment."))
    and kind.category is Category.ACTIVITY
    and name not in IGNORED
)


@dataclass(frozen=True, slots=True)
class BotNews:
    """What happened, assignments to the bot first, then oldest first."""

    rows: list[dict[str, str]]
    # Where the next response continues; "" if nothing was queried.
    cursor: str = ""
    has_more: bool = False
    # Whether to store the bot's cursor: after news, otherwise once per STORED_EVERY_MS.
    must_store_cursor: bool = False
    # The reads of comments that are shown whole.
    seen: Sequence[Shown] = ()


NOTHING = BotNews([])


@dataclass(frozen=True, slots=True)
class CheckedNews:
    """Events that this process found to be no news: all before ``until`` (ms), and later ones."""

    until: int
    event_ids: frozenset[str]


# By bot id. A cache that only saves queries.
_checked: dict[str, CheckedNews] = {}

_READ_CURSOR = Prepared(select(User.news_cursor).where(User.id == bindparam("user_id")))
_users = cast("Table", User.__table__)
_SAVE_CURSOR = Prepared(
    update(_users)
    .where(_users.c.id == bindparam("user_id"))
    .values(news_cursor=bindparam("cursor"))
)


# Uses the index of ticket events. The start is a subquery, as PostgreSQL would otherwise make a
# new plan for each start.
_RECENT_EVENT_IDS = Prepared(
    select(AuditEvent.id)
    .where(
        AuditEvent.ticket_id.is_not(None),
        AuditEvent.created_at >= select(bindparam("start", type_=Moment())).scalar_subquery(),
        or_(
            AuditEvent.actor_user_id.is_(None),
            AuditEvent.actor_user_id != bindparam("user_id", type_=Id()),
        ),
        Unindexed(AuditEvent.event_type).in_([literal_column(f"'{name}'") for name in OF_TICKETS]),
    )
    .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    .limit(literal_column(str(MAX_COMPARED_EVENTS), Integer))
)


# An import that only repoints links to files is not news.
IS_NOT_IMPORTED = AuditEvent.payload[IMPORTED].as_string().is_(None)


@operation(Access.READ)
def news_of_bot(actor: Actor, since: str | None = None) -> BotNews:
    """News since a cursor, an ISO time or a date in UTC, or since the bot's stored cursor.

    Raises InvalidField ``since``.
    """
    moment = now_ms()
    if since is not None:
        return _news_after(actor, _since(since), moment)
    checked = _checked.get(actor.id, CheckedNews(0, frozenset()))
    happened: frozenset[str] = frozenset()
    if checked.until:
        rows = _RECENT_EVENT_IDS.all(start=checked.until, user_id=actor.id)
        happened = frozenset(row.id for row in rows)
        if len(rows) < MAX_COMPARED_EVENTS and happened <= checked.event_ids:
            # The next call skips events before the overlap, such as the bot's own.
            _cache_checked(actor, CheckedNews(moment - OVERLAP_MS, happened))
            return NOTHING
    seen = _seen(_READ_CURSOR.first(user_id=actor.id).news_cursor)
    news = _news_after(actor, Seen(max(seen.start, checked.until), seen.marks), moment)
    if not news.rows:
        _cache_checked(actor, CheckedNews(moment - OVERLAP_MS, happened))
    must_store_cursor = bool(news.rows) or moment - OVERLAP_MS - seen.start > STORED_EVERY_MS
    return replace(news, must_store_cursor=must_store_cursor)


def _cache_checked(actor: Actor, checked: CheckedNews) -> None:
    if len(_checked) >= CACHED_BOTS:
        _checked.clear()
    _checked[actor.id] = checked


def _news_after(actor: Actor, seen: Seen, moment: int) -> BotNews:
    seen = Seen(max(seen.start, moment - DAYS * DAY_MS), seen.marks)
    events = _events(actor, seen.start)
    fresh = [event for event in events if not seen.knows(event.id)]
    if fresh:
        shown = fresh[:MAX_NEWS]
        texts = present_bodies(
            event.payload["comment_id"]
            for event in shown
            if event.event_type in COMMENT_TEXT_EVENTS
        )
        newest_first = events[events.index(shown[-1]) :: -1]
        return BotNews(
            rows_of(actor, shown, texts),
            next_token(newest_first, seen),
            has_more=len(fresh) > MAX_NEWS,
            seen=events_seen(_fully_shown_comments(shown, texts)),
        )
    start = max(seen.start, moment - OVERLAP_MS)
    return BotNews([], next_token(events[::-1], Seen(start, seen.marks)))


def store_cursor(actor: Actor, cursor: str) -> None:
    """Store the cursor of the news that the bot has received, in the current transaction."""
    _SAVE_CURSOR.all(user_id=actor.id, cursor=cursor)


def _seen(cursor: str | None) -> Seen:
    return read_token(cursor) if cursor else Seen(0, frozenset())


def _since(since: str) -> Seen:
    if TOKEN.fullmatch(since):
        return read_token(since)
    try:
        parsed = datetime.fromisoformat(f"{since}T00:00Z" if len(since) == 10 else since)
        if parsed.tzinfo is None:
            raise ValueError(since)
        return Seen(max(0, int(parsed.timestamp() * 1000)), frozenset())
    except (ValueError, OverflowError) as error:
        message = messages.SINCE_INVALID
        raise InvalidField("since", "invalid_value", message) from error


def _events(actor: Actor, oldest: int) -> list[Any]:
    """The oldest events that are news, including those that a cursor can mark as known."""
    concerned = concerned_by(actor)
    # The creation of a ticket is news only to its assignee.
    is_for_actor = or_(
        AuditEvent.event_type != CREATED,
        AuditEvent.payload["assignee_user_id"].as_string() == actor.id,
    )
    statement = (
        select(AuditEvent)
        .join(concerned, concerned.c.id == AuditEvent.ticket_id)
        .join(Ticket, Ticket.id == concerned.c.id)
        .join(Project, Project.id == Ticket.project_id)
        .where(is_news(actor, oldest), is_shown(actor), is_for_actor, IS_NOT_IMPORTED)
        .order_by(AuditEvent.created_at, AuditEvent.id)
        .limit(MAX_KNOWN_EVENTS + MAX_NEWS + 1)
    )
    return list(session.scalars(within_allowlist(actor, statement, Ticket.project_id)))


def rows_of(
    actor: Actor, events: Sequence[AuditEvent], texts: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """Events in the form that a bot receives, assignments to it first.

    ``texts`` are the current texts of comments, by id.
    """
    described = sentences.in_words(events_json(events, actor), beside_ticket=True)
    described.sort(key=lambda event: not _is_assignment(actor, event))
    return [_row(event, texts or {}) for event in described]


def _fully_shown_comments(
    events: Sequence[AuditEvent], texts: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The events of comments that the excerpt shows whole."""
    return [
        {"event_type": one.event_type, "ticket_id": one.ticket_id, "payload": one.payload}
        for one in events
        if one.event_type in COMMENT_TEXT_EVENTS
        and 0 < len(texts.get(one.payload["comment_id"], "")) <= EXCERPT_LENGTH
    ]


def _is_assignment(actor: Actor, event: dict[str, Any]) -> bool:
    return bool(event["payload"].get("assignee_user_id") == actor.id)


def _row(event: dict[str, Any], texts: Mapping[str, str]) -> dict[str, str]:
    row = {
        "ticket": event["display_id"],
        "who": event["actor"]["username"] if event["actor"] else SYSTEM_NAME,
        "what": event["sentence"],
        # To the minute, in UTC.
        "when": f"{event['created_at'][:16]}Z",
    }
    if event["event_type"] in COMMENT_TEXT_EVENTS and event["payload"]["comment_id"] in texts:
        row["comment"] = texts[event["payload"]["comment_id"]][:EXCERPT_LENGTH]
    return row
