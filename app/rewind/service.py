"""Rewind: a person undoes what a bot did in a time span, or what their own import did.

It goes from the newest event to the oldest, in steps. Each step is a transaction of ordinary writes
by the person; their events carry ``undo_of``, which tells a second rewind what is done. A value
that anyone else changed later is kept. Only the audit log records the progress of a rewind, so a
rewind that was stopped or killed continues where it was.

There are two exceptions to the order. A deleted ticket that a value needs, such as a parent, is
restored first. And a deleted ticket no longer keeps its parent, which is then judged again. A
deletion and its restore cancel out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import select

from app.accounts.models import User, UserType
from app.audit.models import AuditEvent
from app.audit.service import Recorded, collecting, undoing
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, DomainError, InvalidField, NotFound
from app.database.locks import Lock, acquire
from app.database.session import by_id, by_id_or_not_found, savepoint, session
from app.rewind import file_parts, messages, others, text_parts, ticket_parts
from app.rewind.others import (
    TARGET,
    TICKET,
    Key,
    LogReading,
    OtherWrite,
    targets_of,
    tickets_of,
)
from app.rewind.parts import RewindPart, RewindView, short
from app.rewind.scope import BEGUN, MAX_REQUESTS, RewindScope
from app.sticky_notes.models import StickyNote
from app.tickets.models import Ticket
from app.wiki.models import WikiPage

WAYS = ticket_parts.WAYS | text_parts.WAYS | file_parts.WAYS
TYPES = tuple(WAYS)
RESTORED = ("ticket.restored", "comment.restored", "wiki.restored")
# Types of tickets form three levels.
LEVELS_ABOVE = 2
# The most events of one transaction, because it delays other writers.
BATCH = 50
# Events that a preview reads in one unit of work.
READ_AT_ONCE = 500


class Fate(StrEnum):
    """The outcome for one value."""

    # It is put back; in a preview, it will be.
    BACK = "back"
    # It is kept, because others changed it or a verb refuses; a person can decide.
    KEPT = "kept"
    # It was put back earlier.
    DONE = "done"
    # Its value is the same as before the event.
    EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class RewoundValue:
    """The outcome for one value of an event; ``why`` is a sentence or the later write by others."""

    event_id: str
    event_type: str
    subject: Key
    name: str
    back: Any
    now: Any
    fate: Fate
    why: OtherWrite | str | None = None


@dataclass(slots=True)
class RewindStep:
    """One step: its events and values, and the event beyond which the next begins, if any."""

    events: int = 0
    values: list[RewoundValue] = field(default_factory=list)
    beyond: str | None = None

    def count(self, fate: Fate) -> int:
        return sum(value.fate is fate for value in self.values)


@dataclass(slots=True)
class OutOfOrder:
    """Events that are undone together with another one, out of order."""

    # By event id: the deletions of the tickets that it needs.
    deletions: dict[str, list[AuditEvent]]
    # By ticket id: its creation or restore, judged again once a ticket below it is deleted.
    begun: dict[str, AuditEvent]

    @classmethod
    def of(cls, scope: RewindScope, batch: Sequence[AuditEvent]) -> "OutOfOrder":
        return cls(_deletions(scope, batch), _begun_above(scope, batch))

    def events(self) -> list[AuditEvent]:
        return [*self.begun.values(), *(one for found in self.deletions.values() for one in found)]


def _deletions(scope: RewindScope, batch: Sequence[AuditEvent]) -> dict[str, list[AuditEvent]]:
    needed = {event.id: ticket_parts.needed_tickets(event) for event in batch}
    every = set().union(*needed.values())
    deleted = select(Ticket.id).where(Ticket.id.in_(every), Ticket.deleted_at.is_not(None))
    gone = set(session.scalars(deleted)) if every else set()
    found: dict[str, list[AuditEvent]] = {}
    for event in batch:
        before = (scope.deletion_before(event, one) for one in sorted(needed[event.id] & gone))
        found[event.id] = [one for one in before if one is not None]
    return found


def _begun_above(scope: RewindScope, batch: Sequence[AuditEvent]) -> dict[str, AuditEvent]:
    """The creations or restores of the tickets that began in the batch, and of those above them."""
    begun = {event.ticket_id or "": event for event in batch if event.event_type in BEGUN}
    found, below = dict(begun), set(begun)
    for _ in range(LEVELS_ABOVE if begun else 0):
        above = select(Ticket.parent_ticket_id).where(Ticket.id.in_(below)).distinct()
        below = {one for one in session.scalars(above) if one}
        for ticket_id in sorted(below - found.keys()):
            event = scope.begun_after(batch[0], ticket_id)
            if event is not None:
                found[ticket_id] = event
    return found


def check_scope(actor: Actor, scope: RewindScope) -> None:
    """Raise NotFound for the user, InvalidField, or Conflict for another person's changes."""
    user = by_id_or_not_found(User, scope.user_id, "user")
    if scope.since >= scope.until:
        raise InvalidField("until", "out_of_range", messages.UNTIL_BEFORE_SINCE)
    if len(scope.request_ids) > MAX_REQUESTS:
        raise InvalidField("request_ids", "too_many", messages.too_many_requests(MAX_REQUESTS))
    if user.type != UserType.BOT and (user.id != actor.user_id or not scope.request_ids):
        raise Conflict("invariant_violation", messages.NEITHER_BOT_NOR_OWN_IMPORT)


