"""Undoing what happened to a project's labels and states.

A deleted label is not put back: the tickets that carried it lost it, and nothing says which those
were. Nor is an order of states, as the event names only the new one.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from app.activity.reversals import NOTHING_LEFT, Difference, Plan
from app.audit.models import AuditEvent
from app.core import text
from app.core.actor import Actor
from app.core.db import by_id, session
from app.core.errors import NotFound
from app.projects import labels, states, ticket_rows
from app.projects.models import Label, WorkflowState

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
