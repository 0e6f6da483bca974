"""Sending by hand, while a person waits: a delivery once more, or a test.

A retry is marked in the outbox before it is sent, so that one which a crash cuts off is written
down as well. While it is under way, the request holds no database connection, and a thread for long
work (``core/lanes.py``).
"""

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import current_app

from app.audit.service import record
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.context import request_id
from app.core.errors import Conflict, Unavailable
from app.core.lanes import Lane, require
from app.database.locks import Lock, acquire
from app.database.session import reading, run_write, session
from app.webhooks import attempts, deliveries, outbox, pending, service
from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome
from app.webhooks.builders import delivery_json
from app.webhooks.connecting import limits
from app.webhooks.models import DeliveryStatus, OutboxEntry, OutboxState, Webhook
from app.webhooks.outbox import Claimed
from app.webhooks.sending import send

# At most so many people wait for receivers at a time, which leaves threads for other long work.
_slots = threading.BoundedSemaphore(4)
TOTAL_SECONDS = 45.0


@operation(Access.HUMAN)
def retry_delivery(actor: Actor, webhook_id: str, delivery_id: str) -> dict[str, Any]:
    """Send once more what did not arrive; the row of the new attempt. Opens its own units of work.

    It takes the place of a retry that was scheduled and schedules none. Raises NotFound, Conflict
    ``delivery_already_succeeded``, and Unavailable where too many people wait for receivers.
    """
    # Before anything is marked: without a place, the retry that was scheduled stays.
    with _slot():
        attempt, claimed = run_write(lambda: _prepare(actor, webhook_id, delivery_id))
        outcome = _sent(attempt)

    def work() -> None:
        if claimed is None:
            deliveries.add(actor, attempt, outcome, None)
        elif not outbox.complete(claimed, outcome, actor):
            # It took so long that it was written down as interrupted.
            return
        record(
            actor,
            "webhook.delivery_retried",
            service.target(attempt.webhook_id),
            delivery_id=attempt.id,
            retried_delivery_id=delivery_id.lower(),
            event_type=attempt.event_type,
            attempt=attempt.number,
        )

    run_write(work)
    return _shown(attempt)


@operation(Access.HUMAN)
def send_test(actor: Actor, webhook_id: str) -> dict[str, Any]:
    """Send ``webhook.test``, which is stored as no event; the row of the attempt.

    Opens its own units of work. Raises NotFound, and Unavailable as ``retry_delivery`` does.
    """
    with reading():
        webhook = service.find(webhook_id)
        attempt = _test(webhook, 1, request_id.get())
    with _slot():
        outcome = _sent(attempt)
    run_write(lambda: deliveries.add(actor, attempt, outcome, None))
    return _shown(attempt)


def _test(webhook: Webhook, number: int, asked_in: str | None) -> DeliveryAttempt:
    """An attempt whose body can be rebuilt: a test happens at the time in its id."""
    identifier = ids.new_id()
    event = attempts.test_event(webhook.id, ids.created_ms(identifier), asked_in)
    return attempts.attempt_of(webhook, event, identifier, number)


def _sent(attempt: DeliveryAttempt) -> DeliveryOutcome:
    return send(attempt, limits(current_app, total=TOTAL_SECONDS))


@contextmanager
def _slot() -> Iterator[None]:
    """A place among those who wait; raises Unavailable where there is none, and LaneRequired."""
    require(Lane.LONG)
    if not _slots.acquire(blocking=False):
        raise Unavailable
    try:
        yield
    finally:
        _slots.release()


def _shown(attempt: DeliveryAttempt) -> dict[str, Any]:
    with reading():
        return delivery_json(deliveries.find(attempt.webhook_id, attempt.id))


def _prepare(
    actor: Actor, webhook_id: str, delivery_id: str
) -> tuple[DeliveryAttempt, Claimed | None]:
    acquire(Lock.OUTBOX)
    webhook = service.find(webhook_id)
    delivery = deliveries.find(webhook_id, delivery_id)
    if delivery.status == DeliveryStatus.SUCCEEDED:
        raise Conflict("delivery_already_succeeded", "This delivery has arrived.")
    number = min(delivery.attempt + 1, outbox.LAST_ATTEMPT)
    if delivery.audit_event_id is None:
        return _test(webhook, number, delivery.request_id), None
    pending.drop(
        OutboxEntry.audit_event_id == delivery.audit_event_id,
        OutboxEntry.webhook_id == webhook.id,
    )
    entry = OutboxEntry(
        id=ids.new_id(),
        webhook_id=webhook.id,
        audit_event_id=delivery.audit_event_id,
        state=OutboxState.PENDING.value,
        attempt=number,
        due_at=now_ms(),
        is_manual=True,
    )
    session.add(entry)
    claimed = outbox.take(entry, webhook, f"manual-{os.getpid()}-{secrets.token_hex(8)}")
    session.flush()
    return claimed.attempt, claimed
