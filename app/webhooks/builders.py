"""The JSON of webhooks and deliveries."""

from typing import Any

from app.core.clock import iso, iso_or_none
from app.webhooks.models import Webhook, WebhookDelivery


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    """A webhook, without its secret."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "event_types": webhook.event_types,
        "is_active": webhook.is_active,
        "created_by_user_id": webhook.created_by_user_id,
        "last_success_at": iso_or_none(webhook.last_success_at),
        "last_failure_at": iso_or_none(webhook.last_failure_at),
        "created_at": iso(webhook.created_at),
        "updated_at": iso(webhook.updated_at),
    }


def delivery_json(delivery: WebhookDelivery) -> dict[str, Any]:
    """An attempt."""
    return {
        "id": delivery.id,
        "webhook_id": delivery.webhook_id,
        "event_type": delivery.event_type,
        "attempt": delivery.attempt,
        "status": delivery.status,
        "http_status": delivery.http_status,
        "duration_ms": delivery.duration_ms,
        "error_message": delivery.error_message,
        "delivered_at": iso_or_none(delivery.delivered_at),
        "next_retry_at": iso_or_none(delivery.next_retry_at),
        "request_id": delivery.request_id,
        "created_at": iso(delivery.created_at),
    }
