"""Rewind: a person takes back what a bot did in a span, or what an own import did.

It goes from the newest event to the oldest, in steps. Each step is a transaction of ordinary
writes by whoever rewinds; their events carry ``undo_of``, by which a second rewind knows what is
done. A value that anyone else wrote since stands. Nothing but the audit log says how far a rewind
is, so one that was stopped or killed goes on where it was.
"""

from collections.abc import Iterator, Sequence
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
from app.rewind.scope import MAX_REQUESTS, RewindScope
from app.sticky_notes.models import StickyNote
from app.tickets.models import Ticket
from app.wiki.models import WikiPage

WAYS = ticket_parts.WAYS | text_parts.WAYS | file_parts.WAYS
TYPES = tuple(WAYS)
# Events of one transaction, as it delays other writers.
BATCH = 50
# Events that a preview reads in one unit of work.
READ_AT_ONCE = 500


class Fate(StrEnum):
    """What becomes of one value."""

    # It is put back; a preview says that it will be.
    BACK = "back"
    # It stands, since others changed it, or a verb refuses; a person can decide.
    KEPT = "kept"
    # It was put back before.
    DONE = "done"
    # It is as it was before the event.
    EQUAL = "equal"


@dataclass(frozen=True, slots=True)
class RewoundValue:
    """What became of one value of an event; ``why`` is a sentence, or who wrote since."""

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


def check_scope(actor: Actor, scope: RewindScope) -> None:
    """Raise NotFound for the user, InvalidField, or Conflict for what another person did."""
    user = by_id_or_not_found(User, scope.user_id, "user")
    if scope.since >= scope.until:
        raise InvalidField("until", "out_of_range", messages.UNTIL_BEFORE_SINCE)
    if len(scope.request_ids) > MAX_REQUESTS:
        raise InvalidField("request_ids", "too_many", messages.too_many_requests(MAX_REQUESTS))
    if user.type != UserType.BOT and (user.id != actor.user_id or not scope.request_ids):
        raise Conflict("invariant_violation", messages.NEITHER_BOT_NOR_OWN_IMPORT)


@operation(Access.HUMAN)
def count_events(actor: Actor, scope: RewindScope, limit: int) -> int:
    """The number of events that a rewind looks at, ``most`` at most."""
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
    """Take back the next events of the scope, the newest first, in the current transaction.

    ``log`` is what the steps before have read.
    """
    check_scope(actor, scope)
    events = scope.events(TYPES, BATCH + 1, beyond=beyond)
    batch = events[:BATCH]
    step = RewindStep(len(batch))
    if not batch:
        return step
    _lock(batch)
    log = log or LogReading()
    view = RewindView(scope.user_id, others.read(scope, batch, log))
    recorded: list[Recorded] = []
    for event in batch:
        step.values += _take_back(actor, event, view, recorded)
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
    """Lock what the events are about, before the log says what others wrote.

    Always in the same order, so that two rewinds do not wait for each other.
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


def _take_back(
    actor: Actor, event: AuditEvent, view: RewindView, recorded: list[Recorded]
) -> list[RewoundValue]:
    judged = list(_judged(event, view))
    parts = [part for part, value in judged if value.fate is Fate.BACK]
    refusals = _put_back(actor, event, parts, recorded) if parts else {}
    return [_refused(value, refusals.get(value.name)) for _, value in judged]


def _refused(value: RewoundValue, message: str | None) -> RewoundValue:
    if message is None:
        return value
    return replace(value, fate=Fate.KEPT, why=message)


def _put_back(
    actor: Actor, event: AuditEvent, parts: Sequence[RewindPart], recorded: list[Recorded]
) -> dict[str, str]:
    """Put the parts back at once, else one by one; the messages of those that a verb refuses."""
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
    if event.id in view.others.undone:
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

    ``foreseen`` carries what the steps before would change, ``log`` what they have read; both are
    added to.
    """
    check_scope(actor, scope)
    events = scope.events(TYPES, READ_AT_ONCE + 1, beyond=beyond)
    batch = events[:READ_AT_ONCE]
    step = RewindStep(len(batch))
    if not batch:
        return step
    view = RewindView(scope.user_id, others.read(scope, batch, log), foreseen)
    for event in batch:
        for part, value in _judged(event, view):
            step.values.append(value)
            if value.fate is Fate.BACK:
                view.foresee(part)
    step.beyond = batch[-1].id if len(events) > READ_AT_ONCE else None
    return step


@operation(Access.HUMAN)
def put_back_anyway(actor: Actor, scope: RewindScope, event_id: str, name: str) -> None:
    """Put one kept value back, though others changed it since.

    Raises NotFound for an event or value that is not of the scope, and the errors of its verb.
    """
    check_scope(actor, scope)
    event = by_id(AuditEvent, event_id)
    if event is None or event.event_type not in WAYS or not scope.holding([event.id]):
        raise NotFound("audit_event", event_id)
    _lock([event])
    view = RewindView(scope.user_id, others.read(scope, [event], LogReading()))
    for part, value in _judged(event, view):
        if part.name == name:
            if value.fate is not Fate.EQUAL:
                with undoing(event.id):
                    WAYS[event.event_type].act(actor, event, [part])
            return
    raise NotFound("audit_event", event_id)
