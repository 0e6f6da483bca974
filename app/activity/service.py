"""Reading the audit log and the tool log: people see all of both, bots only visible activity."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, select

from app.accounts import user_refs
from app.audit import checkpoints
from app.audit.event_types import Category
from app.audit.models import AuditEvent, ToolInvocation
from app.audit.reading_status import receipt_json
from app.audit.receipt_answers import answered_receipt
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.clock import iso
from app.database.pagination import Page, page
from app.database.session import AnyRow, AnySelect, by_id_or_not_found, session
from app.projects import loaders as projects
from app.tickets import loaders as tickets
from app.tickets.models import Ticket

EVENTS = select(AuditEvent, AuditEvent.id, AuditEvent.created_at)
_ACTIVITY = EVENTS.where(AuditEvent.category == Category.ACTIVITY.value)
# The ends of a relation, as named in payloads.
ENDS = ("source", "target")
# The status of a tool call; for an error, ``result_status`` has its code instead.
OK = "ok"
ERROR = "error"


def events_json(events: Sequence[AuditEvent], reader: Actor) -> list[dict[str, Any]]:
    """The JSON of events, without the ids of tickets that this reader may not see."""
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
    """Like ``events_json``, for the rows of a page."""
    return events_json([row.AuditEvent for row in rows], reader)


def _hidden_tickets(events: Sequence[AuditEvent], reader: Actor) -> set[str]:
    """The ids of related tickets in projects outside the reader's allowlist.

    A relation may lead into any project. A feed must not show a bot tickets of a project that it
    cannot see, nor that one of them blocks a ticket that it sees.
    """
    if not reader.allowlist:
        return set()
    named = (event.payload.get(f"{end}_ticket_id") for event in events for end in ENDS)
    related: set[str] = {ticket_id for ticket_id in named if ticket_id is not None}
    if not related:
        return set()
    visible = select(Ticket.id).where(
        Ticket.id.in_(related), Ticket.project_id.in_(reader.allowlist)
    )
    return related - set(session.scalars(visible))


def _payload(event: AuditEvent, hidden: set[str]) -> dict[str, Any]:
    payload = dict(event.payload)
    for end in ENDS:
        if payload.get(f"{end}_ticket_id") in hidden:
            payload |= {f"{end}_ticket_id": None, f"{end}_display_id": None}
            payload |= {"type": None, "relation_id": None}
    return payload


def _page(actor: Actor, statement: AnySelect, *, limit: int, cursor: str | None) -> Page:
    """A page of events, newest first; a cursor is valid in all lists of events."""
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
    **filters: Any,
) -> Page:
    """The audit log, newest first, with the filters of ``matching``."""
    return _page(actor, EVENTS.where(*matching(**filters)), limit=limit, cursor=cursor)


def matching(
    *,
    since: int | None = None,
    until: int | None = None,
    event_types: Sequence[str] | None = None,
    actor_user_id: str | None = None,
    event_type: str | None = None,
    category: str | None = None,
    project_id: str | None = None,
    ticket_id: str | None = None,
    request_id: str | None = None,
) -> list[ColumnElement[bool]]:
    """The filters of the audit log as conditions; times are in milliseconds."""
    conditions: list[ColumnElement[bool]] = []
    if since is not None:
        conditions.append(AuditEvent.created_at >= since)
    if until is not None:
        conditions.append(AuditEvent.created_at <= until)
    if event_types is not None:
        conditions.append(AuditEvent.event_type.in_(event_types))
    equal = (
        (AuditEvent.actor_user_id, actor_user_id),
        (AuditEvent.event_type, event_type),
        (AuditEvent.category, category),
        (AuditEvent.project_id, project_id),
        (AuditEvent.ticket_id, ticket_id),
        (AuditEvent.request_id, request_id),
    )
    return [*conditions, *(column == value for column, value in equal if value is not None)]


@operation(Access.HUMAN)
def get_event(actor: Actor, event_id: str, *, proof: bool = False) -> dict[str, Any]:
    """One event with its receipt and, with ``proof``, the proof that a checkpoint contains it.

    Raises NotFound.
    """
    event = by_id_or_not_found(AuditEvent, event_id, "audit_event")
    return {
        **events_json([event], actor)[0],
        "receipt": receipt_json(answered_receipt(event.id, event.receipt), event.ticket_id),
        "proof": checkpoints.proof_of(event.id) if proof else None,
    }


@operation(Access.READ)
def list_ticket_activity(
    actor: Actor, reference: str, *, limit: int, cursor: str | None, since: int | None = None
) -> Page:
    """The activity of a ticket, newest first, from ``since`` (ms) on; raises NotFound or Gone."""
    ticket = tickets.visible(actor, reference)
    statement = _ACTIVITY.where(AuditEvent.ticket_id == ticket.id)
    if since is not None:
        statement = statement.where(AuditEvent.created_at >= since)
    return _page(actor, statement, limit=limit, cursor=cursor)


@operation(Access.READ)
def list_project_activity(actor: Actor, project_id: str, *, limit: int, cursor: str | None) -> Page:
    """The activity of a project, newest first; raises NotFound or Gone."""
    project = projects.visible(actor, project_id)
    statement = _ACTIVITY.where(AuditEvent.project_id == project.id)
    return _page(actor, statement, limit=limit, cursor=cursor)


def invocation_json(row: ToolInvocation) -> dict[str, Any]:
    return {
        "id": row.id,
        "bot_user_id": row.bot_user_id,
        "tool_name": row.tool_name,
        "arguments": row.arguments,
        "status": OK if row.result_status == OK else ERROR,
        "result_status": row.result_status,
        "error_message": row.error_message,
        "duration_ms": row.duration_ms,
        "request_id": row.request_id,
        "traceparent": row.traceparent,
        "usage": row.usage,
        "created_at": iso(row.created_at),
    }


@operation(Access.HUMAN)
def list_invocations(
    actor: Actor,
    /,
    *,
    limit: int,
    cursor: str | None,
    bot_id: str | None = None,
    tool_name: str | None = None,
    since: int | None = None,
    until: int | None = None,
    status: str | None = None,
    request_id: str | None = None,
) -> Page:
    """The tool log, newest first; times are in milliseconds. Raises InvalidField."""
    if tool_name is not None:
        text.checked(tool_name, "tool_name", len(tool_name))
    statement = select(ToolInvocation, ToolInvocation.id, ToolInvocation.created_at)
    equal = {
        ToolInvocation.bot_user_id: bot_id,
        ToolInvocation.tool_name: tool_name,
        ToolInvocation.request_id: request_id,
    }
    for column, value in equal.items():
        if value is not None:
            statement = statement.where(column == value)
    if since is not None:
        statement = statement.where(ToolInvocation.created_at >= since)
    if until is not None:
        statement = statement.where(ToolInvocation.created_at <= until)
    if status is not None:
        is_ok = ToolInvocation.result_status == OK
        statement = statement.where(is_ok if status == OK else ~is_ok)
    return page(
        statement,
        kind="tool_invocation",
        sort=ToolInvocation.created_at,
        id_column=ToolInvocation.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [invocation_json(row.ToolInvocation) for row in rows],
    )
