"""Reading the audit log: all of it for humans, the activity of what they see for everyone."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from app.activity.builders import events_json, of_rows
from app.audit.catalogue import Category
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.pagination import Page, page
from app.database.session import AnySelect, session
from app.projects import loaders as projects
from app.tickets import loaders as tickets

EVENTS = select(AuditEvent, AuditEvent.id, AuditEvent.created_at)
EQUAL = ("actor_user_id", "event_type", "category", "project_id", "ticket_id", "request_id")


def _page(actor: Actor, statement: AnySelect, *, limit: int, cursor: str | None) -> Page:
    """A page of events, newest first; all lists of events share their cursors."""
    return page(
        statement,
        kind="audit_event",
        sort=AuditEvent.created_at,
        id_column=AuditEvent.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: of_rows(rows, actor),
    )


@operation(Access.HUMAN)
def list_events(
    actor: Actor,
    /,
    *,
    limit: int,
    cursor: str | None,
    since: int | None = None,
    until: int | None = None,
    event_types: Sequence[str] | None = None,
    **equal: str | None,
) -> Page:
    """The audit log, newest first, narrowed by a time span and by equality of columns.

    ``event_types`` are any of several, which pages know.
    """
    statement = EVENTS
    if since is not None:
        statement = statement.where(AuditEvent.created_at >= since)
    if until is not None:
        statement = statement.where(AuditEvent.created_at <= until)
    if event_types is not None:
        statement = statement.where(AuditEvent.event_type.in_(event_types))
    for name in EQUAL:
        if equal.get(name) is not None:
            statement = statement.where(getattr(AuditEvent, name) == equal[name])
    return _page(actor, statement, limit=limit, cursor=cursor)


@operation(Access.HUMAN)
def get_event(actor: Actor, event_id: str) -> dict[str, Any]:
    """One event; raises NotFound."""
    canonical = as_uuid(event_id)
    event = session.get(AuditEvent, canonical) if canonical else None
    if event is None:
        raise NotFound("audit_event", event_id)
    return events_json([event], actor)[0]


@operation(Access.READ)
def list_ticket_activity(actor: Actor, reference: str, *, limit: int, cursor: str | None) -> Page:
    """What happened to a ticket, newest first; raises NotFound or Gone."""
    ticket = tickets.visible(actor, reference)
    statement = EVENTS.where(
        AuditEvent.ticket_id == ticket.id, AuditEvent.category == Category.ACTIVITY.value
    )
    return _page(actor, statement, limit=limit, cursor=cursor)


@operation(Access.READ)
def list_project_activity(actor: Actor, project_id: str, *, limit: int, cursor: str | None) -> Page:
    """What happened in a project, newest first; raises NotFound or Gone."""
    project = projects.visible(actor, project_id)
    statement = EVENTS.where(
        AuditEvent.project_id == project.id, AuditEvent.category == Category.ACTIVITY.value
    )
    return _page(actor, statement, limit=limit, cursor=cursor)
