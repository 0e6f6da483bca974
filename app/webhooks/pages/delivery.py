"""One attempt: what was sent, what came of it, and sending it once more."""

from typing import Any

import orjson
from flask import Response
from sqlalchemy import select

from app.config import settings_at_hand
from app.core.errors import Conflict
from app.database.session import reading, session
from app.web.guard import actor
from app.web.render import go, page
from app.webhooks import attempts, deliveries, retrying, service
from app.webhooks.builders import delivery_json
from app.webhooks.models import Webhook, WebhookDelivery
from app.webhooks.pages.blueprint import pages

SIBLINGS = 20


@pages.get("/webhooks/<webhook_id>/deliveries/<delivery_id>")
def show_delivery(webhook_id: str, delivery_id: str) -> Response:
    """Show an attempt with its request, rebuilt from the event, which never changes."""
    return _show(webhook_id, delivery_id)


def _show(webhook_id: str, delivery_id: str, *, refused: str = "", status: int = 200) -> Response:
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
        delivery = deliveries.find(webhook_id, delivery_id)
        event = _event(delivery)
        siblings = _siblings(delivery)
    return page(
        "webhooks/delivery.html",
        webhook=webhook,
        delivery=delivery_json(delivery),
        headers=_headers(webhook, delivery),
        body=_pretty(delivery, event),
        audit_event_id=delivery.audit_event_id,
        siblings=[delivery_json(one) for one in siblings],
        refused=refused,
        status=status,
    )


@pages.post("/webhooks/<webhook_id>/deliveries/<delivery_id>/retry")
def retry(webhook_id: str, delivery_id: str) -> Response:
    """Send it once more, now, and show how that went."""
    try:
        row = retrying.retry_delivery(actor(), webhook_id, delivery_id)
    except Conflict as error:
        return _show(webhook_id, delivery_id, refused=error.message, status=409)
    return go(f"/webhooks/{row['webhook_id']}/deliveries/{row['id']}")


def _event(delivery: WebhookDelivery) -> attempts.Event:
    if delivery.audit_event_id is None:
        return attempts.test_event(delivery.webhook_id, delivery.created_at, delivery.request_id)
    return attempts.event_of(delivery.audit_event_id)


def _siblings(delivery: WebhookDelivery) -> list[WebhookDelivery]:
    """All attempts to tell this webhook of this event, oldest first."""
    if delivery.audit_event_id is None:
        return [delivery]
    return list(
        session.scalars(
            select(WebhookDelivery)
            .where(
                WebhookDelivery.webhook_id == delivery.webhook_id,
                WebhookDelivery.audit_event_id == delivery.audit_event_id,
            )
            .order_by(WebhookDelivery.created_at, WebhookDelivery.id)
            .limit(SIBLINGS)
        )
    )


def _headers(webhook: Webhook, delivery: WebhookDelivery) -> dict[str, str]:
    """The headers that can be told afterwards; time and signature are made at each sending."""
    settings = settings_at_hand()
    return {
        "Content-Type": attempts.CONTENT_TYPE,
        "X-Webhook-Id": webhook.id,
        "X-Webhook-Event": delivery.event_type,
        "X-Webhook-Delivery": delivery.id,
        "User-Agent": settings.user_agent,
    }


def _pretty(delivery: WebhookDelivery, event: attempts.Event) -> str:
    sent: Any = orjson.loads(attempts.body_of(delivery.id, event))
    return orjson.dumps(sent, option=orjson.OPT_INDENT_2).decode()
