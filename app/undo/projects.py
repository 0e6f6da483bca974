"""Undoing changes of a project, its templates, labels and states.

A deleted row is created again with another id. Older events that do not name the tickets of a
label, or the earlier order of states, cannot be undone.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import select

from app.audit.models import AuditEvent
from app.core import text
from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import by_id, by_id_or_not_found, session
from app.projects import labels, states, ticket_rows
from app.projects import service as projects
from app.projects.loaders import writable
from app.projects.models import Label, Project, WorkflowState
from app.tickets import loaders, saved_views, service, templates
from app.tickets.models import SavedView, TicketTemplate
from app.undo import messages
from app.undo.plans import (
    NOTHING_LEFT,
    Difference,
    Plan,
    changed_since,
    impossible,
    one_value,
    put_back,
    values_to_put_back,
)

# A ``Difference.field``: how many tickets have the label that the event created.
TICKETS = "tickets"


def project_updated(actor: Actor, event: AuditEvent) -> Plan:
    changes = event.payload["changes"]
    project_id = event.project_id or ""
    if templates.CHANGED in changes:
        return _template_changed(actor, project_id, changes[templates.CHANGED])
    if saved_views.CHANGED in changes:
        return _view_changed(actor, project_id, changes[saved_views.CHANGED])
    project = by_id_or_not_found(Project, project_id, "project")
    return put_back(project, changes, partial(projects.update_project, actor, project_id))


def _template_changed(actor: Actor, project_id: str, change: Mapping[str, Any]) -> Plan:
    """Delete a template that was added, add one that was deleted, or put back its values."""
    before, after = change["from"], change["to"]
    template = by_id(TicketTemplate, (before or after)["id"])
    if before is None:
        if template is None:
            return NOTHING_LEFT
        created = {name: {"from": None, "to": after[name]} for name in ("name", *templates.FILLED)}
        differences = values_to_put_back(template, created)[1]
        delete = partial(templates.delete_template, actor, project_id, template.id)
        return Plan(delete, differences)
    values = {name: before[name] for name in ("name", *templates.FILLED)}
    values["label_ids"] = templates.labels_named(project_id, before["labels"])
    if after is None:
        if template is not None or templates.is_taken(project_id, before["name"]):
            return NOTHING_LEFT
        return Plan(partial(templates.create_template, actor, project_id, **values))
    if template is None:
        raise NotFound("template", before["id"])
    changed = {
        name: {"from": value, "to": after[name]}
        for name, value in values.items()
        if before[name] != after[name]
    }
    return put_back(
        template, changed, partial(templates.update_template, actor, project_id, template.id)
    )


def _view_changed(actor: Actor, project_id: str, change: Mapping[str, Any]) -> Plan:
    """Stop sharing a view, share one again, or put back its filters."""
    before, after = change["from"], change["to"]
    view = by_id(SavedView, (before or after)["id"])
    if before is None:
        if view is None or not view.is_shared:
            return NOTHING_LEFT
        return Plan(partial(saved_views.share_view, actor, view.id, is_shared=False))
    if after is None:
        if view is None:
            values = {name: before[name] for name in ("name", "query")}
            return Plan(partial(saved_views.share_anew, actor, project_id, **values))
        if view.is_shared:
            return NOTHING_LEFT
        if view.user_id != actor.id:
            raise impossible(messages.VIEW_IS_PRIVATE)
        return Plan(partial(saved_views.share_view, actor, view.id, is_shared=True))
    if view is None:
        raise NotFound("saved_view", before["id"])
    query = before["query"]
    change_query = partial(saved_views.change_query, actor, view.id, query)
    return one_value("query", query, after["query"], view.query, change_query)


def label_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; tickets that have it, or another name or color, need confirmation."""
    label = by_id(Label, event.payload["label_id"])
    if label is None:
        return NOTHING_LEFT
    differences = changed_since(label, event, "name", "color")
    count = ticket_rows.live_by_label(label.project_id).get(label.id, 0)
    if count:
        differences += (Difference(TICKETS, None, 0, count),)
    return Plan(lambda: labels.delete_label(actor, label.project_id, label.id), differences)


def label_updated(actor: Actor, event: AuditEvent) -> Plan:
    label = by_id_or_not_found(Label, event.payload["label_id"], "label")
    update = partial(labels.update_label, actor, label.project_id, label.id)
    return put_back(label, event.payload["changes"], update)


def label_deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Put it back on its tickets; a label that has its name in the meantime is used instead."""
    project_id, payload = event.project_id or "", event.payload
    existing_id = session.scalar(
        select(Label.id).where(
            Label.project_id == project_id, Label.name_key == text.name_key(payload["name"])
        )
    )
    ticket_ids = payload.get("ticket_ids")
    if ticket_ids is None:
        raise impossible(messages.TICKETS_NOT_RECORDED)
    if existing_id is not None:
        ticket_ids = ticket_rows.live_without_label(existing_id, ticket_ids)
        if not ticket_ids:
            return NOTHING_LEFT

    def act() -> None:
        label_id = existing_id
        if label_id is None:
            color = payload["color"]
            label_id = labels.create_label(actor, project_id, name=payload["name"], color=color).id
        for ticket_id in ticket_ids:
            ticket = loaders.find(ticket_id, lock=True)
            if ticket is not None and not ticket.is_deleted:
                service.update_ticket(actor, ticket.id, add_label_ids=[label_id])

    return Plan(act)


def state_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; the verb refuses while tickets are in it."""
    state = by_id(WorkflowState, event.payload["state_id"])
    if state is None:
        return NOTHING_LEFT
    differences = changed_since(state, event, "name", "category")
    return Plan(lambda: states.delete_state(actor, state.project_id, state.id), differences)


def state_updated(actor: Actor, event: AuditEvent) -> Plan:
    state = by_id_or_not_found(WorkflowState, event.payload["state_id"], "workflow_state")
    update = partial(states.update_state, actor, state.project_id, state.id)
    return put_back(state, event.payload["changes"], update)


def states_reordered(actor: Actor, event: AuditEvent) -> Plan:
    """Restore the earlier order; states that were added later stay at the end."""
    project_id, payload = event.project_id or "", event.payload
    before = payload.get("previous_state_ids")
    if before is None:
        raise impossible(messages.ORDER_NOT_RECORDED)
    # Locks the project, so the order cannot change between comparison and write.
    writable(actor, project_id, lock=True)
    now = [state.id for state in states.ordered(project_id)]
    back = [state_id for state_id in before if state_id in now]
    back += [state_id for state_id in now if state_id not in before]
    return one_value(
        "state_ids",
        back,
        [state_id for state_id in payload["state_ids"] if state_id in now],
        now,
        lambda: states.reorder_states(actor, project_id, state_ids=back),
    )


def state_deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Add it again at its position; there is nothing to do if another state has its name."""
    project_id, payload = event.project_id or "", event.payload
    existing_id = session.scalar(
        select(WorkflowState.id).where(
            WorkflowState.project_id == project_id,
            WorkflowState.name_key == text.name_key(payload["name"]),
        )
    )
    if existing_id is not None:
        return NOTHING_LEFT

    def act() -> None:
        state = states.create_state(
            actor,
            project_id,
            name=payload["name"],
            category=payload["category"],
            wip_limit=payload.get("wip_limit"),
        )
        order = [one.id for one in states.ordered(project_id) if one.id != state.id]
        order.insert(min(payload["position"], len(order)), state.id)
        states.reorder_states(actor, project_id, state_ids=order)

    return Plan(act)
