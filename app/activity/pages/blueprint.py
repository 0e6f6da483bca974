"""What the two logs share: their spans of time, and addresses that keep the filters."""

from collections.abc import Mapping
from urllib.parse import urlencode

from flask import Blueprint, request

from app.core.clock import DAY_MS, HOUR_MS, now_ms

pages = Blueprint("audit_pages", __name__)

DEFAULT_SPAN = "24h"
SPANS: dict[str, int | None] = {
    "1h": HOUR_MS,
    "24h": DAY_MS,
    "7d": 7 * DAY_MS,
    "30d": 30 * DAY_MS,
    "all": None,
}
SPAN_NAMES = [
    ("1h", "Last hour"),
    ("24h", "Last 24 hours"),
    ("7d", "Last 7 days"),
    ("30d", "Last 30 days"),
    ("all", "All time"),
]
ROWS = 50


def read_filters(*names: str) -> dict[str, str]:
    """The filters of the address that are set; the span only where it is not the default."""
    found = {name: request.args.get(name, "").strip() for name in (*names, "span")}
    if found["span"] not in SPANS or found["span"] == DEFAULT_SPAN:
        found["span"] = ""
    return {name: value for name, value in found.items() if value}


def since(chosen: Mapping[str, str]) -> int | None:
    """Where the chosen span begins, in milliseconds."""
    span = SPANS[chosen.get("span", DEFAULT_SPAN)]
    return None if span is None else now_ms() - span


def address(path: str, chosen: Mapping[str, str], **more: str | None) -> str:
    """The address of the page with these filters."""
    query = {name: value for name, value in {**chosen, **more}.items() if value}
    return f"{path}?{urlencode(query)}" if query else path
