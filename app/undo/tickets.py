"""Undoing changes of a ticket."""

from typing import Any, cast

from sqlalchemy import select

from app.audit.event_types import UNDO_OF, Category
from app.audit.models import AuditEvent
from app.core import text
from app.core.actor import Actor
from app.core.errors import NotFound
from app.core.ids import request_id
from app.database.session import session
from app.projects.models import Label, WorkflowState
from app.tickets import links, loaders, relations, service, watchers
from app.tickets.fields import UPDATED
from app.tickets.models import Ticket, TicketRelation
from app.tickets.ticket_labels import label_ids_of
from app.undo import messages
from app.undo.plans import (
    NOTHING_LEFT,
    SINCE,
    Difference,
    Plan,
    deleting,
    impossible,
    one_value,
    restoring,
    values_to_put_back,
)

LABELS = "label_ids"
FIELDS = frozenset(field.name for field in UPDATED) - {LABELS}
# The most events counted after the creation of a ticket.
MAX_LATER_EVENTS = 100


def _ticket(event: AuditEvent) -> Ticket:
    """The event's ticket, locked, even if it is deleted."""
    ticket = loaders.find(event.ticket_id or "", lock=True)
    if ticket is None:
        raise NotFound("ticket", event.ticket_id or "")
    return ticket


def _live_ticket(event: AuditEvent) -> Ticket:
    ticket = _ticket(event)
    if ticket.is_deleted:
        raise impossible(messages.ticket_deleted(ticket.display_id))
    return ticket


def updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put each field back; labels one by one, so that later ones stay."""
    ticket = _live_ticket(event)
    changes = dict(event.payload["changes"])
    label_change = changes.pop(LABELS, None)
    if not FIELDS.issuperset(changes):
        raise impossible(messages.CANNOT_BE_UNDONE)
    values, differences = values_to_put_back(ticket, changes)
    label_ids = _labels_back(ticket, label_change) if label_change else None
    if label_ids is not None:
        values[LABELS] = label_ids
    if not values:
        return NOTHING_LEFT
    return Plan(lambda: service.update_ticket(actor, ticket.id, **values), differences)


def _labels_back(ticket: Ticket, change: dict[str, list[str]]) -> list[str] | None:
    """The ticket's labels minus the added ones, plus the existing removed ones; None if equal."""
    before, after = set(change["from"] or ()), set(change["to"] or ())
    existing = set(session.scalars(select(Label.id).where(Label.id.in_(before - after))))
    now = set(label_ids_of(ticket))
    back = (now - (after - before)) | existing
    return None if back == now else sorted(back)


def moved(actor: Actor, event: AuditEvent) -> Plan:
    """Move it back to its earlier state, or to the state that has that state's name."""
    ticket = _live_ticket(event)
    back = earlier_state_id(event)
    if back is None:
        raise impossible(messages.STATE_DELETED)
    return one_value(
        "state_id",
        back,
        event.payload["to_state_id"],
        ticket.state_id,
        lambda: service.transition_ticket(actor, ticket.id, state_id=back),
    )


def earlier_state_id(event: AuditEvent) -> str | None:
    """The earlier state by id or name: a deleted state that is created again has another id."""
    state_id, name = event.payload["from_state_id"], event.payload["from_state_name"]
    if state_id is None or session.get(WorkflowState, state_id) is not None:
        return cast("str | None", state_id)
    return session.scalar(
        select(WorkflowState.id).where(
            WorkflowState.project_id == event.project_id,
            WorkflowState.name_key == text.name_key(name),
        )
    )


def assigned(actor: Actor, event: AuditEvent) -> Plan:
    ticket = _live_ticket(event)
    back = event.payload["from_user_id"]
    return one_value(
        "assignee_user_id",
        back,
        event.payload["assignee_user_id"],
        ticket.assignee_user_id,
        lambda: service.update_ticket(actor, ticket.id, assignee_user_id=back),
    )


def created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; other later events need confirmation."""
    ticket = _ticket(event)
    if ticket.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: service.delete_ticket(actor, ticket.id), later(event))


def later(event: AuditEvent) -> tuple[Difference, ...]:
    """The number of the ticket's later events as a difference, if there are any.

    Undone events, and those of the event's request or the current one, do not count.
    """
    rows = session.execute(
        select(AuditEvent.id, AuditEvent.request_id, AuditEvent.payload[UNDO_OF].as_string())
        .where(
            AuditEvent.ticket_id == event.ticket_id,
            AuditEvent.category == Category.ACTIVITY.value,
            AuditEvent.id > event.id,
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(MAX_LATER_EVENTS)
    ).all()
    undone = {undo_of for _, _, undo_of in rows if undo_of}
    own_requests = {event.request_id, request_id.get()} - {None}
    count = sum(
        undo_of is None and event_id not in undone and request not in own_requests
        for event_id, request, undo_of in rows
    )
    return (Difference(SINCE, None, 0, count),) if count else ()


deleted = restoring(_ticket, service.restore_ticket)
restored = deleting(_ticket, service.delete_ticket)


def watcher_added(actor: Actor, event: AuditEvent) -> Plan:
    ticket, user_id = _live_ticket(event), event.payload["user_id"]
    if not watchers.is_watching(user_id, ticket):
        return NOTHING_LEFT
    return Plan(lambda: watchers.remove_watcher(actor, ticket.id, user_id))


def watcher_removed(actor: Actor, event: AuditEvent) -> Plan:
    ticket, user_id = _live_ticket(event), event.payload["user_id"]
    if watchers.is_watching(user_id, ticket):
        return NOTHING_LEFT
    return Plan(lambda: watchers.add_watcher(actor, ticket.id, user_id=user_id))


def link_added(actor: Actor, event: AuditEvent) -> Plan:
    ticket = _live_ticket(event)
    link = links.find(ticket.id, event.payload["url"])
    if link is None:
        return NOTHING_LEFT
    return Plan(lambda: links.remove_link(actor, ticket.id, link.id))


def link_removed(actor: Actor, event: AuditEvent) -> Plan:
    ticket, payload = _live_ticket(event), event.payload
    if links.find(ticket.id, payload["url"]) is not None:
        return NOTHING_LEFT
    named = {name: payload[name] for name in ("url", "title", "kind")}
    return Plan(lambda: links.add_link(actor, ticket.id, **named))


def _relation(event: AuditEvent) -> TicketRelation | None:
    """The event's relation, found by its ends: undoing an undo gives it another id."""
    payload = event.payload
    return session.scalars(
        select(TicketRelation).where(
            TicketRelation.source_ticket_id == payload["source_ticket_id"],
            TicketRelation.target_ticket_id == payload["target_ticket_id"],
            TicketRelation.type == payload["type"],
        )
    ).first()


def relation_added(actor: Actor, event: AuditEvent) -> Plan:
    ticket, relation = _live_ticket(event), _relation(event)
    if relation is None:
        return NOTHING_LEFT
    return Plan(lambda: relations.delete_relation(actor, ticket.id, relation.id))


def relation_removed(actor: Actor, event: AuditEvent) -> Plan:
    _live_ticket(event)
    if _relation(event) is not None:
        return NOTHING_LEFT
    payload: dict[str, Any] = event.payload
    return Plan(
        lambda: relations.create_relation(
            actor,
            payload["source_ticket_id"],
            type=payload["type"],
            target_ticket_id=payload["target_ticket_id"],
        )
    )
