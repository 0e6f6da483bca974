"""The JSON of audit events."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import select

from app.accounts import user_refs
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.clock import iso
from app.database.session import AnyRow, session
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
