"""The audit log as a file: JSON lines for programs, CSV for spreadsheets.

Written some events at a time, each in a unit of work of its own, and sent meanwhile.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import orjson
from flask import Response, request

from app.activity import service
from app.activity.pages.blueprint import asked, pages
from app.activity.pages.log import FILTERS, rows, wanted_by
from app.core.actor import Actor
from app.core.lanes import Lane, require
from app.database.session import reading
from app.web.downloads import streamed
from app.web.guard import actor
from app.web.spreadsheets import line

# The newest; `flask audit export` has all of them.
EXPORTED = 10_000
# Events that are in memory at a time; one may hold two texts of a ticket.
BATCH = 50
COLUMNS = ("created_at", "actor", "actor_kind", "event_type", "sentence", "project_id", "target_id")
MORE = ("request_id", "payload")

Events = list[dict[str, Any]]


@pages.get("/audit/export")
def export() -> Response:
    """The newest events of the filter as JSON lines, or with ``format=csv`` as CSV."""
    require(Lane.LONG)
    is_csv = request.args.get("format") == "csv"
    with reading():
        wanted = wanted_by(asked(*FILTERS))
    written = _csv(actor(), wanted) if is_csv else _jsonl(actor(), wanted)
    # Of the events, the first are read now: where the database is away, that is said on a page.
    pieces = chain([next(written)], written)
    if is_csv:
        return streamed(pieces, "text/csv", "audit.csv")
    return streamed(pieces, "application/x-ndjson", "audit.jsonl")


def _batches(present: Actor, wanted: dict[str, Any], *, in_words: bool) -> Iterator[Events]:
    """The events, with their sentences if they are to be had ``in_words``; at least one batch."""
    cursor: str | None = None
    for _ in range(EXPORTED // BATCH):
        with reading():
            found = service.list_events(present, limit=BATCH, cursor=cursor, **wanted)
            events = rows(found.data) if in_words else found.data
        yield events
        cursor = found.next_cursor
        if cursor is None:
            return


def _jsonl(present: Actor, wanted: dict[str, Any]) -> Iterator[bytes]:
    for events in _batches(present, wanted, in_words=False):
        yield b"".join(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE) for event in events)


def _csv(present: Actor, wanted: dict[str, Any]) -> Iterator[bytes]:
    head = line((*COLUMNS, *MORE))
    for events in _batches(present, wanted, in_words=True):
        yield (head + "".join(_lines(events))).encode()
        head = ""


def _lines(events: Iterable[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        who = event["actor"]
        known = {**event, "actor": who["username"] if who else "system"}
        payload = orjson.dumps(event["payload"]).decode()
        yield line([*(known.get(name) for name in COLUMNS), event["request_id"], payload])
