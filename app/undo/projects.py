"""Undoing what happened to a project's labels and states.

What was deleted is made anew, under another id. Events from before their payload named the tickets
of a label, or the earlier order of states, cannot be undone.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from app.audit.models import AuditEvent
from app.core import text
from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import by_id, session
from app.projects import labels, states, ticket_rows
from app.projects.loaders import writable
from app.projects.models import Label, WorkflowState
from app.tickets import loaders, service
from app.tickets.ticket_labels import label_ids_of
from app.undo.plans import NOTHING_LEFT, Difference, Plan, impossible, one_value

# Of ``Difference.field``: how many tickets carry the label that the event created.
TICKETS = "tickets"


def fields_back(
    thing: object, changes: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], tuple[Difference, ...]]:
    """Of the changes of an event, the values to put back, and those that changed since."""
    wanted: dict[str, Any] = {}
    differences: list[Difference] = []
    for name, change in changes.items():
        now = getattr(thing, name)
        if now == change["from"]:
            continue
        wanted[name] = change["from"]
        if now != change["to"]:
            differences.append(Difference(name, change["from"], change["to"], now))
    return wanted, tuple(differences)


def label_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; that tickets carry it by now, or another name or colour, is a reason to ask."""
    label = by_id(Label, event.payload["label_id"])
    if label is None:
        return NOTHING_LEFT
    made = {name: {"from": None, "to": event.payload[name]} for name in ("name", "color")}
    _, differences = fields_back(label, made)
    carried = ticket_rows.live_by_label(label.project_id).get(label.id, 0)
    if carried:
        differences += (Difference(TICKETS, None, 0, carried),)
    return Plan(lambda: labels.delete_label(actor, label.project_id, label.id), differences)


def label_updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put name and colour back."""
    label = by_id(Label, event.payload["label_id"])
    if label is None:
        raise NotFound("label", event.payload["label_id"])
    wanted, differences = fields_back(label, event.payload["changes"])
    if not wanted:
        return NOTHING_LEFT
    return Plan(
        lambda: labels.update_label(actor, label.project_id, label.id, **wanted), differences
    )


def label_deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Put it back on the tickets that carried it. One of its name takes its place."""
    project_id, payload = event.project_id or "", event.payload
    same = select(Label.id).where(
        Label.project_id == project_id, Label.name_key == text.same_name(payload["name"])
    )
    standing = session.scalar(same)
    carried = payload.get("ticket_ids")
    if carried is None:
        raise impossible("Which tickets carried this label was not written down.")
    if standing is not None:
        carried = ticket_rows.live_without_label(standing, carried)
        if not carried:
            return NOTHING_LEFT

    def act() -> None:
        label_id = standing
        if label_id is None:
            color = payload["color"]
            label_id = labels.create_label(actor, project_id, name=payload["name"], color=color).id
        for ticket_id in carried:
            ticket = loaders.find(ticket_id, lock=True)
            if ticket is not None and not ticket.is_deleted:
                wanted = [*label_ids_of(ticket), label_id]
                service.update_ticket(actor, ticket.id, label_ids=wanted)

    return Plan(act)


def state_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; the verb refuses while tickets are in it."""
    state = by_id(WorkflowState, event.payload["state_id"])
    if state is None:
        return NOTHING_LEFT
    made = {name: {"from": None, "to": event.payload[name]} for name in ("name", "category")}
    _, differences = fields_back(state, made)
    return Plan(lambda: states.delete_state(actor, state.project_id, state.id), differences)


def state_updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put name and category back."""
    state = by_id(WorkflowState, event.payload["state_id"])
    if state is None:
        raise NotFound("workflow_state", event.payload["state_id"])
    wanted, differences = fields_back(state, event.payload["changes"])
    if not wanted:
        return NOTHING_LEFT
    return Plan(
        lambda: states.update_state(actor, state.project_id, state.id, **wanted), differences
    )


def states_reordered(actor: Actor, event: AuditEvent) -> Plan:
    """Put them back into the order they had; those added since stay at the end."""
    project_id, payload = event.project_id or "", event.payload
    before = payload.get("previous_state_ids")
    if before is None:
        raise impossible("The order before was not written down.")
    # Locks the project: the order that is compared is the one that will be changed.
    writable(actor, project_id, lock=True)
    now = [state.id for state in states.ordered(project_id)]
    back = [one for one in before if one in now] + [one for one in now if one not in before]
    return one_value(
        "state_ids",
        back,
        [one for one in payload["state_ids"] if one in now],
        now,
        lambda: states.reorder_states(actor, project_id, state_ids=back),
    )


def state_deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Add it again where it stood; no ticket was in it. One of its name takes its place."""
    project_id, payload = event.project_id or "", event.payload
    same = select(WorkflowState.id).where(
        WorkflowState.project_id == project_id,
        WorkflowState.name_key == text.same_name(payload["name"]),
    )
    if session.scalar(same) is not None:
        return NOTHING_LEFT

    def act() -> None:
        made = states.create_state(
            actor, project_id, name=payload["name"], category=payload["category"]
        )
        order = [one.id for one in states.ordered(project_id) if one.id != made.id]
        order.insert(min(payload["position"], len(order)), made.id)
        states.reorder_states(actor, project_id, state_ids=order)

    return Plan(act)
