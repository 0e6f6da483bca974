"""The outbox: handing entries out under a lease, and taking results back behind a fence.

An entry is in one pair of hands at a time, and so is a webhook: its next entry is handed out when
the one before it was dealt with, which keeps their order as long as nothing fails. Whoever holds an
entry past its lease has lost it: the attempt is written down as interrupted, and its result, should
it come, is dropped.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, func, select, update

from app.core import ids
from app.core.actor import SYSTEM, Actor
from app.core.clock import now_ms
from app.core.db import session
from app.core.locks import Lock, database_ms, hold
from app.webhooks import attempts, deliveries
from app.webhooks.attempts import Attempt, Outcome
from app.webhooks.models import OutboxEntry, OutboxState, Webhook

# After the first, second and third attempt, in milliseconds (interface.md, Limits).
BACKOFF_MS = (1_000, 5_000, 30_000)
LAST_ATTEMPT = len(BACKOFF_MS) + 1
# Longer than an attempt may take in all; by the clock of the database, which all processes share.
LEASE_MS = 75_000
# Taken back in one transaction.
RECOVERED = 200
INTERRUPTED = Outcome(None, 0, "interrupted: the server ended during the attempt", True)

_PENDING = OutboxEntry.state == OutboxState.PENDING.value
_SENDING = OutboxEntry.state == OutboxState.SENDING.value

# Webhooks that have none under way, with when their first entry is due. It starts from the few
# webhooks and looks each up in the index, however many entries wait for a receiver that is dead.
_FREE = (
    select(
        Webhook.id,
        select(func.min(OutboxEntry.due_at))
        .where(_PENDING, OutboxEntry.webhook_id == Webhook.id)
        .scalar_subquery()
        .label("due_at"),
    )
    .where(~exists().where(_SENDING, OutboxEntry.webhook_id == Webhook.id))
    .subquery()
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry in our hands, and what to send for it."""

    entry_id: str
    owner: str
    attempt: Attempt


def claim(owner: str, most: int) -> list[Claimed]:
    """Take up to ``most`` entries that are due, the oldest of each webhook that has none under way.

    In a writing unit of work. Entries of webhooks that are switched off are finished.
    """
    hold(Lock.OUTBOX)
    moment = now_ms()
    waiting = session.scalars(
        select(_FREE.c.id).where(_FREE.c.due_at <= moment).order_by(_FREE.c.due_at).limit(most)
    ).all()
    claimed = []
    for webhook_id in waiting:
        webhook = session.get(Webhook, webhook_id)
        if webhook is None or not webhook.is_active:
            drop_pending(OutboxEntry.webhook_id == webhook_id)
            continue
        entry = session.scalars(
            select(OutboxEntry)
            .where(_PENDING, OutboxEntry.webhook_id == webhook_id, OutboxEntry.due_at <= moment)
            .order_by(OutboxEntry.due_at, OutboxEntry.id)
            .limit(1)
        ).one()
        claimed.append(take(entry, webhook, owner))
    session.flush()
    return claimed


def take(entry: OutboxEntry, webhook: Webhook, owner: str) -> Claimed:
    """Mark the entry as being sent by ``owner`` from now on."""
    entry.state = OutboxState.SENDING.value
    entry.owner = owner
    entry.attempt_id = ids.new_id()
    entry.lease_until = database_ms() + LEASE_MS
    event = attempts.event_of(entry.audit_event_id)
    attempt = attempts.attempt_of(webhook, event, entry.attempt_id, entry.attempt)
    return Claimed(entry.id, owner, attempt)


def drop_pending(*conditions: Any) -> None:
    """Finish what waits, without an attempt and so without a row in the log.

    Whoever calls it holds ``Lock.OUTBOX``, so that nobody takes such an entry meanwhile.
    """
    session.execute(
        update(OutboxEntry)
        .where(_PENDING, *conditions)
        .values(state=OutboxState.FINISHED.value, finished_at=now_ms())
        .execution_options(synchronize_session=False)
    )


def complete(claimed: Claimed, outcome: Outcome, actor: Actor = SYSTEM) -> bool:
    """Write down how an attempt ended and schedule the next one, if there is to be one.

    In a writing unit of work. False where the entry is no longer in our hands.
    """
    hold(Lock.OUTBOX)
    entry = session.get(OutboxEntry, claimed.entry_id)
    if (
        entry is None
        or entry.state != OutboxState.SENDING.value
        or entry.owner != claimed.owner
        or entry.attempt_id != claimed.attempt.id
    ):
        return False
    _settle(entry, claimed.attempt, outcome, actor)
    return True


def _settle(entry: OutboxEntry, attempt: Attempt, outcome: Outcome, actor: Actor = SYSTEM) -> None:
    moment = now_ms()
    due_at = None
    may_retry = not entry.is_manual and entry.attempt < LAST_ATTEMPT
    if outcome.is_transient and may_retry and _is_active(entry.webhook_id):
        due_at = moment + BACKOFF_MS[entry.attempt - 1]
    deliveries.add(actor, attempt, outcome, due_at)
    if due_at is None:
        entry.state = OutboxState.FINISHED.value
        entry.finished_at = moment
    else:
        entry.state = OutboxState.PENDING.value
        entry.attempt += 1
        entry.due_at = due_at
    entry.owner = entry.attempt_id = entry.lease_until = None
    session.flush()


def _is_active(webhook_id: str) -> bool:
    return bool(session.scalar(select(Webhook.is_active).where(Webhook.id == webhook_id)))


def recover(*, all_of_others: str | None = None) -> int:
    """Take back what was being sent when its sender ended; how many entries that were.

    Entries past their lease; with ``all_of_others``, every entry that another than this owner
    holds, which is right where no other process can be sending (SQLite, at the start).
    """
    hold(Lock.OUTBOX)
    statement = select(OutboxEntry).where(_SENDING)
    if all_of_others is None:
        statement = statement.where(OutboxEntry.lease_until < database_ms())
    else:
        statement = statement.where(OutboxEntry.owner != all_of_others)
    lost = session.scalars(statement.order_by(OutboxEntry.id).limit(RECOVERED)).all()
    for entry in lost:
        event = attempts.event_of(entry.audit_event_id)
        attempt = Attempt(
            entry.attempt_id or ids.new_id(), entry.attempt, entry.webhook_id, "", None, event
        )
        _settle(entry, attempt, INTERRUPTED)
    return len(lost)


def next_due() -> int | None:
    """When the next entry is due of a webhook that has none under way, in milliseconds."""
    due: int | None = session.scalar(select(func.min(_FREE.c.due_at)))
    return due


def count_due() -> int:
    """How many entries are due, whoever may have some under way."""
    statement = select(func.count()).where(_PENDING, OutboxEntry.due_at <= now_ms())
    return session.scalar(statement) or 0
