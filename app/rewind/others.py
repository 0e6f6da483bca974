"""Later writes by others, from the audit log, on the subjects that a rewind is about to change.

An undo of an event of the scope does not count as a write by others. Its values are done, and so
are those that the bot wrote between the event and its undo. So a rewind finds in the log what an
earlier rewind did.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, case, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from app.audit.event_types import UNDO_OF
from app.audit.models import HAS_INDEXED_TARGET, AuditEvent
from app.database.columns import Id
from app.database.session import AnyRow, Prepared, session
from app.rewind.scope import RewindScope

# A subject (its kind and id) and its part: a field, a label, or one of the words below.
Key = tuple[str, ...]
# Where the log is read: the ticket or the target of its events, with its id.
Place = tuple[str, str]
TICKET, TARGET = "ticket", "target"
# The existence of the subject.
EXISTS = "exists"
# Any part of the subject.
ANYTHING = "*"

# Events that are read in one query.
CHUNK = 500
# Keys and places that are kept from step to step.
MAX_KNOWN = 200_000
_COLUMNS = (
    AuditEvent.id,
    AuditEvent.event_type,
    AuditEvent.actor_user_id,
    AuditEvent.target_id,
    AuditEvent.ticket_id,
    AuditEvent.payload,
    AuditEvent.created_at,
)
_SUBJECTS = {"wiki": "page", "sticky_note": "note", "label": "label"}


@dataclass(frozen=True, slots=True)
class OtherWrite:
    """The writer and the time of the last write."""

    at: int
    event_id: str
    user_id: str | None


@dataclass(slots=True)
class OtherWrites:
    """The last write by others of each key, and the undone events of the scope.

    ``taken_back`` maps each key to spans of ids: from an undone event to its undo.
    """

    last: dict[Key, OtherWrite] = field(default_factory=dict)
    taken_back: dict[Key, list[tuple[str, str]]] = field(default_factory=dict)

    def since(self, key: Key, event: AuditEvent) -> OtherWrite | None:
        """The last write of the key, if it is later than the event."""
        write = self.last.get(key)
        is_later = write and (write.at, write.event_id) > (event.created_at, event.id)
        return write if is_later else None

    def is_taken_back(self, key: Key, event: AuditEvent) -> bool:
        """Whether the event, or an older one with the same key, was undone after the event."""
        return any(start <= event.id <= end for start, end in self.taken_back.get(key, ()))

    def add_undo(self, row: Any) -> None:
        """Record the keys of an undo; overlapping spans are merged."""
        undone_id = row.payload[UNDO_OF]
        for key in keys_of(row):
            start, end = undone_id, max(undone_id, row.id)
            apart = []
            for span in self.taken_back.get(key, ()):
                if span[1] < start or end < span[0]:
                    apart.append(span)
                else:
                    start, end = min(start, span[0]), max(end, span[1])
            self.taken_back[key] = [*apart, (start, end)]

    def add(self, row: Any) -> None:
        write = OtherWrite(row.created_at, row.id, row.actor_user_id)
        for key in keys_of(row):
            known = self.last.get(key)
            if known is None or (known.at, known.event_id) < (write.at, write.event_id):
                self.last[key] = write


def relation_key(payload: dict[str, Any]) -> Key:
    return (
        "relation",
        payload["source_ticket_id"],
        payload["target_ticket_id"],
        payload["type"],
    )


def reaction_key(event: Any) -> Key:
    """The key of a reaction: it is the actor's, unless the event names another user."""
    payload = event.payload
    user_id = payload.get("user_id") or event.actor_user_id
    return ("comment", payload["comment_id"], "reaction", user_id, payload["reaction"])


