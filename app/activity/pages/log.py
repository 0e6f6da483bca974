"""The audit log as people read it: sentences, filters, payloads, and its export."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import orjson
from flask import Response, request
from sqlalchemy import select

from app.accounts.models import User
from app.activity import bot_review, service
from app.activity.pages.blueprint import (
    DEFAULT_SPAN,
    ROWS,
    SPAN_NAMES,
    address,
    pages,
    read_filters,
    since,
)
from app.activity.sentences import sentence
from app.audit.catalogue import EVENTS, Category, may_be_undone
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import InvalidField
from app.core.ids import as_uuid, is_display_id
from app.core.lanes import Lane, require
from app.database.session import reading, session
from app.projects.models import Project
from app.tickets.models import Ticket
from app.web.downloads import line, streamed
from app.web.guard import actor
from app.web.render import go, html, page, render

FILTERS = ("actor", "event_type", "category", "project", "ticket", "request_id")
CATEGORIES = [
    (Category.ACTIVITY.value, "Shown in feeds"),
    (Category.AUDIT_ONLY.value, "Audit only"),
]
# New events are counted up to here.
COUNTED = 100
# Matches nothing: a name in a filter that means nothing.
NOTHING = "00000000-0000-0000-0000-000000000000"


@pages.get("/audit")
def index() -> Response:
    """Show the audit log, the newest events first, of the last 24 hours unless asked otherwise."""
    chosen = read_filters(*FILTERS)
    is_older = bool(request.args.get("cursor"))
    with reading():
        try:
            found = service.list_events(
                actor(), limit=ROWS, cursor=request.args.get("cursor") or None, **wanted_by(chosen)
            )
        except InvalidField:
            # A cursor that was cut off on its way: start at the top.
            return go(address("/audit", chosen))
        shown = rows(found.data)
    return page(
        "audit/index.html",
        block="results",
        events=shown,
        chosen=chosen,
        span=chosen.get("span", DEFAULT_SPAN),
        spans=SPAN_NAMES,
        categories=CATEGORIES,
        types=sorted(EVENTS),
        first_url=address("/audit", chosen) if is_older else "",
        next_url=address("/audit", chosen, cursor=found.next_cursor) if found.next_cursor else "",
        exports=[
            (name, address("/audit/export", chosen, format=kind))
            for kind, name in (("jsonl", "JSON lines"), ("csv", "CSV"))
        ],
        news_url=_news_url(chosen, shown[0]["id"]) if shown and not is_older else "",
    )


def _news_url(chosen: dict[str, str], newest: str) -> str:
    return address("/audit/news", chosen, newest=newest)


@pages.get("/audit/news")
def news() -> Response:
    """How many events came since the page was made; nothing to swap where none did."""
    chosen = read_filters(*FILTERS)
    newest = as_uuid(request.args.get("newest", "")) or NOTHING
    with reading():
        found = service.list_events(actor(), limit=COUNTED, cursor=None, **wanted_by(chosen)).data
    count = sum(event["id"] > newest for event in found)
    if not count:
        return Response(status=204)
    return html(
        render(
            "audit/_news.html",
            count=count,
            is_many=count == COUNTED,
            here=address("/audit", chosen),
            news_url=_news_url(chosen, newest),
        )
    )


def wanted_by(chosen: dict[str, str]) -> dict[str, Any]:
    """The filters of the verb: names become ids, and one that means nothing matches nothing."""
    wanted: dict[str, Any] = {"since": since(chosen)}
    event_type = chosen.get("event_type")
    if event_type is not None:
        wanted["event_types"] = [name for name in EVENTS if _fits(name, event_type)]
    if chosen.get("category") in {name for name, _ in CATEGORIES}:
        wanted["category"] = chosen["category"]
    if "actor" in chosen:
        found = select(User.id).where(User.username == chosen["actor"].lower())
        wanted["actor_user_id"] = session.scalar(found) or NOTHING
    if "project" in chosen:
        key = select(Project.id).where(Project.key == chosen["project"].upper())
        wanted["project_id"] = session.scalar(key) or NOTHING
    if "ticket" in chosen:
        wanted["ticket_id"] = _ticket_id(chosen["ticket"])
    if "request_id" in chosen:
        wanted["request_id"] = as_uuid(chosen["request_id"]) or NOTHING
    return wanted


def _fits(name: str, asked_for: str) -> bool:
    """Whether the filter means this type: by its name, or by a prefix, ``ticket.*``."""
    prefix = asked_for.removesuffix("*")
    return name == asked_for or (prefix.endswith(".") and name.startswith(prefix))


def _ticket_id(reference: str) -> str:
    if is_display_id(reference.upper()):
        found = select(Ticket.id).where(Ticket.display_id == reference.upper())
        return session.scalar(found) or NOTHING
    return as_uuid(reference) or NOTHING


def rows(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with their sentences and the names of their tickets."""
    names = _display_ids(event["ticket_id"] for event in events)
    return [
        {
            **event,
            "display_id": names.get(event["ticket_id"]),
            "sentence": sentence(
                event["event_type"], event["payload"], names.get(event["ticket_id"])
            ),
        }
        for event in events
    ]


def _display_ids(ticket_ids: Iterable[str | None]) -> dict[str | None, str]:
    wanted = {ticket_id for ticket_id in ticket_ids if ticket_id}
    if not wanted:
        return {}
    rows = session.execute(select(Ticket.id, Ticket.display_id).where(Ticket.id.in_(wanted)))
    return {row.id: row.display_id for row in rows}


@pages.get("/audit/events/<event_id>")
def show_event(event_id: str) -> Response:
    """Show one event with its payload."""
    with reading():
        (event,) = rows([service.get_event(actor(), event_id)])
        is_undone = bool(bot_review.undone_of([session.get_one(AuditEvent, event["id"])]))
    reader = actor().user_id
    changes = event["payload"].get("changes")
    written = orjson.dumps(event["payload"], option=orjson.OPT_INDENT_2).decode()
    return page(
        "audit/event.html",
        block="event",
        event=event,
        changes=changes if isinstance(changes, dict) else {},
        written=written,
        is_undone=is_undone,
        may_be_undone=may_be_undone(event["event_type"], event["actor_user_id"], reader),
    )


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
        wanted = wanted_by(read_filters(*FILTERS))
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
