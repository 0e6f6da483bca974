"""What is swept away: each sweeper deletes one small batch and says how many rows that was."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute

from app.accounts.models import LoginBucket, UserSession
from app.accounts.throttle import WINDOW_MS
from app.audit.models import AuditEvent, ToolInvocation
from app.config import Settings
from app.core.clock import DAY_MS, MINUTE_MS, now_ms
from app.database.idempotency import IdempotencyRecord
from app.database.session import session
from app.webhooks.models import OutboxEntry, OutboxState, Webhook

BATCH = 500
# Finished entries stay a while for whoever looks into what happened.
OUTBOX_MS = DAY_MS


@dataclass(frozen=True, slots=True)
class Sweeper:
    """One kind of row that does not stay for ever."""

    name: str
    # In a writing unit of work: delete up to BATCH rows; how many it were.
    batch: Callable[[Settings], int]


def _delete(key: InstrumentedAttribute[Any], *conditions: ColumnElement[bool]) -> int:
    """Delete up to BATCH rows that fit, by their key, leaving alone what others hold."""
    due = session.scalars(
        select(key).where(*conditions).limit(BATCH).with_for_update(skip_locked=True)
    ).all()
    if due:
        session.execute(
            delete(key.class_).where(key.in_(due)).execution_options(synchronize_session=False)
        )
    return len(due)


def sessions(settings: Settings) -> int:
    """Sessions past their absolute or idle end that nobody presented again."""
    moment = now_ms()
    idle_since = moment - settings.session_idle_minutes * MINUTE_MS
    return _delete(
        UserSession.id,
        or_(UserSession.expires_at <= moment, UserSession.last_seen_at <= idle_since),
    )


def idempotency_records(_: Settings) -> int:
    """Kept answers past IDEMPOTENCY_KEY_TTL_HOURS."""
    return _delete(IdempotencyRecord.id, IdempotencyRecord.expires_at <= now_ms())


def tool_invocations(settings: Settings) -> int:
    """Calls past TOOL_INVOCATION_LOG_RETENTION_DAYS; the events that point at them let go."""
    oldest = now_ms() - settings.tool_invocation_log_retention_days * DAY_MS
    due: Sequence[str] = session.scalars(
        select(ToolInvocation.id)
        .where(ToolInvocation.created_at < oldest)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    ).all()
    if due:
        session.execute(
            update(AuditEvent)
            .where(AuditEvent.tool_invocation_log_id.in_(due))
            .values(tool_invocation_log_id=None)
            .execution_options(synchronize_session=False)
        )
        session.execute(
            delete(ToolInvocation)
            .where(ToolInvocation.id.in_(due))
            .execution_options(synchronize_session=False)
        )
    return len(due)


def login_windows(_: Settings) -> int:
    """Login attempts that no window counts any more."""
    return _delete(LoginBucket.key_hash, LoginBucket.updated_at <= now_ms() - WINDOW_MS)


def outbox(_: Settings) -> int:
    """Outbox entries that were dealt with a day ago, and those that nobody will deal with.

    An event that met the deletion of its webhook can leave an entry behind on PostgreSQL.
    """
    return _delete(OutboxEntry.id, OutboxEntry.finished_at <= now_ms() - OUTBOX_MS) or _delete(
        OutboxEntry.id,
        OutboxEntry.state == OutboxState.PENDING.value,
        OutboxEntry.due_at <= now_ms() - OUTBOX_MS,
        ~exists().where(Webhook.id == OutboxEntry.webhook_id),
    )


SWEEPERS: dict[str, Sweeper] = {
    sweeper.name: sweeper
    for sweeper in (
        Sweeper("sessions", sessions),
        Sweeper("idempotency-records", idempotency_records),
        Sweeper("tool-invocations", tool_invocations),
        Sweeper("login-windows", login_windows),
        Sweeper("outbox", outbox),
    )
}