def changed_labels(change: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The labels that a change of ``label_ids`` added, and those that it removed."""
    before, after = set(change["from"] or ()), set(change["to"] or ())
    return sorted(after - before), sorted(before - after)


def keys_of(event: Any) -> Iterator[Key]:
    """The keys that an event, or a row of its columns, changed."""
    subject, _, verb = event.event_type.partition(".")
    payload, target_id, ticket_id = event.payload, event.target_id, event.ticket_id
    if ticket_id is not None:
        yield ("ticket", ticket_id, ANYTHING)
    if subject == "comment":
        comment = ("comment", payload["comment_id"])
        yield (*comment, ANYTHING)
        yield (*comment, _FIELDS.get(verb, EXISTS))
        if verb == "reacted":
            yield reaction_key(event)
    elif subject in _SUBJECTS and target_id is not None:
        yield from _keys_of_text((_SUBJECTS[subject], target_id), verb, payload)
    elif subject == "ticket" and ticket_id is not None:
        yield from _keys_of_ticket(("ticket", ticket_id), verb, payload)


# The field that an event changes, by the verb of its type.
_FIELDS = {
    "updated": "body",
    "reacted": ANYTHING,
    "state_changed": "state_id",
    "assigned": "assignee_user_id",
    "converted": "converted_to_ticket_id",
}


def _keys_of_text(subject: Key, verb: str, payload: dict[str, Any]) -> Iterator[Key]:
    yield (*subject, ANYTHING)
    if verb != "updated":
        yield (*subject, _FIELDS.get(verb, EXISTS))
    # Older events of notes list only field names; those of pages omit the body.
    for name in (*payload.get("changes", ()), *payload.get("fields", ())):
        yield (*subject, name)
    if payload.get("body_changed"):
        yield (*subject, "body")


def _keys_of_ticket(ticket: Key, verb: str, payload: dict[str, Any]) -> Iterator[Key]:
    if verb == "updated":
        for name, change in payload["changes"].items():
            yield (*ticket, name)
            if name == "label_ids":
                added, removed = changed_labels(change)
                yield from ((*ticket, "label", label_id) for label_id in (*added, *removed))
    elif verb.startswith("watcher_"):
        yield (*ticket, "watcher", payload["user_id"])
    elif verb.startswith("link_"):
        yield (*ticket, "link", payload["url"])
    elif verb.startswith("relation_"):
        yield relation_key(payload)
        yield ("ticket", payload["source_ticket_id"], ANYTHING)
        yield ("ticket", payload["target_ticket_id"], ANYTHING)
    else:
        yield (*ticket, _FIELDS.get(verb, EXISTS))


def tickets_of(event: AuditEvent) -> set[str]:
    """The tickets that undoing the event can change."""
    ends = ("source_ticket_id", "target_ticket_id")
    named = {event.payload.get(name) for name in ends}
    return {ticket_id for ticket_id in (event.ticket_id, *named) if ticket_id}


def targets_of(events: Iterable[AuditEvent], subject: str) -> set[str]:
    """The ids of the pages, notes or labels of these events."""
    prefix = f"{subject}."
    return {one.target_id for one in events if one.event_type.startswith(prefix) and one.target_id}


def places_of(events: Iterable[AuditEvent]) -> set[Place]:
    """The places of the log with later events on the subjects of these events."""
    events = list(events)
    of_tickets = {(TICKET, key) for event in events for key in tickets_of(event)}
    return of_tickets | {
        (TARGET, key) for subject in _SUBJECTS for key in targets_of(events, subject)
    }


@dataclass(slots=True)
class LogReading:
    """What the steps of one rewind have read of the log, so that each reads only what is new.

    ``known`` maps each place to the time (ms) from which its events were read, and their number. If
    the number in the log differs, all of them are read again.
    """

    found: OtherWrites = field(default_factory=OtherWrites)
    known: dict[Place, tuple[int, int]] = field(default_factory=dict)

    # The writes of the previous step, which may have been rolled back: the last event, and the
    # places of all.
    pending: tuple[str, list[Place]] | None = None

    def confirm(self) -> None:
        """Count the writes of the previous step as known, if they were committed."""
        last_id, places = self.pending or ("", [])
        self.pending = None
        found = select(AuditEvent.id).where(AuditEvent.id == last_id)
        if not places or session.scalar(found) is None:
            return
        for place in places:
            if place in self.known:
                since, count = self.known[place]
                self.known[place] = since, count + 1

    def make_room(self) -> None:
        if len(self.found.last) + len(self.found.taken_back) + len(self.known) > MAX_KNOWN:
            self.found, self.known = OtherWrites(), {}


# The logs of unfinished rewinds, for their next requests. Only one request at a time takes it.
_cached: dict[RewindScope, LogReading] = {}
MAX_CACHED_LOGS = 4


def resumed(scope: RewindScope, beyond: str | None) -> LogReading:
    """The log that an earlier request of this rewind has read, if this process served it.

    A rewind that starts over reads its own writes from the log.
    """
    cached = _cached.pop(scope, None)
    return cached if cached is not None and beyond else LogReading()


def keep(scope: RewindScope, log: LogReading) -> None:
    if len(_cached) >= MAX_CACHED_LOGS:
        _cached.clear()
    _cached[scope] = log


_IS_KNOWN = case((AuditEvent.created_at >= bindparam("since"), 1), else_=0)
_COUNTED = select(
    func.count().label("all"), func.coalesce(func.sum(_IS_KNOWN), 0).label("known")
).where(AuditEvent.created_at >= bindparam("oldest"))
_COLUMN_OF: dict[str, InstrumentedAttribute[Any]] = {
    TICKET: AuditEvent.ticket_id,
    TARGET: AuditEvent.target_id,
}


def _at(kind: str, key: ColumnElement[bool]) -> ColumnElement[bool]:
    """The condition that events are of places of this kind, in the form that its index needs."""
    return key if kind == TICKET else and_(key, HAS_INDEXED_TARGET)


_COUNTS = {
    kind: Prepared(_COUNTED.where(_at(kind, column == bindparam("id", type_=Id()))))
    for kind, column in _COLUMN_OF.items()
}


def read(scope: RewindScope, events: Sequence[AuditEvent], log: LogReading) -> OtherWrites:
    """The writes by others on the subjects of these events, later than the oldest of them."""
    log.confirm()
    log.make_room()
    oldest = min(event.created_at for event in events)
    for of_places in _unread(places_of(events), oldest, log):
        for chunk in _chunks(and_(of_places, scope.others()), oldest):
            _add(scope, log.found, chunk)
    return log.found


def _unread(places: Iterable[Place], oldest: int, log: LogReading) -> list[ColumnElement[bool]]:
    """Conditions for the unread events of these places; marks the places as known.

    Events are counted before they are read. So an event that commits in between is missing in the
    count, and the next step reads it.
    """
    new: dict[str, list[str]] = {}
    older: list[ColumnElement[bool]] = []
    for place in sorted(places):
        kind, key = place
        since, known = log.known.get(place, (oldest, -1))
        start = min(oldest, since)
        row = _COUNTS[kind].first(id=key, oldest=start, since=since)
        log.known[place] = start, row.all
        if row.known != known:
            new.setdefault(kind, []).append(key)
        elif start < since:
            older.append(and_(_at(kind, _COLUMN_OF[kind] == key), AuditEvent.created_at < since))
    return [*(_at(kind, _COLUMN_OF[kind].in_(keys)) for kind, keys in new.items()), *older]


def _chunks(condition: ColumnElement[bool], oldest: int) -> Iterator[Sequence[AnyRow]]:
    """The events that match a condition, oldest first, in chunks."""
    ordered = select(*_COLUMNS).where(condition).order_by(AuditEvent.created_at, AuditEvent.id)
    after = AuditEvent.created_at >= oldest
    while True:
        rows = session.execute(ordered.where(after).limit(CHUNK)).all()
        yield rows
        if len(rows) < CHUNK:
            return
        last = rows[-1]
        after = and_(
            AuditEvent.created_at >= last.created_at,
            or_(AuditEvent.created_at > last.created_at, AuditEvent.id > last.id),
        )


def _add(scope: RewindScope, found: OtherWrites, rows: Sequence[Any]) -> None:
    undone = {row.payload[UNDO_OF] for row in rows if row.payload.get(UNDO_OF)}
    in_scope = scope.holding(sorted(undone)) if undone else set()
    for row in rows:
        if row.payload.get(UNDO_OF) in in_scope:
            found.add_undo(row)
        else:
            found.add(row)
