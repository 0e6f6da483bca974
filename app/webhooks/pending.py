"""Finishing waiting entries of the outbox that will not be sent.

Callers hold ``Lock.OUTBOX``, so that nobody claims such an entry in the meantime.
"""

from typing import Any

from sqlalchemy import exists, update

from app.core.clock import now_ms
from app.database.session import session
from app.webhooks.models import DeliveryStatus, OutboxEntry, OutboxState, WebhookDelivery

_PENDING = OutboxEntry.state == OutboxState.PENDING.value


def end(webhook_id: str, reason: str) -> None:
    """Finish the waiting entries of a webhook; attempts that were to be retried count as failed.

    ``reason`` is a short sentence for people.
    """
    has_retry = exists().where(
        _PENDING,
        OutboxEntry.webhook_id == WebhookDelivery.webhook_id,
        OutboxEntry.audit_event_id == WebhookDelivery.audit_event_id,
        OutboxEntry.attempt == WebhookDelivery.attempt + 1,
    )
    session.execute(
        update(WebhookDelivery)
        .where(
            WebhookDelivery.webhook_id == webhook_id,
            WebhookDelivery.status == DeliveryStatus.RETRYING.value,
            has_retry,
        )
        .values(status=DeliveryStatus.FAILED.value, next_retry_at=None, error_message=reason)
        .execution_options(synchronize_session=False)
    )
    drop(OutboxEntry.webhook_id == webhook_id)


def drop(*conditions: Any) -> None:
    """Finish waiting entries without an attempt, and thus without a row in the log."""
    session.execute(
        update(OutboxEntry)
        .where(_PENDING, *conditions)
        .values(state=OutboxState.FINISHED.value, finished_at=now_ms())
        .execution_options(synchronize_session=False)
    )
