"""The outbox: entries are claimed under a lease, and only its holder may record a result.

Each entry has one owner at a time. A webhook has one entry in flight at a time, which keeps its
events in order as long as no delivery fails. An owner that exceeds its lease loses the entry: the
attempt is recorded as interrupted, and a late result is dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Table, bindparam, exists, func, insert, or_, select

from app.audit.service import Recorded, webhooks_enabled
from app.core import ids
from app.core.actor import SYSTEM, Actor
from app.core.clock import now_ms
from app.database.locks import Lock, acquire, database_ms
from app.database.session import AfterCommitSignal, Prepared, session, unit_values
from app.webhooks import attempts, deliveries, messages, pending
from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome, Event
from app.webhooks.chats import ChatMessage, messages_of
from app.webhooks.models import OutboxEntry, OutboxState, Webhook, WebhookForm
from app.webhooks.rules import NEVER_FORWARDED, is_subscribed

outbox_filled = AfterCommitSignal()

# The delay of the next attempt after the first, second and third failed attempt.
BACKOFF_MS = (1_000, 5_000, 30_000)
LAST_ATTEMPT = len(BACKOFF_MS) + 1
# An entry due later than this was scheduled before the clock was set back: it is due at once.
MAX_DELAY_MS = BACKOFF_MS[-1]
# Longer than any attempt; by the database's clock, which all processes share.
LEASE_MS = 75_000
# The prefix of owners that are commands, not servers.
BY_COMMAND = "command-"
RECOVER_BATCH = 200
INTERRUPTED = DeliveryOutcome(None, 0, messages.INTERRUPTED, True)

_SUBSCRIBED = Prepared(
    select(Webhook.id, Webhook.event_types, Webhook.project_ids).where(Webhook.is_active)
)
_INSERT = insert(cast("Table", OutboxEntry.__table__))
_PENDING = OutboxEntry.state == OutboxState.PENDING.value
_SENDING = OutboxEntry.state == OutboxState.SENDING.value

# The first pending entry of each webhook without one in flight. The query starts from the webhooks,
# which are few, and finds each entry by the index, however many entries wait for a dead receiver.
_FIRST = (
    select(
        Webhook.id,
        select(OutboxEntry.id)
        .where(_PENDING, OutboxEntry.webhook_id == Webhook.id)
        .order_by(OutboxEntry.due_at, OutboxEntry.id)
        .limit(1)
        .correlate(Webhook)
        .scalar_subquery()
        .label("entry_id"),
    )
    .where(~exists().where(_SENDING, OutboxEntry.webhook_id == Webhook.id))
    .subquery()
)
_DUE = (
    select(OutboxEntry, Webhook)
    .join(_FIRST, _FIRST.c.entry_id == OutboxEntry.id)
    .join(Webhook, Webhook.id == OutboxEntry.webhook_id)
    .where(
        or_(OutboxEntry.due_at <= bindparam("moment"), OutboxEntry.due_at > bindparam("farthest"))
    )
    .order_by(OutboxEntry.due_at, OutboxEntry.id)
    .limit(bindparam("limit"))
)
_NEXT_DUE = select(func.min(OutboxEntry.due_at)).join(_FIRST, _FIRST.c.entry_id == OutboxEntry.id)
_BY_IDS = select(OutboxEntry).where(OutboxEntry.id.in_(bindparam("ids", expanding=True)))
_ACTIVE = select(Webhook.id).where(Webhook.is_active)


_ACTIVE_WEBHOOKS = "active webhooks"


def listen(recorded: Recorded) -> None:
    """Put an event into the outbox for each active webhook that subscribes to it.

    A webhook does not get its own creation. Events of personal notes, and of imports that disable
    webhooks, are not delivered.
    """
    event_type = recorded.event_type
    if not webhooks_enabled.get() or not recorded.target.is_forwarded:
        return
    if event_type.startswith(NEVER_FORWARDED):
        return
    own_creation = recorded.target.id if event_type == "webhook.created" else None
    webhook_ids = [
        row.id
        for row in _active_webhooks(event_type)
        if is_subscribed(row.event_types, event_type)
        and (not row.project_ids or recorded.target.project_id in row.project_ids)
        and row.id != own_creation
    ]
    if not webhook_ids:
        return
    moment = now_ms()
    session.execute(
        _INSERT,
        [
            {
                "id": ids.new_id(),
                "webhook_id": webhook_id,
                "audit_event_id": recorded.id,
                "state": OutboxState.PENDING.value,
                "attempt": 1,
                "due_at": moment,
                "is_manual": False,
            }
            for webhook_id in webhook_ids
        ],
    )
    outbox_filled.emit_after_commit()


def _active_webhooks(event_type: str) -> list[Any]:
    """The active webhooks, read once in a unit of work, and again after a change of them."""
    values = unit_values()
    if values is None:
        return _SUBSCRIBED.all()
    if _ACTIVE_WEBHOOKS not in values or event_type.startswith("webhook."):
        values[_ACTIVE_WEBHOOKS] = _SUBSCRIBED.all()
    found: list[Any] = values[_ACTIVE_WEBHOOKS]
    return found


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry that ``owner`` holds, and the attempt to make for it."""

    entry_id: str
    owner: str
    attempt: DeliveryAttempt


Result = tuple[Claimed, DeliveryOutcome]