@operation(Access.HUMAN)
def count_events(actor: Actor, scope: RewindScope, limit: int) -> int:
    """The number of events that a rewind looks at, at most ``limit``."""
    check_scope(actor, scope)
    return scope.count(TYPES, limit)


@operation(Access.HUMAN)
def rewind_step(
    actor: Actor,
    scope: RewindScope,
    *,
    beyond: str | None = None,
    log: LogReading | None = None,
) -> RewindStep:
    """Undo the next events of the scope, the newest first, in the current transaction.

    ``log`` is what the previous steps have read.
    """
    check_scope(actor, scope)
    events = scope.events(TYPES, BATCH + 1, beyond=beyond)
    batch = events[:BATCH]
    step = RewindStep(len(batch))
    if not batch:
        return step
    apart = OutOfOrder.of(scope, batch)
    _lock([*batch, *apart.events()])
    log = log or LogReading()
    view = RewindView(
        scope,
        others.read(scope, [*batch, *apart.events()], log),
        showing=file_parts.texts_showing(batch),
    )
    recorded: list[Recorded] = []
    step.values += _in_order(batch, apart, view, lambda one: _take_back(actor, one, view, recorded))
    if recorded:
        log.pending = (
            recorded[-1].id,
            [
                place
                for one in recorded
                for place in ((TICKET, one.target.ticket_id), (TARGET, one.target.id))
                if place in log.known
            ],
        )
    step.beyond = batch[-1].id if len(events) > BATCH else None
    return step


def _lock(events: Sequence[AuditEvent]) -> None:
    """Lock the subjects of the events before reading the log for writes by others.

    The order is fixed, so that two rewinds do not deadlock.
    """
    types = {event.event_type for event in events}
    acquire(Lock.REWIND)
    if types & {"ticket.relation_added", "ticket.relation_removed"}:
        acquire(Lock.RELATIONS)
    if "wiki.deleted" in types:
        acquire(Lock.WIKI_SLUGS)
    ticket_ids = set().union(*(tickets_of(event) for event in events))
    for model, found in (
        (Ticket, ticket_ids),
        (WikiPage, targets_of(events, "wiki")),
        (StickyNote, targets_of(events, "sticky_note")),
    ):
        statement = select(model).where(model.id.in_(found)).order_by(model.id)
        session.scalars(statement.with_for_update(key_share=True)).all()


def _in_order(
    batch: Sequence[AuditEvent],
    apart: OutOfOrder,
    view: RewindView,
    take: Callable[[AuditEvent], list[RewoundValue]],
) -> Iterator[RewoundValue]:
    """The values of each event, from ``take``: needed deletions before it, its parents after it."""
    for event in batch:
        for deletion in apart.deletions[event.id]:
            yield from _back(take(deletion))
        values = take(event)
        yield from values
        below: AuditEvent | None = event
        while below is not None and below.event_type in BEGUN and _back(values):
            below = _newer_above(below, apart, view)
            values = _back(take(below)) if below is not None else []
            yield from values


def _back(values: Sequence[RewoundValue]) -> list[RewoundValue]:
    return [value for value in values if value.fate is Fate.BACK]


def _newer_above(event: AuditEvent, apart: OutOfOrder, view: RewindView) -> AuditEvent | None:
    """The event that created or restored the ticket's parent, if it was judged before."""
    ticket = session.get_one(Ticket, event.ticket_id)
    key = ("ticket", ticket.id, "parent_ticket_id")
    above = apart.begun.get(view.now(key, ticket.parent_ticket_id) or "")
    return above if above is not None and above.id > event.id else None


