"""Undoing what happened to a ticket."""

from typing import Any, cast

from sqlalchemy import select

from app.audit.catalogue import UNDO_OF, Category
from app.audit.models import AuditEvent
from app.core import text
from app.core.actor import Actor
from app.core.context import request_id
from app.core.errors import NotFound
from app.database.session import session
from app.projects.models import Label, WorkflowState
from app.tickets import loaders, relations, service, watchers
from app.tickets.fields import UPDATED
from app.tickets.models import Ticket, TicketRelation
from app.tickets.ticket_labels import label_ids_of
from app.undo.plans import NOTHING_LEFT, SINCE, Difference, Plan, impossible, one_value

LABELS = "label_ids"
FIELDS = frozenset(one.name for one in UPDATED) - {LABELS}
# Later events of a new ticket that are looked at; more change nothing.
LATER = 100


def _ticket(event: AuditEvent, *, deleted: bool = False) -> Ticket:
    """The event's ticket, locked, if it is there (or, with ``deleted``, in any case)."""
    ticket = loaders.find(event.ticket_id or "", lock=True)
    if ticket is None:
        raise NotFound("ticket", event.ticket_id or "")
    if ticket.is_deleted and not deleted:
        raise impossible(f"{ticket.display_id} was deleted.")
    return ticket


def updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put each field back; labels one by one, so that later ones stay."""
    ticket = _ticket(event)
    wanted: dict[str, Any] = {}
    differences: list[Difference] = []
    for name, change in event.payload["changes"].items():
        if name == LABELS:
            labels = _labels_back(ticket, change)
            if labels is not None:
                wanted[LABELS] = labels
        elif name not in FIELDS:
            raise impossible("This cannot be undone.")
        elif getattr(ticket, name) != change["from"]:
            wanted[name] = change["from"]
            now = getattr(ticket, name)
            if now != change["to"]:
                differences.append(Difference(name, change["from"], change["to"], now))
    if not wanted:
        return NOTHING_LEFT
    return Plan(lambda: service.update_ticket(actor, ticket.id, **wanted), tuple(differences))


def _labels_back(ticket: Ticket, change: dict[str, list[str]]) -> list[str] | None:
    """The labels without those that were added and with those that were removed and still exist."""
    before, after = set(change["from"] or ()), set(change["to"] or ())
    existing = set(session.scalars(select(Label.id).where(Label.id.in_(before - after))))
    now = set(label_ids_of(ticket))
    back = (now - (after - before)) | existing
    return None if back == now else sorted(back)


def _state_back(event: AuditEvent) -> str | None:
    """The state that a ticket came from; a deleted one that is there again has another id."""
    state_id, name = event.payload["from_state_id"], event.payload["from_state_name"]
    if state_id is None or session.get(WorkflowState, state_id) is not None:
        return cast("str | None", state_id)
    return session.scalar(
        select(WorkflowState.id).where(
            WorkflowState.project_id == event.project_id,
            WorkflowState.name_key == text.same_name(name),
        )
    )


def moved(actor: Actor, event: AuditEvent) -> Plan:
    """Move it back to the state it came from, or to the one that has its name by now."""
    ticket = _ticket(event)
    back = _state_back(event)
    if back is None:
        raise impossible("The state that it was in does not exist any more.")
    return one_value(
        "state_id",
        back,
        event.payload["to_state_id"],
        ticket.state_id,
        lambda: service.transition_ticket(actor, ticket.id, state_id=back),
    )


def assigned(actor: Actor, event: AuditEvent) -> Plan:
    """Give it back to whoever had it, or to nobody."""
    ticket = _ticket(event)
    back = event.payload["from_user_id"]
    return one_value(
        "assignee_user_id",
        back,
        event.payload["assignee_user_id"],
        ticket.assignee_user_id,
        lambda: service.update_ticket(actor, ticket.id, assignee_user_id=back),
    )


def created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; whatever else happened to it since is a reason to ask."""
    ticket = _ticket(event, deleted=True)
    if ticket.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: service.delete_ticket(actor, ticket.id), later(event))


def later(event: AuditEvent) -> tuple[Difference, ...]:
    """What the event's ticket has seen since, as a difference if it was anything."""
    count = _events_since(event)
    return (Difference(SINCE, None, 0, count),) if count else ()


def _events_since(event: AuditEvent) -> int:
    """How many events the ticket has seen since, without those undone and those of one request."""
    rows = session.execute(
        select(AuditEvent.id, AuditEvent.request_id, AuditEvent.payload[UNDO_OF].as_string())
        .where(
            AuditEvent.ticket_id == event.ticket_id,
            AuditEvent.category == Category.ACTIVITY.value,
            AuditEvent.id > event.id,
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(LATER)
    ).all()
    undone = {of for _, _, of in rows if of}
    together = {event.request_id, request_id.get()} - {None}
    return sum(
        of is None and identifier not in undone and request not in together
        for identifier, request, of in rows
    )


def deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Bring it back."""
    ticket = _ticket(event, deleted=True)
    if not ticket.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: service.restore_ticket(actor, ticket.id))


def restored(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it again."""
    ticket = _ticket(event, deleted=True)
    if ticket.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: service.delete_ticket(actor, ticket.id))


def watcher_added(actor: Actor, event: AuditEvent) -> Plan:
    """Stop that user from watching."""
    ticket, user_id = _ticket(event), event.payload["user_id"]
    if not watchers.is_watching(user_id, ticket):
        return NOTHING_LEFT
    return Plan(lambda: watchers.remove_watcher(actor, ticket.id, user_id))


def watcher_removed(actor: Actor, event: AuditEvent) -> Plan:
    """Let that user watch again."""
    ticket, user_id = _ticket(event), event.payload["user_id"]
    if watchers.is_watching(user_id, ticket):
        return NOTHING_LEFT
    return Plan(lambda: watchers.add_watcher(actor, ticket.id, user_id=user_id))


def _relation(event: AuditEvent) -> TicketRelation | None:
    """The relation that the event names: by its ends, as undoing an undo made it anew."""
    payload = event.payload
    return session.scalars(
        select(TicketRelation).where(
            TicketRelation.source_ticket_id == payload["source_ticket_id"],
            TicketRelation.target_ticket_id == payload["target_ticket_id"],
            TicketRelation.type == payload["type"],
        )
    ).first()


def relation_added(actor: Actor, event: AuditEvent) -> Plan:
    """Take the two tickets apart."""
    ticket, relation = _ticket(event), _relation(event)
    if relation is None:
        return NOTHING_LEFT
    return Plan(lambda: relations.delete_relation(actor, ticket.id, relation.id))


def relation_removed(actor: Actor, event: AuditEvent) -> Plan:
    """Relate the two tickets again."""
    _ticket(event)
    if _relation(event) is not None:
        return NOTHING_LEFT
    payload = event.payload
    return Plan(
        lambda: relations.create_relation(
            actor,
            payload["source_ticket_id"],
            type=payload["type"],
            target_ticket_id=payload["target_ticket_id"],
        )
    )
