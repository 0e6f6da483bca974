"""Manual sends, while a person waits: a retry of a delivery, or a test.

Automatic retries are scheduled in ``outbox.py``. A manual one is claimed in the outbox before it is
sent, so that it is recorded even after a crash. While it is in flight, the request holds a thread
for long work (``core/lanes.py``) and no database connection.
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
from app.core.errors import Conflict, Unavailable
from app.core.ids import request_id
from app.core.lanes import Lane, require
from app.database.locks import Lock, acquire
from app.database.session import reading, run_write, session
from app.webhooks import attempts, deliveries, messages, outbox, pending, service
from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome
from app.webhooks.connecting import limits
from app.webhooks.deliveries import delivery_json
from app.webhooks.models import DeliveryStatus, OutboxEntry, OutboxState, Webhook
from app.webhooks.outbox import Claimed
from app.webhooks.sending import send

# The most people who wait for receivers at a time, so that other long work has threads left.
_slots = threading.BoundedSemaphore(4)
TOTAL_SECONDS = 45.0


@operation(Access.HUMAN)
def retry_delivery(actor: Actor, webhook_id: str, delivery_id: str) -> dict[str, Any]:
    """Resend a delivery that did not arrive; returns the JSON of the new attempt.

    It replaces a scheduled retry and schedules none. Opens its own units of work. Raises NotFound,
    Conflict ``delivery_already_succeeded``, and Unavailable if too many people wait.
    """
    # Taken before the claim, so that the scheduled retry stays if there is no slot.
    with _slot():
        attempt, claimed = run_write(lambda: _prepare(webhook_id, delivery_id))
        outcome = _send(attempt)

    def work() -> None:
        if claimed is None:
            deliveries.add(actor, attempt, outcome, None)
        elif not outbox.complete(claimed, outcome, actor):
            # The lease was lost, so the attempt is recorded as interrupted.
            return
        record(
            actor,
            "webhook.delivery_retried",
            service.target(attempt.webhook_id),
            delivery_id=attempt.id,
            retried_delivery_id=delivery_id.lower(),
            event_type=attempt.event.type,
            attempt=attempt.number,
        )

    run_write(work)
    return _delivery(attempt)


@operation(Access.HUMAN)
def send_test(actor: Actor, webhook_id: str) -> dict[str, Any]:
    """Send ``webhook.test``, which is not an event of the audit log; the JSON of the attempt.

    Opens its own units of work. Raises NotFound, and Unavailable if too many people wait.
    """
    with reading():
        webhook = service.find(webhook_id)
        attempt = _test_attempt(webhook, 1, request_id.get())
    with _slot():
        outcome = _send(attempt)
    run_write(lambda: deliveries.add(actor, attempt, outcome, None))
    return _delivery(attempt)


def _test_attempt(webhook: Webhook, number: int, request_id: str | None) -> DeliveryAttempt:
    """A test attempt; the test occurs at the time in its id, so that its body can be rebuilt."""
    identifier = ids.new_id()
    event = attempts.test_event(webhook.id, ids.created_ms(identifier), request_id)
    message = attempts.message_about(webhook, event)
    return attempts.attempt_of(webhook, event, identifier, number, message)


def _send(attempt: DeliveryAttempt) -> DeliveryOutcome:
    return send(attempt, limits(current_app, total=TOTAL_SECONDS))


@contextmanager
def _slot() -> Iterator[None]:
    """Hold one of the slots; raises Unavailable if all are taken, and LaneRequired."""
    require(Lane.LONG)
    if not _slots.acquire(blocking=False):
        raise Unavailable
    try:
        yield
    finally:
        _slots.release()


def _delivery(attempt: DeliveryAttempt) -> dict[str, Any]:
    with reading():
        return delivery_json(deliveries.find(attempt.id))


def _prepare(webhook_id: str, delivery_id: str) -> tuple[DeliveryAttempt, Claimed | None]:
    """The new attempt and its claim; a test has no entry in the outbox, so it has no claim."""
    acquire(Lock.OUTBOX)
    webhook = service.find(webhook_id)
    delivery = deliveries.find(delivery_id, webhook_id=webhook_id)
    if delivery.status == DeliveryStatus.SUCCEEDED:
        raise Conflict("delivery_already_succeeded", messages.ALREADY_SUCCEEDED)
    number = min(delivery.attempt + 1, outbox.LAST_ATTEMPT)
    if delivery.audit_event_id is None:
        return _test_attempt(webhook, number, delivery.request_id), None
    pending.drop(
        OutboxEntry.audit_event_id == delivery.audit_event_id, OutboxEntry.webhook_id == webhook.id
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
    claimed = outbox.claim_entry(entry, webhook, f"manual-{os.getpid()}-{secrets.token_hex(8)}")
    session.flush()
    return claimed.attempt, claimed
