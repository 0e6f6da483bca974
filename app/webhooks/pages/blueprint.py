"""What the pages of webhooks share."""

from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint

from app.webhooks.builders import webhook_json
from app.webhooks.health import Health
from app.webhooks.models import Webhook

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
