"""Undo: a person reverts anyone's events, a bot only its own.

Undo is an ordinary write by the actor. Its events carry ``undo_of``, the id of the undone event,
and can be undone too. If a value changed after the event, nothing is written without ``force``.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from sqlalchemy import Select, func, literal, select, tuple_

from app.audit.event_types import UNDONE_AT_ONCE
from app.audit.models import AuditEvent
from app.audit.service import undoing
from app.core.actor import Access, Actor, operation
from app.core.errors import DomainError, Forbidden, NotFound
from app.core.ids import as_uuid
from app.database.session import by_id, by_id_or_not_found, savepoint, session
from app.undo import messages, projects, texts, tickets
from app.undo.plans import Difference, Reversal, impossible

# How each type of event is undone; others cannot be undone.
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
    "ticket.link_added": tickets.link_added,
    "ticket.link_removed": tickets.link_removed,
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
    "project.updated": projects.project_updated,
    "label.created": projects.label_created,
    "label.updated": projects.label_updated,
    "label.deleted": projects.label_deleted,
    "workflow_state.created": projects.state_created,
    "workflow_state.updated": projects.state_updated,
    "workflow_state.reordered": projects.states_reordered,
    "workflow_state.deleted": projects.state_deleted,
}
CREATES_A_TICKET = ("ticket.created", "sticky_note.converted")
# The most events of one request that one call undoes.
MAX_EVENTS = UNDONE_AT_ONCE
# Events that cannot be undone count as well: all are tried in one transaction.
MAX_TRIED_EVENTS = 4 * MAX_EVENTS
# Events of one step, in one transaction.
STEP = 100


# The first word of an event's type: the kind of its subject.
Subject = Literal["ticket", "comment", "wiki"]


class Ending(StrEnum):
    DONE = "done"
    # The event was undone before, or someone did the opposite.
    NOTHING_LEFT = "nothing_left"
    # A value changed after the event; nothing was written.
    CHANGED_SINCE = "changed_since"
    # A verb refused it.
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """The result for one event; ``message`` says why it was refused."""

    event: AuditEvent
    ending: Ending
    differences: tuple[Difference, ...] = ()
    message: str = ""

    @property
    def is_done(self) -> bool:
        return self.ending is Ending.DONE


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """The results for the events of a request, newest first, and the number of remaining events."""

    undone: list[UndoOutcome] = field(default_factory=list)
    skipped: list[UndoOutcome] = field(default_factory=list)
    left_out: int = 0
    # The last event that was tried, if there are more.
    beyond: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the request is left; undoing one event can undo another with it."""
        nothing_left = all(one.ending is Ending.NOTHING_LEFT for one in self.skipped)
        return bool(self.undone) and nothing_left and not self.left_out


@operation(Access.HUMAN)
def undo_event(actor: Actor, event_id: str, *, force: bool = False) -> UndoOutcome:
    """Undo one event; with ``force``, even if a value changed later.

    Raises NotFound, Conflict ``invariant_violation`` if it cannot be undone, and the errors of the
    verb that undoes it.
    """
    event = by_id_or_not_found(AuditEvent, event_id, "audit_event")
    return _undo(actor, event, force=force)


@operation(Access.WRITE)
def undo_own_event(
    actor: Actor, event_id: str, *, subject: Subject, subject_id: str
) -> UndoOutcome:
    """Undo an event that the actor caused on this ticket, comment or page.

    Raises NotFound for an event on another subject, Forbidden ``not_own_change``, and the errors of
    ``undo_event``.
    """
    event = by_id(AuditEvent, event_id)
    if event is None or not _is_about(event, subject, subject_id):
        raise NotFound("audit_event", event_id)
    if event.actor_user_id != actor.id:
        raise Forbidden("not_own_change")
    return _undo(actor, event, force=False)


def _is_about(event: AuditEvent, subject: Subject, subject_id: str) -> bool:
    if not event.event_type.startswith(f"{subject}."):
        return False
    if subject == "comment":
        return bool(event.payload.get("comment_id") == subject_id)
    return event.target_id == subject_id


