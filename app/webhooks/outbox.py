"""The outbox: handing entries out under a lease, and taking results back behind a fence.

An entry is in one pair of hands at a time, and so is a webhook: its next entry is handed out when
the one before it was dealt with, which keeps their order as long as nothing fails. Whoever holds an
entry past its lease has lost it: the attempt is written down as interrupted, and its result, should
it come, is dropped.
"""

from dataclasses import dataclass

from sqlalchemy import select, update

from app.core import ids
from app.core.actor import SYSTEM
from app.core.clock import now_ms
from app.core.db import session
from app.core.locks import Lock, hold
from app.webhooks import attempts, deliveries
from app.webhooks.attempts import Attempt, Outcome
from app.webhooks.models import OutboxEntry, OutboxState, Webhook

# After the first, second and third attempt, in milliseconds (interface.md, Limits).
BACKOFF_MS = (1_000, 5_000, 30_000)
LAST_ATTEMPT = len(BACKOFF_MS) + 1
# Longer than an attempt may take in all.
LEASE_MS = 75_000
INTERRUPTED = Outcome(None, 0, "interrupted: the server ended during the attempt", True)

_BUSY = select(OutboxEntry.webhook_id).where(OutboxEntry.state == OutboxState.SENDING.value)


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry in our hands, and what to send for it."""

    entry_id: str
    owner: str
    attempt: Attempt


def claim(owner: str, most: int) -> list[Claimed]:
    """Take up to ``most`` entries that are due, the oldest of each webhook that has none under way.

    In a writing unit of work. Entries of webhooks that are gone or switched off are finished.
    """
    hold(Lock.OUTBOX)
    moment = now_ms()
    waiting = session.scalars(
        select(OutboxEntry.webhook_id)
        .where(
            OutboxEntry.state == OutboxState.PENDING.value,
            OutboxEntry.due_at <= moment,
            OutboxEntry.webhook_id.not_in(_BUSY),
        )
        .distinct()
        .limit(most)
    ).all()
    claimed = []
    for webhook_id in waiting:
        webhook = session.get(Webhook, webhook_id)
        if webhook is None or not webhook.is_active:
            _finish_all(webhook_id, moment)
            continue
        entry = session.scalars(
            select(OutboxEntry)
            .where(
                OutboxEntry.state == OutboxState.PENDING.value,
                OutboxEntry.webhook_id == webhook_id,
                OutboxEntry.due_at <= moment,
            )
            .order_by(OutboxEntry.id)
            .limit(1)
        ).one()
        claimed.append(take(entry, webhook, owner, moment))
    session.flush()
    return claimed


def take(entry: OutboxEntry, webhook: Webhook, owner: str, moment: int) -> Claimed:
    """Mark the entry as being sent by ``owner`` from now on."""
    entry.state = OutboxState.SENDING.value
    entry.owner = owner
    entry.attempt_id = ids.new_id()
    entry.lease_until = moment + LEASE_MS
    event = attempts.event_of(entry.audit_event_id)
    attempt = attempts.attempt_of(webhook, event, entry.attempt_id, entry.attempt)
    return Claimed(entry.id, owner, attempt)


def _finish_all(webhook_id: str, moment: int) -> None:
    """Nothing is sent to a webhook that is gone or switched off; no attempt, so no row."""
    session.execute(
        update(OutboxEntry)
        .where(OutboxEntry.webhook_id == webhook_id, OutboxEntry.state == OutboxState.PENDING.value)
        .values(state=OutboxState.FINISHED.value, finished_at=moment)
        .execution_options(synchronize_session=False)
    )


def complete(claimed: Claimed, outcome: Outcome) -> bool:
    """Write down how an attempt ended and schedule the next one, if there is to be one.

    In a writing unit of work. False where the entry is no longer in our hands.
    """
    entry = session.get(OutboxEntry, claimed.entry_id, with_for_update=True)
    if (
        entry is None
        or entry.state != OutboxState.SENDING.value
        or entry.owner != claimed.owner
        or entry.attempt_id != claimed.attempt.id
    ):
        return False
    _settle(entry, claimed.attempt, outcome)
    return True


def _settle(entry: OutboxEntry, attempt: Attempt, outcome: Outcome) -> None:
    moment = now_ms()
    due_at = None
    if outcome.is_transient and not entry.is_manual and entry.attempt < LAST_ATTEMPT:
        due_at = moment + BACKOFF_MS[entry.attempt - 1]
    if not entry.is_manual:
        deliveries.add(SYSTEM, attempt, outcome, due_at)
    if due_at is None:
        entry.state = OutboxState.FINISHED.value
        entry.finished_at = moment
    else:
        entry.state = OutboxState.PENDING.value
        entry.attempt += 1
        entry.due_at = due_at
    entry.owner = entry.attempt_id = entry.lease_until = None
    session.flush()


def recover(*, all_of_others: str | None = None) -> int:
    """Take back what was being sent when its sender ended; how many entries that were.

    Entries past their lease; with ``all_of_others``, every entry that another than this owner
    holds, which is right where no other process can be sending (SQLite, at the start).
    """
    hold(Lock.OUTBOX)
    statement = select(OutboxEntry).where(OutboxEntry.state == OutboxState.SENDING.value)
    if all_of_others is None:
        statement = statement.where(OutboxEntry.lease_until < now_ms())
    else:
        statement = statement.where(OutboxEntry.owner != all_of_others)
    lost = session.scalars(statement.order_by(OutboxEntry.id).limit(100)).all()
    for entry in lost:
        event = attempts.event_of(entry.audit_event_id)
        attempt = Attempt(
            entry.attempt_id or ids.new_id(), entry.attempt, entry.webhook_id, "", b"", event
        )
        if entry.is_manual:
            deliveries.add(SYSTEM, attempt, INTERRUPTED, None)
        _settle(entry, attempt, INTERRUPTED)
    return len(lost)


def next_due() -> int | None:
    """When the next entry is due of a webhook that has none under way, in milliseconds."""
    return session.scalar(
        select(OutboxEntry.due_at)
        .where(OutboxEntry.state == OutboxState.PENDING.value, OutboxEntry.webhook_id.not_in(_BUSY))
        .order_by(OutboxEntry.due_at)
        .limit(1)
    )