def _take_back(
    actor: Actor, event: AuditEvent, view: RewindView, recorded: list[Recorded]
) -> list[RewoundValue]:
    judged = list(_judged(event, view))
    parts = [part for part, value in judged if value.fate is Fate.BACK]
    refusals = _put_back(actor, event, parts, recorded) if parts else {}
    for part in parts:
        if part.name not in refusals:
            view.was_put_back(part)
    return [_refused(value, refusals.get(value.name)) for _, value in judged]


def _refused(value: RewoundValue, message: str | None) -> RewoundValue:
    if message is None:
        return value
    return replace(value, fate=Fate.KEPT, why=message)


def _put_back(
    actor: Actor, event: AuditEvent, parts: Sequence[RewindPart], recorded: list[Recorded]
) -> dict[str, str]:
    """Put the parts back together, else one by one; returns messages of refusals by part."""
    with undoing(event.id):
        try:
            with collecting() as now_recorded, savepoint():
                WAYS[event.event_type].act(actor, event, parts)
        except DomainError as error:
            if len(parts) == 1:
                return {parts[0].name: error.message}
        else:
            recorded += now_recorded
            return {}
    refusals: dict[str, str] = {}
    for part in parts:
        refusals |= _put_back(actor, event, [part], recorded)
    return refusals


def _judged(event: AuditEvent, view: RewindView) -> Iterator[tuple[RewindPart, RewoundValue]]:
    if event.event_type in RESTORED and view.scope.deletion_before(event) is not None:
        return
    for part in WAYS[event.event_type].parts(view, event):
        fate, why = _fate(event, part, view)
        yield (
            part,
            RewoundValue(
                event.id,
                event.event_type,
                # Comments and relations are listed with their ticket.
                ("ticket", event.ticket_id) if event.ticket_id else part.key[:2],
                part.name,
                short(part.back),
                part.now,
                fate,
                why,
            ),
        )


def _fate(
    event: AuditEvent, part: RewindPart, view: RewindView
) -> tuple[Fate, OtherWrite | str | None]:
    if part.now == short(part.back):
        return Fate.EQUAL, None
    since = view.others.since(part.key, event)
    if since is not None:
        return Fate.KEPT, since
    if view.others.is_taken_back(part.key, event):
        return Fate.DONE, None
    return (Fate.KEPT, part.obstacle) if part.obstacle else (Fate.BACK, None)


@operation(Access.HUMAN)
def preview_step(
    actor: Actor,
    scope: RewindScope,
    foreseen: dict[Key, Any],
    log: LogReading,
    *,
    beyond: str | None = None,
) -> RewindStep:
    """What a rewind would do with the next events; refusals by the verbs are not foreseen.

    ``foreseen`` has the changes of previous steps, ``log`` what they have read; this adds to both.
    """
    check_scope(actor, scope)
    events = scope.events(TYPES, READ_AT_ONCE + 1, beyond=beyond)
    batch = events[:READ_AT_ONCE]
    step = RewindStep(len(batch))
    if not batch:
        return step
    apart = OutOfOrder.of(scope, batch)
    view = RewindView(
        scope,
        others.read(scope, [*batch, *apart.events()], log),
        foreseen,
        file_parts.texts_showing(batch),
    )
    step.values += _in_order(batch, apart, view, lambda one: _foresee(one, view))
    step.beyond = batch[-1].id if len(events) > READ_AT_ONCE else None
    return step


def _foresee(event: AuditEvent, view: RewindView) -> list[RewoundValue]:
    judged = list(_judged(event, view))
    for part, value in judged:
        if value.fate is Fate.BACK:
            view.foresee(part)
    return [value for _, value in judged]


@operation(Access.HUMAN)
def put_back_anyway(actor: Actor, scope: RewindScope, event_id: str, name: str) -> None:
    """Put one kept value back although others changed it later.

    Raises NotFound if the event or value is not in the scope, and the errors of its verb.
    """
    check_scope(actor, scope)
    event = by_id(AuditEvent, event_id)
    if event is None or event.event_type not in WAYS or not scope.holding([event.id]):
        raise NotFound("audit_event", event_id)
    _lock([event])
    view = RewindView(scope, others.read(scope, [event], LogReading()))
    for part, value in _judged(event, view):
        if part.name == name:
            if value.fate is not Fate.EQUAL:
                with undoing(event.id):
                    WAYS[event.event_type].act(actor, event, [part])
            return
    raise NotFound("audit_event", event_id)