def _undo(actor: Actor, event: AuditEvent, *, force: bool) -> UndoOutcome:
    reversal = REVERSALS.get(event.event_type)
    if reversal is None:
        raise impossible(messages.KIND_CANNOT_BE_UNDONE)
    plan = reversal(actor, event)
    if plan.act is None:
        return UndoOutcome(event, Ending.NOTHING_LEFT)
    if plan.differences and not force:
        return UndoOutcome(event, Ending.CHANGED_SINCE, plan.differences)
    with undoing(event.id):
        plan.act()
    return UndoOutcome(event, Ending.DONE)


@operation(Access.HUMAN)
def count_of_request(actor: Actor, request_id: str, limit: int) -> int:
    """The number of a request's events that can be undone, up to ``limit``."""
    listed = _events_of(request_id, None).order_by(None).limit(limit).subquery()
    return session.scalar(select(func.count()).select_from(listed)) or 0


@operation(Access.HUMAN)
def undo_request_step(
    actor: Actor, request_id: str, *, beyond: str | None = None
) -> RequestOutcome:
    """Undo the next ``STEP`` events of a request, newest first, those before ``beyond``.

    Raises NotFound if the request has no event that can be undone.
    """
    return _undo_next(actor, request_id, beyond, STEP, STEP)


@operation(Access.HUMAN)
def undo_request(actor: Actor, request_id: str, *, beyond: str | None = None) -> RequestOutcome:
    """Undo up to ``MAX_EVENTS`` events of a request, newest first, those before ``beyond``.

    Those that cannot be undone are skipped; no more than ``MAX_TRIED_EVENTS`` are tried. Raises
    NotFound if the request has no event that can be undone.
    """
    outcome = _undo_next(actor, request_id, beyond, MAX_EVENTS, MAX_TRIED_EVENTS)
    if outcome.beyond is None:
        return outcome
    older = _events_of(request_id, outcome.beyond).order_by(None).subquery()
    return replace(outcome, left_out=session.scalar(select(func.count()).select_from(older)) or 0)


def _undo_next(
    actor: Actor, request_id: str, beyond: str | None, limit: int, max_tried: int
) -> RequestOutcome:
    event_ids = session.scalars(_events_of(request_id, beyond).limit(max_tried + 1)).all()
    if not event_ids and beyond is None:
        raise NotFound("request", request_id)
    outcome = RequestOutcome()
    # Deleting these tickets undoes the request's earlier events on them.
    deleted_tickets: set[str | None] = set()
    for position, event_id in enumerate(event_ids):
        if position == max_tried or len(outcome.undone) == limit:
            return replace(outcome, beyond=event_ids[position - 1])
        event = session.get_one(AuditEvent, event_id)
        if event.ticket_id in deleted_tickets:
            continue
        result = _attempt(actor, event)
        (outcome.undone if result.is_done else outcome.skipped).append(result)
        if result.is_done and event.event_type in CREATES_A_TICKET:
            deleted_tickets.add(event.ticket_id)
    return outcome


def _events_of(request_id: str, beyond: str | None) -> Select[str]:
    """The ids of a request's events that can be undone, newest first, those before ``beyond``."""
    identifier = as_uuid(request_id)
    if identifier is None:
        raise NotFound("request", request_id)
    columns = (AuditEvent.created_at, AuditEvent.id)
    statement = (
        select(AuditEvent.id)
        .where(
            AuditEvent.request_id == identifier,
            AuditEvent.event_type.in_(REVERSALS.keys()),
        )
        .order_by(*(column.desc() for column in columns))
    )
    start = by_id(AuditEvent, beyond) if beyond else None
    if start is None:
        return statement
    values = zip((start.created_at, start.id), columns, strict=True)
    there = tuple_(*(literal(value, column.type) for value, column in values))
    return statement.where(tuple_(*columns) < there)


def _attempt(actor: Actor, event: AuditEvent) -> UndoOutcome:
    """Undo one of several events; a refusal rolls back only this one."""
    try:
        with savepoint():
            return _undo(actor, event, force=False)
    except DomainError as error:
        return UndoOutcome(event, Ending.REFUSED, message=error.message)
