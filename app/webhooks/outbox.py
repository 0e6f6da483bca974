"""The outbox: handing entries out under a lease, and taking results back behind a fence.

An entry is in one pair of hands at a time, and so is a webhook: its next entry is handed out when
the one before it was dealt with, which keeps their order as long as nothing fails. Whoever holds an
entry past its lease has lost it: the attempt is written down as interrupted, and its result, should
it come, is dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Table, bindparam, exists, func, insert, or_, select

from app.audit.service import Recorded
from app.core import ids
from app.core.actor import SYSTEM, Actor
from app.core.clock import now_ms
from app.core.context import webhooks_enabled
from app.database.locks import Lock, acquire, database_ms
from app.database.session import AfterCommitSignal, Prepared, session
from app.webhooks import attempts, deliveries, pending
from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome, Event
from app.webhooks.models import OutboxEntry, OutboxState, Webhook
from app.webhooks.rules import NEVER_FORWARDED, is_subscribed

outbox_filled = AfterCommitSignal()


_SUBSCRIBED = Prepared(select(Webhook.id, Webhook.event_types).where(Webhook.is_active))
_INSERT = insert(cast("Table", OutboxEntry.__table__))


def listen(recorded: Recorded) -> None:
    """Put the event into the outbox, once for each active webhook that is to be told of it.

    A webhook is not told of its own creation. Nothing about a personal note is told to anyone, and
    nothing of an import that leaves webhooks in peace.
    """
    if not webhooks_enabled.get():
        return
    if not recorded.target.is_forwarded or recorded.event_type.startswith(NEVER_FORWARDED):
        return
    told = [
        row.id
        for row in _SUBSCRIBED.all()
        if is_subscribed(row.event_types, recorded.event_type)
        and not _is_own_creation(row.id, recorded)
    ]
    if not told:
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
            for webhook_id in told
        ],
    )
    outbox_filled.emit_after_commit()


def _is_own_creation(webhook_id: str, recorded: Recorded) -> bool:
    return recorded.event_type == "webhook.created" and recorded.target.id == webhook_id


# After the first, second and third attempt, in milliseconds.
BACKOFF_MS = (1_000, 5_000, 30_000)
LAST_ATTEMPT = len(BACKOFF_MS) + 1
# Nothing is ever put off for longer, so what is due after that was put off before the clock was set
# back, and would wait until it caught up.
FARTHEST_MS = BACKOFF_MS[-1]
# Longer than an attempt may take in all; by the clock of the database, which all processes share.
LEASE_MS = 75_000
# How the owners begin that are commands, not servers.
BY_COMMAND = "command-"
# Taken back in one transaction.
RECOVERED = 200
INTERRUPTED = DeliveryOutcome(None, 0, "interrupted: the server ended during the attempt", True)

_PENDING = OutboxEntry.state == OutboxState.PENDING.value
_SENDING = OutboxEntry.state == OutboxState.SENDING.value

# The first entry of each webhook that has none under way. It starts from the few webhooks and looks
# each up in the index, however many entries wait for a receiver that is dead. The statements are
# made once: making one costs more than running it.
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
    .limit(bindparam("most"))
)
_NEXT_DUE = select(func.min(OutboxEntry.due_at)).join(_FIRST, _FIRST.c.entry_id == OutboxEntry.id)
_HELD = select(OutboxEntry).where(OutboxEntry.id.in_(bindparam("ids", expanding=True)))
_ACTIVE = select(Webhook.id).where(Webhook.is_active)


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry in our hands, and what to send for it."""

    entry_id: str
    owner: str
    attempt: DeliveryAttempt


Result = tuple[Claimed, DeliveryOutcome]


def claim(owner: str, most: int) -> list[Claimed]:
    """Take up to ``most`` entries that are due, the oldest of each webhook that has none under way.

    In a writing unit of work. Entries of webhooks that are switched off are finished.
    """
    acquire(Lock.OUTBOX)
    moment = now_ms()
    wanted = {"moment": moment, "farthest": moment + FARTHEST_MS, "most": most}
    found = session.execute(_DUE, wanted).all()
    events = attempts.events_of([row.OutboxEntry.audit_event_id for row in found])
    lease_until = database_ms() + LEASE_MS if found else 0
    claimed = []
    for entry, webhook in found:
        if webhook.is_active:
            event = events[entry.audit_event_id]
            claimed.append(_take(entry, webhook, owner, lease_until, event))
        else:
            pending.end(webhook.id, pending.SWITCHED_OFF)
    session.flush()
    return claimed


