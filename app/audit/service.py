"""Recording events: in the transaction of the change, or in one of their own for refusals."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Table, insert

from app.audit.catalogue import EVENTS, UNDO_OF, Category
from app.audit.models import AuditEvent
from app.core import ids
from app.core.actor import SYSTEM, Actor, ActorKind
from app.core.context import request_id, undo_of
from app.core.errors import DomainError, OutsideAllowlist
from app.database.session import Prepared, run_write

log = logging.getLogger(__name__)

# One workspace exists in v1; its id is the same in every installation.
WORKSPACE_ID = "00000000-0000-7000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Target:
    """What an event is about, with the ids that feeds are filtered by."""

    kind: str
    id: str | None = None
    project_id: str | None = None
    ticket_id: str | None = None
    # A personal note: its events are seen in the audit log alone, whatever their type.
    is_personal: bool = False
    # Whether webhooks may be told: never of anything about a personal note.
    may_be_told: bool = True
    # The row of the tool log that ``bot.tool_invoked`` points at.
    tool_invocation_log_id: str | None = None

    @property
    def is_forwarded(self) -> bool:
        """Whether webhooks that asked for it are told of the event."""
        return self.may_be_told and not self.is_personal


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event that was just written, for those who listen."""

    id: str
    event_type: str
    target: Target


# Made once: making the statement costs more than running it, and every write runs it.
_INSERT = Prepared(insert(cast("Table", AuditEvent.__table__)))

Listener = Callable[[Recorded], None]
_listeners: list[Listener] = []


def on_record(listener: Listener) -> None:
    """Call this for every event, in the transaction that writes it."""
    if listener not in _listeners:
        _listeners.append(listener)


def record(actor: Actor, event_type: str, target: Target, /, **payload: Any) -> str:
    """Write an event in the transaction at hand and return its id.

    The event and its change commit together or not at all. A payload key
    that the catalogue does not name is a mistake in the code, and fails.
    """
    kind = EVENTS[event_type]
    unknown = payload.keys() - set(kind.payload)
    if unknown:
        raise ValueError(f"{event_type} has no payload key {sorted(unknown)}")
    undone = undo_of.get()
    if undone is not None:
        payload[UNDO_OF] = undone
    identifier = ids.new_id()
    named = actor.kind is not ActorKind.ANONYMOUS
    _INSERT.all(
        id=identifier,
        workspace_id=WORKSPACE_ID,
        category=(Category.AUDIT_ONLY if target.is_personal else kind.category).value,
        event_type=event_type,
        actor_user_id=actor.user_id,
        actor_kind=(actor.kind if named else SYSTEM.kind).value,
        target_kind=target.kind,
        target_id=target.id,
        project_id=target.project_id,
        ticket_id=target.ticket_id,
        payload=payload,
        request_id=request_id.get(),
        tool_invocation_log_id=target.tool_invocation_log_id,
        created_at=ids.created_ms(identifier),
    )
    for listener in _listeners:
        listener(Recorded(identifier, event_type, target))
    return identifier


def record_separately(actor: Actor, event_type: str, target: Target, /, **payload: Any) -> None:
    """Write an event in a transaction of its own, after what it describes has ended.

    For what describes a request rather than a change. Where it fails, ``audit.orphaned`` is tried
    and the failure logged; the caller's answer stands either way.
    """
    recording(event_type, lambda: record(actor, event_type, target, **payload))


def recording(event_type: str, work: Callable[[], object]) -> None:
    """Do the work that records this event in a transaction of its own; never raises.

    Where it fails, ``audit.orphaned`` is tried and the failure logged.
    """
    or_orphaned(event_type, lambda: run_write(work))


def or_orphaned(event_type: str, writing: Callable[[], object]) -> None:
    """As ``recording``, for what sees to its transaction itself."""
    try:
        writing()
    except Exception:
        log.exception("audit event not written", extra={"event_type": event_type})
        _record_orphan(event_type)


def _record_orphan(event_type: str) -> None:
    try:
        run_write(
            lambda: record(
                SYSTEM,
                "audit.orphaned",
                Target("audit_event"),
                event_type=event_type,
                reason="write_failed",
            )
        )
    except Exception:
        log.exception("audit.orphaned not written", extra={"event_type": event_type})


def record_refusal(actor: Actor, error: DomainError, operation: str) -> None:
    """Audit a refused attempt, where the specification wants it audited, after its rollback."""
    if error.audit_event is not None:
        recording(error.audit_event, lambda: refused(actor, error, operation))


def refused(actor: Actor, error: DomainError, operation: str) -> None:
    """Audit a refused attempt in the transaction at hand, if it is one to be audited."""
    if error.audit_event is None or (error.audit_if is not None and not error.audit_if()):
        return
    target = Target("user", actor.user_id)
    if isinstance(error, OutsideAllowlist):
        target = Target("project", error.project_id, project_id=error.project_id)
    payload = {"operation": operation, **(error.audit_payload or {})}
    record(actor, error.audit_event, target, **payload)
