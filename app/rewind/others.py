"""What others wrote since, by the audit log, on what a rewind is about to change.

An undo of an event of the scope is not a write of its own: it counts with the event. What it wrote
is done, and so is what the bot wrote of it in between. So a rewind finds in the log what an earlier
one did.
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

# A subject (its kind and id) and what of it: a field, a label, or one of the words below.
Key = tuple[str, ...]
# Where the log is read: by the ticket of its events, or by their target, with its id.
Place = tuple[str, str]
TICKET, TARGET = "ticket", "target"
# Whether the subject exists.
EXISTS = "exists"
# Anything of the subject.
ANYTHING = "*"

# Events that are read at once.
CHUNK = 500
# Keys, events and tickets that are kept from step to step.
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
    """Who wrote last, and when."""

    at: int
    event_id: str
    user_id: str | None


@dataclass(slots=True)
class OtherWrites:
    """The last write by others of each key, and what was undone of the scope.

    ``taken_back`` has the spans of each key, by ids: from an event that was undone to its undo.
    """

    last: dict[Key, OtherWrite] = field(default_factory=dict)
    taken_back: dict[Key, list[tuple[str, str]]] = field(default_factory=dict)

    def since(self, key: Key, event: AuditEvent) -> OtherWrite | None:
        """The last write of the key after the event."""
        write = self.last.get(key)
        is_later = write and (write.at, write.event_id) > (event.created_at, event.id)
        return write if is_later else None

    def is_taken_back(self, key: Key, event: AuditEvent) -> bool:
        """Whether the event, or an older one that wrote the key, was undone after the event."""
        return any(start <= event.id <= end for start, end in self.taken_back.get(key, ()))

    def add_undo(self, row: Any) -> None:
        """Note the keys of an undo; spans that overlap become one."""
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
    """The reaction of an event: its actor's, unless the event names whose it is."""
    payload = event.payload
    user_id = payload.get("user_id") or event.actor_user_id
    return ("comment", payload["comment_id"], "reaction", user_id, payload["reaction"])


def changed_labels(change: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The labels that a change of ``label_ids`` added, and those that it removed."""
    before, after = set(change["from"] or ()), set(change["to"] or ())
    return sorted(after - before), sorted(before - after)


def keys_of(event: Any) -> Iterator[Key]:
    """What an event, or a row of its columns, changed."""
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


# The field that an event changes by its very type.
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
    # Older events of notes name the fields alone; those of pages leave the body out.
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
    """The places of the log that say what else became of what these events are about."""
    events = list(events)
    of_tickets = {(TICKET, key) for event in events for key in tickets_of(event)}
    return of_tickets | {
        (TARGET, key) for subject in _SUBJECTS for key in targets_of(events, subject)
    }


@dataclass(slots=True)
class LogReading:
    """What the steps of one rewind have read of the log, so that each reads only what is new.

    ``known`` has for each place the time (ms) from which on its events were read, and how many
    there are. Where the log has another number by then, all of them are read again.
    """

    found: OtherWrites = field(default_factory=OtherWrites)
    known: dict[Place, tuple[int, int]] = field(default_factory=dict)

    # What the step before wrote, which may have been rolled back: its last event, and the places
    # of each.
    pending: tuple[str, list[Place]] | None = None

    def confirm(self) -> None:
        """Count what the step before has written, if that was committed."""
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


# What rewinds that go on have read, for their next requests. One at a time takes it.
_cached: dict[RewindScope, LogReading] = {}
MAX_CACHED_LOGS = 4


def resumed(scope: RewindScope, beyond: str | None) -> LogReading:
    """What an earlier request of this rewind has read, if this process answered it.

    One that starts over reads what it has written itself.
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
    """That events are of places of this kind, by its index."""
    return key if kind == TICKET else and_(key, HAS_INDEXED_TARGET)


_COUNTS = {
    kind: Prepared(_COUNTED.where(_at(kind, column == bindparam("id", type_=Id()))))
    for kind, column in _COLUMN_OF.items()
}


def read(scope: RewindScope, events: Sequence[AuditEvent], log: LogReading) -> OtherWrites:
    """What others wrote after the oldest of these events on what the events are about."""
    log.confirm()
    log.make_room()
    oldest = min(event.created_at for event in events)
    for of_places in _unread(places_of(events), oldest, log):
        for chunk in _chunks(and_(of_places, scope.others()), oldest):
            _add(scope, log.found, chunk)
    return log.found


def _unread(places: Iterable[Place], oldest: int, log: LogReading) -> list[ColumnElement[bool]]:
    """What is still to be read of these places; notes that it is known.

    Events are counted before they are read, so that one that commits meanwhile is missing in the
    number, and read by the next step.
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
    """The events that fulfil a condition, oldest first, some at a time."""
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
