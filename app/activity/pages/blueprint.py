"""The filters, time spans and links to further rows that the pages of the two logs share."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, request

from app.core.clock import DAY_MS, HOUR_MS, now_ms

pages = Blueprint("audit_pages", __name__)

DEFAULT_SPAN = "24h"
# The length of a span in milliseconds, and its name.
SPANS: dict[str, tuple[int | None, str]] = {
    "1h": (HOUR_MS, "Last hour"),
    "24h": (DAY_MS, "Last 24 hours"),
    "7d": (7 * DAY_MS, "Last 7 days"),
    "30d": (30 * DAY_MS, "Last 30 days"),
    "all": (None, "All time"),
}
ROWS = 50
# The filter value that stands for an unknown name; it matches no row.
NO_ID = "00000000-0000-0000-0000-000000000000"


def read_filters(*names: str) -> dict[str, str]:
    """The filters that the address sets; the default span is left out."""
    filters = {name: request.args.get(name, "").strip() for name in (*names, "span")}
    if filters["span"] not in SPANS or filters["span"] == DEFAULT_SPAN:
        filters["span"] = ""
    return {name: value for name, value in filters.items() if value}


def since(filters: Mapping[str, str]) -> int | None:
    """The start of the chosen span, in milliseconds; None for all time."""
    length, _ = SPANS[filters.get("span", DEFAULT_SPAN)]
    return None if length is None else now_ms() - length


def address(path: str, filters: Mapping[str, str], **more: str | None) -> str:
    query = {name: value for name, value in {**filters, **more}.items() if value}
    return f"{path}?{urlencode(query)}" if query else path


def navigation(path: str, filters: Mapping[str, str], next_cursor: str | None) -> dict[str, Any]:
    """What both logs show around their rows: the filters, and links to the first and next page."""
    return {
        "chosen": filters,
        "span": filters.get("span", DEFAULT_SPAN),
        "spans": [(key, name) for key, (_, name) in SPANS.items()],
        "first_url": address(path, filters) if request.args.get("cursor") else "",
        "next_url": address(path, filters, cursor=next_cursor) if next_cursor else "",
    }
