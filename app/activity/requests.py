"""The audit log by request: one row for all events of a request."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.accounts import user_refs
from app.activity import messages
from app.activity.sentences import in_words, in_words_of_many
from app.activity.service import events_json, matching
from app.audit.event_types import may_be_undone
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.clock import DAY_MS, iso
from app.database.pagination import Cursor, Page, encode, page
from app.database.session import AnyRow, session

# Rows per page, and the most events that are read for them.
ROWS = 50
MAX_EVENTS = 1000
# Kinds that a row names; it only counts the events of other kinds.
MAX_NAMED_KINDS = 3
KIND = "audit_event"
# What the service does by itself all day: one row per kind and day.
HOUSEKEEPING = ("system.sweeper_ran", "system.audit_checkpoint")
_COLUMNS = (
    AuditEvent.id,
    AuditEvent.created_at,
    AuditEvent.event_type,
    AuditEvent.actor_user_id,
    AuditEvent.actor_kind,
    AuditEvent.request_id,
)


@dataclass(frozen=True, slots=True)
class RequestEvents:
    """The events of one request in words, newest first; an event without a request is alone."""

    id: str
    request_id: str | None
    event_type: str
    count: int
    # Whether the request's older events are on the next page.
    goes_on: bool
    # Whether the reader can undo some of the events.
    may_be_undone: bool
    actor: Any
    actor_kind: str
    sentence: str
    # Set if the row has only one event.
    display_id: str | None
    created_at: str


@operation(Access.HUMAN)
def list_requests(actor: Actor, /, *, cursor: str | None, **filters: Any) -> Page:
    """The audit log by request, newest first, with the filters and cursors of ``list_events``.

    A request with more events than fit continues on the next page. Housekeeping takes one row a
    day, unless a filter selects its events.
    """
    grouped = () if filters.get("event_types") else HOUSEKEEPING

    def key_of(row: AnyRow) -> str:
        if row.event_type in grouped and row.request_id is None:
            return f"{row.event_type} {row.created_at // DAY_MS}"
        return str(row.request_id or row.id)

    found = page(
        select(*_COLUMNS).where(*matching(**filters)),
        kind=KIND,
        sort=AuditEvent.created_at,
        id_column=AuditEvent.id,
        limit=MAX_EVENTS,
        cursor=cursor,
        build=list,
    )
    groups: dict[str, list[AnyRow]] = {}
    next_cursor = found.next_cursor
    # The request of the last row may have more events on the next page.
    cut = found.data[-1].request_id if next_cursor else None
    for position, row in enumerate(found.data):
        key = key_of(row)
        if key not in groups and len(groups) == ROWS:
            last = found.data[position - 1]
            next_cursor = encode(Cursor(kind=KIND, id=last.id, at=last.created_at))
            cut = None
            break
        groups.setdefault(key, []).append(row)
    return Page(_in_words(actor, list(groups.values()), cut), next_cursor)


def _in_words(
    actor: Actor, groups: Sequence[Sequence[AnyRow]], cut: str | None
) -> list[RequestEvents]:
    actors = user_refs.summaries(rows[0].actor_user_id for rows in groups)
    # Events may be large, so whole events are read only for the sentences that show them.
    singles = [row.id for rows in groups for row in _said_alone(rows)]
    events = session.scalars(select(AuditEvent).where(AuditEvent.id.in_(singles))).all()
    described = {event["id"]: event for event in in_words(events_json(events, actor))}
    return [
        RequestEvents(
            id=rows[0].id,
            request_id=rows[0].request_id,
            event_type=rows[0].event_type,
            count=len(rows),
            goes_on=cut is not None and rows[0].request_id == cut,
            may_be_undone=any(
                may_be_undone(row.event_type, row.actor_user_id, actor.user_id) for row in rows
            ),
            actor=actors.get(rows[0].actor_user_id),
            actor_kind=rows[0].actor_kind,
            sentence=_sentence(rows, {name: one["sentence"] for name, one in described.items()}),
            display_id=described[rows[0].id]["display_id"] if len(rows) == 1 else None,
            created_at=iso(rows[0].created_at),
        )
        for rows in groups
    ]


def _kinds(rows: Sequence[AnyRow]) -> list[tuple[str, int]]:
    """The event types that a row names, in order, with the number of events of each."""
    return list(Counter(row.event_type for row in reversed(rows)).items())[:MAX_NAMED_KINDS]


def _said_alone(rows: Sequence[AnyRow]) -> Iterable[AnyRow]:
    once = {name for name, count in _kinds(rows) if count == 1}
    return (row for row in rows if row.event_type in once)


def _sentence(rows: Sequence[AnyRow], sentences: dict[str, str]) -> str:
    alone = {row.event_type: sentences[row.id] for row in _said_alone(rows)}
    kinds = _kinds(rows)
    parts = [alone.get(name) or in_words_of_many(name, count) for name, count in kinds]
    others = len(rows) - sum(count for _, count in kinds)
    if others:
        parts.append(messages.and_more(others))
    return "; ".join(parts)
