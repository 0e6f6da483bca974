"""The filtered list as a file: CSV for spreadsheets, JSON for everything else.

Written batch by batch along the index, each in a unit of work of its own, and sent meanwhile, so
that neither memory nor a transaction grows with the list.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import orjson
from flask import Response, request

from app.core.errors import NotFound
from app.core.lanes import Lane, require
from app.database.session import reading
from app.projects.loaders import SeenProject, visible_by_key
from app.tickets import listing
from app.tickets.listing import Row
from app.tickets.pages.blueprint import pages
from app.tickets.pages.listing import Asked, asked, conditions_of
from app.web.downloads import streamed
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
        project = visible_by_key(actor(), key)
    return _file(project, kind)


@pages.get("/tickets.<kind>")
def export_all(kind: str) -> Response:
    """The filtered list of all projects as a file."""
    return _file(None, kind)


def _file(project: SeenProject | None, kind: str) -> Response:
    require(Lane.LONG)
    if kind not in TYPES:
        raise NotFound("route", request.path)
    batches = _batches(asked(request.args, everywhere=project is None), project)
    written = _csv(batches) if kind == "csv" else _json(batches)
    # The first rows are read now: where the database is away, that is said on a page.
    pieces = chain([next(written)], written)
    name = f"{project.key.lower() if project else 'all'}-tickets.{kind}"
    return streamed(pieces, TYPES[kind], name)


def _batches(wanted: Asked, project: SeenProject | None) -> Iterator[list[dict[str, Any]]]:
    """The tickets, some at a time; at least one batch, which may be empty."""
    cursor: str | None = None
    while True:
        with reading():
            found = listing.find(
                conditions_of(wanted, project), wanted.sort, limit=BATCH, cursor=cursor
            )
        yield [_flat(row) for row in found.rows]
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
        "parent": row["parent"]["display_id"] if row["parent"] else None,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
    }


def _json(batches: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    written, between = [b"["], b"\n"
    for tickets in batches:
        for one in tickets:
            written += [between, orjson.dumps({name: one[name] for name in FIELDS})]
            between = b",\n"
        yield b"".join(written)
        written.clear()
    yield b"\n]\n"


def _csv(batches: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    head = line(FIELDS)
    for tickets in batches:
        written = "".join(line(one[name] for name in FIELDS) for one in tickets)
        yield (head + written).encode()
        head = ""
