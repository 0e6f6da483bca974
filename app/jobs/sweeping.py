"""Sweepers: which rows expire, and deleting these in small batches, one run at a time."""

import json
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from sqlalchemy import ColumnElement, Text, and_, cast, delete, exists, select, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute, Mapped, mapped_column

from app.accounts.models import BotRead, LoginBucket, PasswordLink, UsedToken, UserSession
from app.accounts.sessions import is_over
from app.accounts.throttle import WINDOW_MS
from app.audit.models import AuditEvent, ToolInvocation
from app.audit.service import Target, record
from app.config import Settings
from app.core.actor import SYSTEM
from app.core.clock import DAY_MS, MINUTE_MS, now_ms
from app.database.columns import Moment, short_text
from app.database.idempotency import IdempotencyRecord
from app.database.locks import Lock, acquire, database_ms
from app.database.session import Base, run_write, session
from app.files.sweeping import ContentSweep
from app.http.current import current_settings
from app.integrations.models import CodeChange, CodeCheck, CodeDelivery, Integration
from app.jobs import messages
from app.mail.models import Mail, MailState
from app.webhooks.models import OutboxEntry, OutboxState, Webhook

BATCH = 500
# Finished entries stay for a day, for people who debug deliveries.
OUTBOX_MS = DAY_MS
# GitHub lets people resend a delivery for three days.
DELIVERIES_MS = 7 * DAY_MS
NEWS_MS = 30 * DAY_MS
# Finished mails are the mail log. A mail still waits after this only if SMTP_URL was unset.
MAIL_MS = 30 * DAY_MS
INTERVAL_MINUTES = 60
# A run that does not renew its lease for this long is dead.
LEASE_MS = 5 * MINUTE_MS
PAUSE_SECONDS = 0.02
# Processes share a schedule, so a sweeper that ran this recently does not run again.
JUST_NOW_MS = INTERVAL_MINUTES * MINUTE_MS // 2


class SweeperLease(Base):
    """The lease of one sweeper, until it runs out or is released."""

    __tablename__ = "sweeper_leases"

    sweeper: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    owner: Mapped[str | None] = mapped_column(short_text(64))
    lease_until: Mapped[int] = mapped_column(Moment)
    last_run_at: Mapped[int | None] = mapped_column(Moment)


@dataclass(frozen=True, slots=True)
class Swept:
    sweeper: str
    deleted: int


def _due(key: InstrumentedAttribute[Any], *conditions: ColumnElement[bool]) -> Sequence[Any]:
    """Lock up to BATCH matching rows, skipping locked ones; returns their keys."""
    statement = select(key).where(*conditions).limit(BATCH)
    return session.scalars(statement.with_for_update(skip_locked=True)).all()


def _delete(key: InstrumentedAttribute[Any], due: Sequence[Any]) -> int:
    if due:
        session.execute(
            delete(key.class_).where(key.in_(due)).execution_options(synchronize_session=False)
        )
    return len(due)


def _delete_due(key: InstrumentedAttribute[Any], *conditions: ColumnElement[bool]) -> int:
    return _delete(key, _due(key, *conditions))


def sessions(settings: Settings) -> int:
    """Delete sessions past their absolute or idle end."""
    return _delete_due(UserSession.id, is_over(settings))


def password_links(_: Settings) -> int:
    """Delete password links past their end."""
    return _delete_due(PasswordLink.user_id, PasswordLink.expires_at <= now_ms())


def used_tokens(_: Settings) -> int:
    """Delete challenges, login states and traces of logouts by a provider that have expired."""
    return _delete_due(UsedToken.token_hash, UsedToken.expires_at <= now_ms())


def idempotency_records(_: Settings) -> int:
    """Delete stored responses past IDEMPOTENCY_KEY_TTL_HOURS."""
    return _delete_due(IdempotencyRecord.id, IdempotencyRecord.expires_at <= now_ms())


def tool_invocations(settings: Settings) -> int:
    """Delete calls past TOOL_INVOCATION_LOG_RETENTION_DAYS; their events lose the reference."""
    oldest = now_ms() - settings.tool_invocation_log_retention_days * DAY_MS
    due = _due(ToolInvocation.id, ToolInvocation.created_at < oldest)
    if due:
        session.execute(
            update(AuditEvent)
            .where(AuditEvent.tool_invocation_log_id.in_(due))
            .values(tool_invocation_log_id=None)
            .execution_options(synchronize_session=False)
        )
    return _delete(ToolInvocation.id, due)


def bot_reads(settings: Settings) -> int:
    """Delete reads of bots that are older than the retention of the tool log."""
    oldest = now_ms() - settings.tool_invocation_log_retention_days * DAY_MS
    key = (BotRead.user_id, BotRead.subject)
    # An older release does not write ``seen_at``.
    is_old = and_(BotRead.seen_at < oldest, BotRead.read_at < oldest)
    due = session.execute(select(*key).where(is_old).limit(BATCH)).all()
    if due:
        # Check again, as a bot may have read one again since.
        stale = and_(tuple_(*key).in_([tuple(row) for row in due]), is_old)
        session.execute(delete(BotRead).where(stale).execution_options(synchronize_session=False))
    return len(due)


def login_windows(_: Settings) -> int:
    """Delete login attempts that no window includes any more."""
    return _delete_due(LoginBucket.key_hash, LoginBucket.updated_at <= now_ms() - WINDOW_MS)


