"""Undo: a person takes back what anyone did, a bot too.

It is an ordinary write through the verb that anyone would call, attributed to whoever undoes. Its
events carry ``undo_of``, the id of the event undone, and can themselves be undone. Where a value is
not any more what the event left, nothing is written unless the person insists.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sqlalchemy import select

from app.audit.catalogue import UNDONE_AT_ONCE
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.context import undo_of
from app.core.errors import DomainError, NotFound
from app.core.ids import as_uuid
from app.database.session import by_id, savepoint, session
from app.undo import projects, texts, tickets
from app.undo.plans import Difference, Reversal, impossible

# How each type is undone. A type that is missing cannot be.
REVERSALS: dict[str, Reversal] = {
    "ticket.created": tickets.created,
    "ticket.updated": tickets.updated,
    "ticket.state_changed": tickets.moved,
    "ticket.assigned": tickets.assigned,
    "ticket.deleted": tickets.deleted,
    "ticket.restored": tickets.restored,
    "ticket.watcher_added": tickets.watcher_added,
    "ticket.watcher_removed": tickets.watcher_removed,
    "ticket.relation_added": tickets.relation_added,
    "ticket.relation_removed": tickets.relation_removed,
    "comment.created": texts.comment_created,
    "comment.updated": texts.comment_updated,
    "comment.deleted": texts.comment_deleted,
    "comment.restored": texts.comment_restored,
    "wiki.created": texts.page_created,
    "wiki.updated": texts.page_updated,
    "wiki.deleted": texts.page_deleted,
    "wiki.restored": texts.page_restored,
    "sticky_note.created": texts.note_created,
    "sticky_note.updated": texts.note_updated,
    "sticky_note.deleted": texts.note_deleted,
    "sticky_note.converted": texts.note_converted,
    "label.created": projects.label_created,
    "label.updated": projects.label_updated,
    "label.deleted": projects.label_deleted,
    "workflow_state.created": projects.state_created,
    "workflow_state.updated": projects.state_updated,
    "workflow_state.reordered": projects.states_reordered,
    "workflow_state.deleted": projects.state_deleted,
}
MAKES_A_TICKET = ("ticket.created", "sticky_note.converted")
# Events of one request that are undone at once.
MOST_EVENTS = UNDONE_AT_ONCE


class Ending(StrEnum):
    """How an attempt to undo one event ended."""

    DONE = "done"
    # Nothing was left of it: it was undone before, or someone did the opposite.
    NOTHING_LEFT = "nothing_left"
    # Another value is there than the event left; nothing was written.
    CHANGED_SINCE = "changed_since"
    # A rule forbids it now.
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """What became of one event."""

    event: AuditEvent
    ending: Ending
    differences: tuple[Difference, ...] = ()
    # Why it was refused.
    message: str = ""

    @property
    def is_done(self) -> bool:
        """Whether it was undone."""
        return self.ending is Ending.DONE


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """What became of the events of a request, the newest first, and how many were left out."""

    undone: list[UndoOutcome] = field(default_factory=list)
    skipped: list[UndoOutcome] = field(default_factory=list)
    left_out: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the request is left: undoing one event can take another one along."""
        gone = all(one.ending is Ending.NOTHING_LEFT for one in self.skipped)
        return bool(self.undone) and gone and not self.left_out


@contextmanager
def _naming(event: AuditEvent) -> Iterator[None]:
    """Let what is recorded meanwhile name the event that it undoes."""
    token = undo_of.set(event.id)
    try:
        yield
    finally:
        undo_of.reset(token)


@operation(Access.HUMAN)
def undo_event(actor: Actor, event_id: str, *, force: bool = False) -> UndoOutcome:
    """Undo one event; with ``force`` also where someone changed the same value since.

    Raises NotFound, Conflict ``invariant_violation`` where it cannot be undone, and what the verb
    that undoes it raises.
    """
    event = by_id(AuditEvent, event_id)
    if event is None:
        raise NotFound("audit_event", event_id)
    return _undo(actor, event, force=force)


def _undo(actor: Actor, event: AuditEvent, *, force: bool) -> UndoOutcome:
    reversal = REVERSALS.get(event.event_type)
    if reversal is None:
        raise impossible("This kind of event cannot be undone.")
    plan = reversal(actor, event)
    if plan.act is None:
        return UndoOutcome(event, Ending.NOTHING_LEFT)
    if plan.differences and not force:
        return UndoOutcome(event, Ending.CHANGED_SINCE, plan.differences)
    with _naming(event):
        plan.act()
    return UndoOutcome(event, Ending.DONE)


@operation(Access.HUMAN)
def undo_request(actor: Actor, request_id: str) -> RequestOutcome:
    """Undo all that a request did, the newest event first; what cannot be undone is left.

    Raises NotFound where the request did nothing that can be undone.
    """
    identifier = as_uuid(request_id)
    wanted = (
        AuditEvent.request_id == identifier,
        AuditEvent.event_type.in_(REVERSALS.keys()),
    )
    newest = select(AuditEvent.id).order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    every = session.scalars(newest.where(*wanted)).all() if identifier else ()
    if not every:
        raise NotFound("request", request_id)
    outcome = RequestOutcome()
    # Tickets whose making was undone: with them went what the request did to them before.
    unmade: set[str | None] = set()
    for at, event_id in enumerate(every):
        if len(outcome.undone) == MOST_EVENTS:
            # Undone again, the request goes on from here: of the others nothing is left.
            return replace(outcome, left_out=len(every) - at)
        event = session.get_one(AuditEvent, event_id)
        if event.ticket_id in unmade:
            continue
        one = _attempt(actor, event)
        (outcome.undone if one.is_done else outcome.skipped).append(one)
        if one.is_done and event.event_type in MAKES_A_TICKET:
            unmade.add(event.ticket_id)
    return outcome


def _attempt(actor: Actor, event: AuditEvent) -> UndoOutcome:
    """Undo one of several events; a refusal takes back only what this one wrote."""
    try:
        with savepoint():
            return _undo(actor, event, force=False)
    except DomainError as error:
        return UndoOutcome(event, Ending.REFUSED, message=error.message)
