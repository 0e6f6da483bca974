"""Reading the audit log: everything for people, the activity of visible things for everyone."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import select

from app.accounts import user_refs
from app.audit.catalogue import Category
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.clock import iso
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.pagination import Page, page
from app.database.session import AnyRow, AnySelect, session
from app.projects import loaders as projects
from app.tickets import loaders as tickets
from app.tickets.models import Ticket

ENDS = ("source", "target")


def events_json(events: Sequence[AuditEvent], reader: Actor) -> list[dict[str, Any]]:
    """Events with the summaries of their actors, as this reader may see them."""
    actors = user_refs.summaries(event.actor_user_id for event in events)
    hidden = _hidden_tickets(events, reader)
    return [
        {
            "id": event.id,
            "workspace_id": event.workspace_id,
            "category": event.category,
            "event_type": event.event_type,
            "actor_user_id": event.actor_user_id,
            "actor_kind": event.actor_kind,
            "actor": actors.get(event.actor_user_id) if event.actor_user_id else None,
            "target_kind": event.target_kind,
            "target_id": event.target_id,
            "project_id": event.project_id,
            "ticket_id": event.ticket_id,
            "payload": _payload(event, hidden),
            "request_id": event.request_id,
            "tool_invocation_log_id": event.tool_invocation_log_id,
            "created_at": iso(event.created_at),
        }
        for event in events
    ]


def of_rows(rows: Sequence[AnyRow], reader: Actor) -> list[dict[str, Any]]:
    """As ``events_json``, for the rows of a page."""
    return events_json([row.AuditEvent for row in rows], reader)


def _ends(event: AuditEvent) -> Iterable[str]:
    """The tickets that a relation event names."""
    return (event.payload[f"{end}_ticket_id"] for end in ENDS if _names_end(event, end))


def _names_end(event: AuditEvent, end: str) -> bool:
    return event.payload.get(f"{end}_ticket_id") is not None


def _hidden_tickets(events: Sequence[AuditEvent], reader: Actor) -> set[str]:
    """The tickets of relations whose project the reader's allowlist leaves out.

    A relation may lead into any project; a feed must not tell a bot what lies in those it cannot
    see, nor that something there blocks what it sees.
    """
    if not reader.allowlist:
        return set()
    named = {ticket_id for event in events for ticket_id in _ends(event)}
    if not named:
        return set()
    seen = select(Ticket.id).where(Ticket.id.in_(named), Ticket.project_id.in_(reader.allowlist))
    return named - set(session.scalars(seen))


def _payload(event: AuditEvent, hidden: set[str]) -> dict[str, Any]:
    payload = dict(event.payload)
    for end in ENDS:
        if payload.get(f"{end}_ticket_id") in hidden:
            payload |= {f"{end}_ticket_id": None, f"{end}_display_id": None}
            payload |= {"type": None, "relation_id": None}
    return payload


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