def take(entry: OutboxEntry, webhook: Webhook, owner: str) -> Claimed:
    """Mark the entry as being sent by ``owner`` from now on."""
    events = attempts.events_of([entry.audit_event_id])
    lease_until = database_ms() + LEASE_MS
    return _take(entry, webhook, owner, lease_until, events[entry.audit_event_id])


def _take(
    entry: OutboxEntry, webhook: Webhook, owner: str, lease_until: int, event: Event
) -> Claimed:
    entry.state = OutboxState.SENDING.value
    entry.owner = owner
    entry.attempt_id = ids.new_id()
    entry.lease_until = lease_until
    attempt = attempts.attempt_of(webhook, event, entry.attempt_id, entry.attempt)
    return Claimed(entry.id, owner, attempt)


def complete(claimed: Claimed, outcome: DeliveryOutcome, actor: Actor = SYSTEM) -> bool:
    """Write down how an attempt ended and schedule the next one, if there is to be one.

    In a writing unit of work. False where the entry is no longer in our hands.
    """
    return not complete_all([(claimed, outcome)], actor)


def complete_all(results: Sequence[Result], actor: Actor = SYSTEM) -> list[Claimed]:
    """As ``complete``, for many; those that are no longer in our hands."""
    acquire(Lock.OUTBOX)
    wanted = {"ids": [claimed.entry_id for claimed, _ in results]}
    held = {entry.id: entry for entry in session.scalars(_HELD, wanted)}
    active = frozenset(session.scalars(_ACTIVE))
    lost = []
    for claimed, outcome in results:
        entry = held.get(claimed.entry_id)
        if entry is not None and _is_held(entry, claimed):
            _finish(entry, claimed.attempt, outcome, active, actor)
        else:
            lost.append(claimed)
    session.flush()
    return lost


def _is_held(entry: OutboxEntry, claimed: Claimed) -> bool:
    """The fence: still under way, by us, and this attempt."""
    return (
        entry.state == OutboxState.SENDING.value
        and entry.owner == claimed.owner
        and entry.attempt_id == claimed.attempt.id
    )


def _finish(
    entry: OutboxEntry,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
    active: frozenset[str],
    actor: Actor = SYSTEM,
) -> None:
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
    """Take back what was being sent when its sender ended; how many entries that were.

    Entries past their lease; all of them where no process can be sending (SQLite, at the start).
    A lease that reaches much farther than any can is from before the database's clock was set back.
    Commands may send beside a server that starts, so their leases count in any case.
    """
    acquire(Lock.OUTBOX)
    moment, until = database_ms(), OutboxEntry.lease_until
    is_lost = or_(until < moment, until > moment + 2 * LEASE_MS)
    if is_alone:
        is_lost = or_(is_lost, OutboxEntry.owner.not_like(f"{BY_COMMAND}%"))
    statement = select(OutboxEntry).where(_SENDING, is_lost)
    lost = session.scalars(statement.order_by(OutboxEntry.id).limit(RECOVERED)).all()
    events = attempts.events_of([entry.audit_event_id for entry in lost])
    active = frozenset(session.scalars(_ACTIVE))
    for entry in lost:
        identifier, event = entry.attempt_id or ids.new_id(), events[entry.audit_event_id]
        attempt = DeliveryAttempt(identifier, entry.attempt, entry.webhook_id, "", None, event)
        _finish(entry, attempt, INTERRUPTED, active)
    session.flush()
    return len(lost)


def next_due() -> int | None:
    """When the next entry is due of a webhook that has none under way, in milliseconds."""
    due: int | None = session.scalar(_NEXT_DUE)
    moment = now_ms()
    return moment if due is not None and due > moment + FARTHEST_MS else due


def count_due() -> int:
    """How many entries are due, whoever may have some under way."""
    moment = now_ms()
    is_due = or_(OutboxEntry.due_at <= moment, OutboxEntry.due_at > moment + FARTHEST_MS)
    return session.scalar(select(func.count()).where(_PENDING, is_due)) or 0
