"""Recording events, in the transaction of the change or, for refusals, in a separate one.

Also, which events are stable: on PostgreSQL, transactions commit in another order than that of
the ids of their events.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, Table, insert, text, true

from app.audit import receipt_answers, receipts
from app.audit.event_types import EVENTS, IMPORTED, UNDO_OF, Category
from app.audit.models import AuditEvent
from app.core import ids
from app.core.actor import SYSTEM, Actor, ActorKind
from app.core.errors import DomainError, OutsideAllowlist, Unavailable
from app.core.ids import request_id
from app.database.session import AfterCommitSignal, Prepared, is_postgresql, run_write, session

log = logging.getLogger(__name__)

# The id of the only workspace, the same in every installation.
WORKSPACE_ID = "00000000-0000-7000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Target:
    """The subject of an event, with the ids that feeds are filtered by."""

    kind: str
    id: str | None = None
    project_id: str | None = None
    ticket_id: str | None = None
    # Whether it is a personal note: only the audit log shows its events, whatever their type.
    is_personal: bool = False
    # Whether webhooks may get the event.
    may_be_forwarded: bool = True
    # The row of the tool log that ``bot.tool_invoked`` refers to.
    tool_invocation_log_id: str | None = None

    @property
    def is_forwarded(self) -> bool:
        """Whether webhooks that subscribe to the event get it."""
        return self.may_be_forwarded and not self.is_personal


@dataclass(frozen=True, slots=True)
class Recorded:
    """A written event, as listeners receive it."""

    id: str
    event_type: str
    target: Target


# Compiled once: every write runs it, and compiling takes longer than running.
_INSERT = Prepared(insert(cast("Table", AuditEvent.__table__)))

# The newest event, and when the oldest other transaction began that wrote and still runs. Docket's
# own end sooner than those that are left out, such as one that an operator forgot.
_IN_PROGRESS = text(
    "SELECT (SELECT max(created_at) FROM audit_events) AS newest,"
    " (SELECT floor(extract(epoch FROM min(xact_start)) * 1000)::bigint FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_xid IS NOT NULL"
    " AND pid <> pg_backend_pid()"
    " AND xact_start > clock_timestamp() - interval '5 minutes') AS began"
)

# The event that is being undone: events recorded meanwhile refer to it (undo/service.py).
undo_of: ContextVar[str | None] = ContextVar("undo_of", default=None)
# Whether an import points texts at stored files: events are marked, and bots are not notified.
_shows_files: ContextVar[bool] = ContextVar("shows_files", default=False)
# Whether recorded events go to webhooks; an import may switch that off.
webhooks_enabled: ContextVar[bool] = ContextVar("webhooks_enabled", default=True)
_collected: ContextVar[list[Recorded] | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Iterator[list[Recorded]]:
    """Collect the events that are recorded meanwhile."""
    collected: list[Recorded] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


@contextmanager
def undoing(event_id: str) -> Iterator[None]:
    """Make events recorded meanwhile refer to the event that they undo."""
    token = undo_of.set(event_id)
    try:
        yield
    finally:
        undo_of.reset(token)


@contextmanager
def showing_files() -> Iterator[None]:
    """Mark changes of texts and links recorded meanwhile as made to show an import's files."""
    token = _shows_files.set(True)
    try:
        yield
    finally:
        _shows_files.reset(token)


@contextmanager
def forwarding_to_webhooks(is_enabled: bool) -> Iterator[None]:
    """Whether events recorded meanwhile go to webhooks."""
    token = webhooks_enabled.set(is_enabled)
    try:
        yield
    finally:
        webhooks_enabled.reset(token)


# Emitted after a commit with a ticket's event, in the process that committed it.
ticket_event_committed = AfterCommitSignal()
Listener = Callable[[Recorded], None]
_listeners: list[Listener] = []


def on_record(listener: Listener) -> None:
    """Call ``listener`` for every event, in the transaction that writes it."""
    if listener not in _listeners:
        _listeners.append(listener)


