"""The audit log as a file: JSON lines for programs, CSV for spreadsheets."""

from collections.abc import Iterator
from typing import Any

import orjson
from flask import Response, request

from app.activity import service
from app.activity.pages.blueprint import asked, pages
from app.activity.pages.log import FILTERS, rows, wanted_by
from app.core.db import reading
from app.web.guard import actor
from app.web.spreadsheets import line

# The newest; `flask audit export` has all of them.
EXPORTED = 10_000
BATCH = 200
COLUMNS = ("created_at", "actor", "actor_kind", "event_type", "sentence", "project_id", "target_id")
MORE = ("request_id", "payload")


@pages.get("/audit/export")
def export() -> Response:
    """The newest events of the filter as JSON lines, or with ``format=csv`` as CSV."""
    is_csv = request.args.get("format") == "csv"
    with reading():
        text = "".join(_csv() if is_csv else _jsonl())
    kind, name = ("text/csv", "audit.csv") if is_csv else ("application/x-ndjson", "audit.jsonl")
    response = Response(text, mimetype=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _batches() -> Iterator[list[dict[str, Any]]]:
    wanted = wanted_by(asked(*FILTERS))
    cursor: str | None = None
    for _ in range(EXPORTED // BATCH):
        found = service.list_events(actor(), limit=BATCH, cursor=cursor, **wanted)
        yield found.data
        cursor = found.next_cursor
        if cursor is None:
            return


def _jsonl() -> Iterator[str]:
    for events in _batches():
        for event in events:
            yield orjson.dumps(event).decode() + "\n"


def _csv() -> Iterator[str]:
    yield line((*COLUMNS, *MORE))
    for events in _batches():
        for event in rows(events):
            who = event["actor"]
            known = {**event, "actor": who["username"] if who else "system"}
            payload = orjson.dumps(event["payload"]).decode()
            yield line([*(known.get(name) for name in COLUMNS), event["request_id"], payload])
