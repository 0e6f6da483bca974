"""The filtered list as a file: CSV for spreadsheets, JSON for everything else.

Written batch by batch along the index, each in a unit of work of its own, so that neither memory
nor a transaction grows with the list.
"""

from collections.abc import Iterator
from typing import Any

import orjson
from flask import Response, request, stream_with_context

from app.core.clock import iso
from app.core.db import reading
from app.core.errors import NotFound
from app.projects.loaders import SeenProject, visible_by_key
from app.tickets import listing
from app.tickets.listing import Row
from app.tickets.pages.blueprint import pages
from app.tickets.pages.listing import Asked, asked, conditions_of
from app.web.guard import actor
from app.web.spreadsheets import line

BATCH = 500
FIELDS = (
    "display_id",
    "type",
    "title",
    "state",
    "state_category",
    "priority",
    "assignee",
    "labels",
    "parent",
    "due_date",
    "created_at",
    "updated_at",
)
TYPES = {"csv": "text/csv", "json": "application/json"}


@pages.get("/projects/<key>/tickets.<kind>")
def export(key: str, kind: str) -> Response:
    """The project's filtered list as a file."""
    with reading():
        return _file(visible_by_key(actor(), key), kind)


@pages.get("/tickets.<kind>")
def export_all(kind: str) -> Response:
    """The filtered list of all projects as a file."""
    return _file(None, kind)


def _file(project: SeenProject | None, kind: str) -> Response:
    if kind not in TYPES:
        raise NotFound("route", request.path)
    wanted = asked(request.args, everywhere=project is None)
    write = _csv if kind == "csv" else _json
    response = Response(stream_with_context(write(wanted, project)), mimetype=TYPES[kind])
    name = f"{project.key.lower() if project else 'all'}-tickets.{kind}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _rows(wanted: Asked, project: SeenProject | None) -> Iterator[dict[str, Any]]:
    cursor: str | None = None
    while True:
        with reading():
            found = listing.find(
                conditions_of(wanted, project), wanted.sort, limit=BATCH, cursor=cursor
            )
        yield from map(_flat, found.rows)
        cursor = found.after
        if cursor is None:
            return


def _flat(row: Row) -> dict[str, Any]:
    state, assignee = row["state"], row["assignee"]
    return {
        **{name: row[name] for name in ("display_id", "type", "title", "priority", "due_date")},
        "state": state["name"],
        "state_category": state["category"],
        "assignee": assignee["username"] if assignee else None,
        "labels": [label["name"] for label in row["labels"]],
        "parent": row["parent"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
    }


def _json(wanted: Asked, project: SeenProject | None) -> Iterator[bytes]:
    yield b"["
    before = b"\n"
    for row in _rows(wanted, project):
        yield before + orjson.dumps({name: row[name] for name in FIELDS})
        before = b",\n"
    yield b"\n]\n"


def _csv(wanted: Asked, project: SeenProject | None) -> Iterator[str]:
    yield line(FIELDS)
    for row in _rows(wanted, project):
        yield line(row[name] for name in FIELDS)
