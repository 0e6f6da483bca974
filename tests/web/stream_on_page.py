"""Helpers that read the stream of a ticket on its page, and press its undo buttons."""

import re

REF = "/tickets/OPEN-1"


def events(cast, kind):
    found = cast.ada.get("/audit?limit=200").json["data"]
    return [one for one in found if one["event_type"] == kind]


def stream(page) -> str:
    """The text of the stream, on one line."""
    inside = page.text.split('id="thread"')[1].split('id="live"')[0]
    return " ".join(re.sub(r"<[^>]+>", " ", inside).split())


def undo(ada, event, *, htmx=True, **form):
    return ada.post(f"/audit/events/{event}/undo", htmx=htmx, back=REF, **form)
