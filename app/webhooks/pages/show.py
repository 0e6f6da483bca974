"""One webhook with its deliveries, one delivery, and how a receiver verifies it."""

from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
from flask import Blueprint, Response, g, request
from sqlalchemy import select

from app.config import settings_at_hand
from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.core.errors import Conflict, InvalidField
from app.database.session import reading, session
from app.web.forms import Form
from app.web.guard import actor
from app.web.render import go, page
from app.webhooks import attempts, deliveries, retrying, service
from app.webhooks.builders import delivery_json, webhook_json
from app.webhooks.deliveries import Health, health_of
from app.webhooks.models import DeliveryStatus, Webhook, WebhookDelivery

pages = Blueprint("webhooks_pages", __name__)


def shown(webhook: Webhook, health: Health) -> dict[str, Any]:
    """A webhook as pages show it: its host stands out of its address."""
    split = urlsplit(webhook.url)
    rest = split.path + (f"?{split.query}" if split.query else "")
    return webhook_json(webhook) | {
        "host": split.netloc,
        "rest": "" if rest == "/" else rest,
        "health": health,
        "events": events_in_words(webhook.event_types),
    }


def events_in_words(event_types: list[str]) -> str:
    """``All events``, the two of them, or how many."""
    if "*" in event_types:
        return "All events"
    if len(event_types) <= 2:
        return ", ".join(event_types)
    return f"{len(event_types)} kinds of event"


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


PYTHON = '''\
import hashlib
import hmac
import time


def is_genuine(secret: str, headers, body: bytes) -> bool:
    """Whether Docket sent this body, the raw bytes of the request, within five minutes."""
    timestamp = headers["X-Webhook-Timestamp"]
    signed = timestamp.encode() + b"." + body
    expected = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, headers["X-Webhook-Signature"]):
        return False
    return abs(time.time() - int(timestamp)) <= 300
'''

NODE = """\
import { createHmac, timingSafeEqual } from "node:crypto";

// Whether Docket sent this body, a Buffer of the raw request, within five minutes.
export function isGenuine(secret, headers, body) {
  const timestamp = headers["x-webhook-timestamp"];
  const made = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
  const expected = Buffer.from(`sha256=${made}`);
  const given = Buffer.from(headers["x-webhook-signature"] ?? "");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
  return Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;
}
"""


ROWS = 50
STATUSES = [
    (DeliveryStatus.SUCCEEDED.value, "Arrived"),
    (DeliveryStatus.RETRYING.value, "To be retried"),
    (DeliveryStatus.FAILED.value, "Failed"),
]
SINCE = {"1h": HOUR_MS, "24h": DAY_MS, "7d": 7 * DAY_MS}
PERIODS = [("1h", "Last hour"), ("24h", "Last 24 hours"), ("7d", "Last 7 days")]
ATTEMPTS = [("2", "Retries only"), ("4", "Last retries only")]


@pages.get("/webhooks/<webhook_id>")
def show(webhook_id: str) -> Response:
    """Show one webhook with its delivery log."""
    return show_webhook(webhook_id)


def show_webhook(
    webhook_id: str,
    *,
    secret: str = "",
    form: Form | None = None,
    test: str = "",
    status: int = 200,
) -> Response:
    """The page; a secret just made is shown in this one answer and never again."""
    chosen = _chosen()
    cursor = request.args.get("cursor") or None
    path = f"/webhooks/{webhook_id}"
    if secret:
        g.shows_secret = True
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
        health = health_of([webhook.id])[webhook.id]
        try:
            found = deliveries.list_deliveries(
                actor(),
                webhook.id,
                limit=ROWS,
                cursor=cursor,
                status=chosen.get("status"),
                since=now_ms() - SINCE[chosen["since"]] if "since" in chosen else None,
                attempt_min=int(chosen["attempt_min"]) if "attempt_min" in chosen else None,
                event_type=chosen.get("event_type"),
            )
        except InvalidField:
            # A cursor that was cut off on its way: start at the top.
            return go(_address(path, chosen))
    more = {"cursor": found.next_cursor} if found.next_cursor else None
    return page(
        "webhooks/show.html",
        block="" if secret or form or test else "results",
        webhook=shown(webhook, health),
        deliveries=found.data,
        secret=secret,
        form=form or Form(),
        test=test,
        action=path,
        filtered=bool(chosen),
        filters=_filters(chosen),
        first_url=_address(path, chosen) if cursor else "",
        next_url=_address(path, {**chosen, **more}) if more else "",
        python=PYTHON,
        node=NODE,
        status=status,
    )


def _chosen() -> dict[str, str]:
    """The filters of this address; what is none of them is left out."""
    known = {
        "status": {key for key, _ in STATUSES},
        "since": set(SINCE),
        "attempt_min": {key for key, _ in ATTEMPTS},
    }
    found = {name: request.args.get(name, "") for name in known}
    chosen = {name: value for name, value in found.items() if value in known[name]}
    event_type = request.args.get("event_type", "").strip()[:64]
    return chosen | ({"event_type": event_type} if event_type else {})


def _filters(chosen: dict[str, str]) -> list[dict[str, Any]]:
    """The fields of the filter form; one without options is typed."""
    fields: tuple[tuple[str, str, list[tuple[str, str]] | None], ...] = (
        ("status", "Any outcome", STATUSES),
        ("since", "Any time", PERIODS),
        ("attempt_min", "Any attempt", ATTEMPTS),
        ("event_type", "Event type", None),
    )
    return [
        {"name": name, "label": label, "options": options, "value": chosen.get(name, "")}
        for name, label, options in fields
    ]


def _address(path: str, chosen: dict[str, str]) -> str:
    return f"{path}?{urlencode(chosen)}" if chosen else path
