"""One webhook: how it does, its delivery log, and how a receiver verifies it."""

from typing import Any
from urllib.parse import urlencode

from flask import Response, g, request

from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.core.errors import InvalidField
from app.database.session import reading
from app.web.forms import Form
from app.web.guard import actor
from app.web.render import go, page
from app.webhooks import deliveries, service
from app.webhooks.health import health_of
from app.webhooks.models import DeliveryStatus
from app.webhooks.pages.blueprint import pages, shown
from app.webhooks.pages.snippets import NODE, PYTHON

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