def record(actor: Actor, event_type: str, target: Target, /, **payload: Any) -> str:
    """Write an event in the current transaction and return its id.

    Raises ValueError for a payload key that the event type does not list.
    """
    kind = EVENTS[event_type]
    unknown = payload.keys() - set(kind.payload)
    if unknown:
        raise ValueError(f"{event_type} has no payload key {sorted(unknown)}")
    undone_id = undo_of.get()
    if undone_id is not None:
        payload[UNDO_OF] = undone_id
    if _shows_files.get() and IMPORTED in kind.payload:
        payload[IMPORTED] = True
    event_id = ids.new_id()
    is_anonymous = actor.kind is ActorKind.ANONYMOUS
    receipt = receipts.of(actor, event_type, target.ticket_id or target.id, target.project_id)
    _INSERT.all(
        id=event_id,
        workspace_id=WORKSPACE_ID,
        category=(Category.AUDIT_ONLY if target.is_personal else kind.category).value,
        event_type=event_type,
        actor_user_id=actor.user_id,
        actor_kind=(SYSTEM.kind if is_anonymous else actor.kind).value,
        target_kind=target.kind,
        target_id=target.id,
        project_id=target.project_id,
        ticket_id=target.ticket_id,
        payload=payload,
        request_id=request_id.get(),
        tool_invocation_log_id=target.tool_invocation_log_id,
        created_at=ids.created_ms(event_id),
        receipt=receipt,
    )
    other_readers = receipt.get("other_readers") if receipt is not None else None
    if other_readers:
        receipt_answers.ask(event_id, other_readers)
    recorded = Recorded(event_id, event_type, target)
    for listener in _listeners:
        listener(recorded)
    if target.ticket_id is not None:
        ticket_event_committed.emit_after_commit()
    collected = _collected.get()
    if collected is not None:
        collected.append(recorded)
    return event_id


def is_stable() -> ColumnElement[bool]:
    """Whether an event is so old that no transaction can still commit an earlier one.

    So whoever has read the stable events can set a marker at the newest of them.
    """
    if not is_postgresql():
        return true()
    newest, began = session.execute(_IN_PROGRESS).one()
    if newest is None:
        return true()
    return AuditEvent.created_at <= _before(began, newest)


def stable_until(moment: int) -> int:
    """The latest time (ms), at most ``moment``, up to which all events are committed."""
    if not is_postgresql():
        return moment
    return _before(session.execute(_IN_PROGRESS).one().began, moment)


def _before(began: int | None, moment: int) -> int:
    # An event is not older than its transaction (``database/connect.py``).
    return moment if began is None else min(moment, began - 1)


def record_separately(actor: Actor, event_type: str, target: Target, /, **payload: Any) -> None:
    """Write an event about a request in a separate transaction; never raises.

    On failure, logs the error and records ``audit.orphaned``.
    """
    record_in_own_transaction(event_type, lambda: record(actor, event_type, target, **payload))


def record_in_own_transaction(event_type: str, work: Callable[[], object]) -> bool:
    """Run work that records this event in a separate transaction; never raises.

    Returns whether the event was written; handles a failure like ``record_separately``.
    """
    return write_or_record_orphan(event_type, lambda: run_write(work))


def write_or_record_orphan(event_type: str, write: Callable[[], object]) -> bool:
    """Like ``record_in_own_transaction``, for a ``write`` that opens its own transaction."""
    try:
        write()
    except Exception as error:
        _log_failure("audit event not written", event_type, error)
        _record_orphan(event_type)
        return False
    return True


def _record_orphan(event_type: str) -> None:
    payload = {"event_type": event_type, "reason": "write_failed"}
    try:
        run_write(lambda: record(SYSTEM, "audit.orphaned", Target("audit_event"), **payload))
    except Exception as error:
        _log_failure("audit.orphaned not written", event_type, error)


def _log_failure(message: str, event_type: str, error: Exception) -> None:
    traceback = None if isinstance(error, Unavailable) else error
    log.error(message, extra={"event_type": event_type}, exc_info=traceback)


def record_refusal(actor: Actor, error: DomainError, operation: str) -> None:
    """Audit a refusal after its rollback, if refusals of its kind are audited."""
    if error.audit_event is not None:
        record_in_own_transaction(
            error.audit_event, lambda: record_refusal_here(actor, error, operation)
        )


def record_refusal_here(actor: Actor, error: DomainError, operation: str) -> None:
    """Audit a refusal in the current transaction, if refusals of its kind are audited."""
    if error.audit_event is None or (error.audit_if is not None and not error.audit_if()):
        return
    target = Target("user", actor.user_id)
    if isinstance(error, OutsideAllowlist):
        target = Target("project", error.project_id, project_id=error.project_id)
    payload = {"operation": operation, **(error.audit_payload or {})}
    record(actor, error.audit_event, target, **payload)