def claim(owner: str, limit: int) -> list[Claimed]:
    """Claim up to ``limit`` due entries, the oldest of each webhook without one in flight.

    Needs a writing unit of work. Entries of inactive webhooks are finished.
    """
    acquire(Lock.OUTBOX)
    moment = now_ms()
    due = session.execute(
        _DUE, {"moment": moment, "farthest": moment + MAX_DELAY_MS, "limit": limit}
    ).all()
    events = attempts.events_of([row.OutboxEntry.audit_event_id for row in due])
    chat_messages = messages_of(
        [
            row.OutboxEntry.audit_event_id
            for row in due
            if row.Webhook.is_active and row.Webhook.form != WebhookForm.JSON
        ]
    )
    lease_until = database_ms() + LEASE_MS if due else 0
    claimed = []
    for entry, webhook in due:
        if webhook.is_active:
            event = events[entry.audit_event_id]
            chat_message = chat_messages.get(entry.audit_event_id)
            claimed.append(_claim(entry, webhook, owner, lease_until, event, chat_message))
        else:
            pending.end(webhook.id, messages.WEBHOOK_DISABLED)
    session.flush()
    return claimed


def claim_entry(entry: OutboxEntry, webhook: Webhook, owner: str) -> Claimed:
    """Claim this entry; the caller holds ``Lock.OUTBOX``."""
    event = attempts.event_of(entry.audit_event_id)
    chat_message = attempts.message_about(webhook, event)
    return _claim(entry, webhook, owner, database_ms() + LEASE_MS, event, chat_message)


def _claim(
    entry: OutboxEntry,
    webhook: Webhook,
    owner: str,
    lease_until: int,
    event: Event,
    chat_message: ChatMessage | None,
) -> Claimed:
    entry.state = OutboxState.SENDING.value
    entry.owner = owner
    entry.attempt_id = ids.new_id()
    entry.lease_until = lease_until
    attempt = attempts.attempt_of(webhook, event, entry.attempt_id, entry.attempt, chat_message)
    return Claimed(entry.id, owner, attempt)


def complete(claimed: Claimed, outcome: DeliveryOutcome, actor: Actor = SYSTEM) -> bool:
    """Record the outcome of an attempt and schedule the next one, if any.

    Needs a writing unit of work. Returns False if the lease was lost, so nothing is recorded.
    """
    return not complete_all([(claimed, outcome)], actor)


def complete_all(results: Sequence[Result], actor: Actor = SYSTEM) -> list[Claimed]:
    """Like ``complete``, for many. Returns those whose lease was lost."""
    acquire(Lock.OUTBOX)
    entry_ids = [claimed.entry_id for claimed, _ in results]
    entries = {entry.id: entry for entry in session.scalars(_BY_IDS, {"ids": entry_ids})}
    active = frozenset(session.scalars(_ACTIVE))
    lost = []
    for claimed, outcome in results:
        entry = entries.get(claimed.entry_id)
        if entry is not None and _is_held(entry, claimed):
            _record_outcome(entry, claimed.attempt, outcome, active, actor)
        else:
            lost.append(claimed)
    session.flush()
    return lost


def _is_held(entry: OutboxEntry, claimed: Claimed) -> bool:
    """Whether this owner still holds the entry, for this attempt (fencing)."""
    return (
        entry.state == OutboxState.SENDING.value
        and entry.owner == claimed.owner
        and entry.attempt_id == claimed.attempt.id
    )


def _record_outcome(
    entry: OutboxEntry,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
    active: frozenset[str],
    actor: Actor = SYSTEM,
) -> None:
    """Record the outcome; schedule a retry after a transient failure, else finish the entry."""
    moment = now_ms()
    due_at = None
    may_retry = not entry.is_manual and entry.attempt < LAST_ATTEMPT
    if outcome.is_transient and may_retry and entry.webhook_id in active:
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


def recover(*, is_alone: bool = False) -> int:
    """Record attempts with an expired lease as interrupted; returns how many there were.

    A lease that ends too far in the future has expired too: the database's clock was set back. With
    ``is_alone`` (SQLite, at the start) no other server runs, so all leases of servers have expired.
    """
    acquire(Lock.OUTBOX)
    moment, until = database_ms(), OutboxEntry.lease_until
    is_expired = or_(until < moment, until > moment + 2 * LEASE_MS)
    if is_alone:
        is_expired = or_(is_expired, OutboxEntry.owner.not_like(f"{BY_COMMAND}%"))
    statement = select(OutboxEntry).where(_SENDING, is_expired)
    entries = session.scalars(statement.order_by(OutboxEntry.id).limit(RECOVER_BATCH)).all()
    events = attempts.events_of([entry.audit_event_id for entry in entries])
    active = frozenset(session.scalars(_ACTIVE))
    for entry in entries:
        identifier, event = entry.attempt_id or ids.new_id(), events[entry.audit_event_id]
        attempt = DeliveryAttempt(identifier, entry.attempt, entry.webhook_id, "", None, event)
        _record_outcome(entry, attempt, INTERRUPTED, active)
    session.flush()
    return len(entries)


def next_due() -> int | None:
    """When the next entry of a webhook without one in flight is due, in milliseconds."""
    due: int | None = session.scalar(_NEXT_DUE)
    moment = now_ms()
    return moment if due is not None and due > moment + MAX_DELAY_MS else due


def count_due() -> int:
    """The number of due entries, including those that wait behind one in flight."""
    moment = now_ms()
    is_due = or_(OutboxEntry.due_at <= moment, OutboxEntry.due_at > moment + MAX_DELAY_MS)
    return session.scalar(select(func.count()).where(_PENDING, is_due)) or 0