def outbox(_: Settings) -> int:
    """Delete finished entries, and entries of deleted webhooks.

    On PostgreSQL, an event concurrent with the deletion of its webhook can leave such an entry.
    """
    finished = OutboxEntry.finished_at <= now_ms() - OUTBOX_MS
    return _delete_due(OutboxEntry.id, finished) + _delete_due(
        OutboxEntry.id,
        OutboxEntry.state == OutboxState.PENDING.value,
        OutboxEntry.due_at <= now_ms() - OUTBOX_MS,
        ~exists().where(Webhook.id == OutboxEntry.webhook_id),
    )


def code_deliveries(_: Settings) -> int:
    """Delete deliveries of code hosts after a week."""
    return _delete_due(CodeDelivery.id, CodeDelivery.created_at <= now_ms() - DELIVERIES_MS)


def code_news(_: Settings) -> int:
    """Delete checks and changes without tickets after a month; changes of deleted integrations."""
    oldest = now_ms() - NEWS_MS
    names_none = cast(CodeChange.ticket_ids, Text) == "[]"
    return (
        _delete_due(CodeCheck.id, CodeCheck.updated_at <= oldest)
        + _delete_due(CodeChange.id, CodeChange.updated_at <= oldest, names_none)
        + _delete_due(CodeChange.id, ~exists().where(Integration.id == CodeChange.connection_id))
    )


def mails(_: Settings) -> int:
    """Delete mails that finished, or began to wait, a month ago."""
    oldest = now_ms() - MAIL_MS
    return _delete_due(Mail.id, Mail.finished_at <= oldest) + _delete_due(
        Mail.id, Mail.state == MailState.PENDING.value, Mail.created_at <= oldest
    )


_contents = ContentSweep()

# Each deletes up to BATCH rows of each kind, in a writing unit of work, and returns their number.
SWEEPERS: dict[str, Callable[[Settings], int]] = {
    "sessions": sessions,
    "password-links": password_links,
    "used-tokens": used_tokens,
    "idempotency-records": idempotency_records,
    "tool-invocations": tool_invocations,
    "bot-reads": bot_reads,
    "login-windows": login_windows,
    "outbox": outbox,
    "code-deliveries": code_deliveries,
    "code-news": code_news,
    "mails": mails,
    "file-contents": _contents.discard_next,
}
# Called before the first batch, outside of any unit of work.
FINDERS: dict[str, Callable[[Settings], None]] = {"file-contents": _contents.find}


def sweep(
    name: str,
    settings: Settings,
    *,
    now: bool = False,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Swept | None:
    """Run a sweeper until no row is left and record ``system.sweeper_ran``.

    None if it runs elsewhere, or ran recently and ``now`` is not set. Calls ``may_go_on`` after
    each batch. Opens its own units of work.
    """
    owner = f"{os.getpid()}-{secrets.token_hex(8)}"
    if not run_write(lambda: take_lease(name, owner, now=now)):
        return None
    started = time.monotonic()
    deleted = 0
    try:
        if name in FINDERS:
            FINDERS[name](settings)
        while (count := run_write(lambda: _batch(name, owner, settings))) is not None:
            deleted += count
            if count < BATCH or not may_go_on():
                break
            # Let other writers go first.
            time.sleep(PAUSE_SECONDS)
    finally:
        took = round((time.monotonic() - started) * 1000)
        run_write(lambda: _release(name, owner, deleted, took))
    return Swept(name, deleted)


def _batch(name: str, owner: str, settings: Settings) -> int | None:
    """Delete a batch and renew the lease; None if another run has taken the lease."""
    lease = session.get(SweeperLease, name, with_for_update=True)
    if lease is None or lease.owner != owner:
        return None
    lease.lease_until = database_ms() + LEASE_MS
    session.flush()
    return SWEEPERS[name](settings)


def take_lease(name: str, owner: str, *, now: bool) -> bool:
    acquire(Lock.SWEEPS)
    lease = session.get(SweeperLease, name, with_for_update=True)
    if lease is None:
        lease = SweeperLease(sweeper=name, lease_until=0)
        session.add(lease)
    # Read the clock after locking the row, so that no other run can end later than this.
    moment = database_ms()
    # A lease that ends impossibly late was written before the database's clock was set back.
    if moment < lease.lease_until <= moment + 2 * LEASE_MS:
        return False
    just_ran = lease.last_run_at is not None and 0 <= moment - lease.last_run_at < JUST_NOW_MS
    if just_ran and not now:
        return False
    lease.owner, lease.lease_until = owner, moment + LEASE_MS
    session.flush()
    return True


def _release(name: str, owner: str, deleted: int, took: int) -> None:
    lease = session.get(SweeperLease, name, with_for_update=True)
    if lease is not None and lease.owner == owner:
        lease.owner, lease.lease_until, lease.last_run_at = None, 0, database_ms()
        session.flush()
    record(
        SYSTEM,
        "system.sweeper_ran",
        Target("sweeper"),
        sweeper=name,
        deleted=deleted,
        duration_ms=took,
    )


@click.command("sweep")
@click.argument("name", type=click.Choice(list(SWEEPERS)), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per sweeper.")
def sweep_command(name: str | None, as_json: bool) -> None:
    """Delete expired data now: all of it, or that of one sweeper.

    The server can keep running. Exits with 0 even if another process is already at work.
    """
    for one in [name] if name else list(SWEEPERS):
        swept = sweep(one, current_settings(), now=True)
        deleted = None if swept is None else swept.deleted
        if as_json:
            click.echo(json.dumps({"sweeper": one, "ran": swept is not None, "deleted": deleted}))
        elif deleted is None:
            click.echo(messages.already_running(one))
        else:
            click.echo(messages.swept(one, deleted))
