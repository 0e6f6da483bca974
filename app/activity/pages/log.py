"""The audit log as sentences, with filters, single events and an export."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import orjson
from flask import Response, request
from sqlalchemy import select

from app.accounts.models import User
from app.activity import bot_review, service
from app.activity.pages.blueprint import (
    NO_ID,
    ROWS,
    address,
    navigation,
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
from app.tickets.stream_queries import names_of
from app.web.downloads import line, streamed
from app.web.guard import actor
from app.web.render import go, html, page, render

FILTERS = ("actor", "event_type", "category", "project", "ticket", "request_id")
CATEGORIES = [
    (Category.ACTIVITY.value, "Shown in feeds"),
    (Category.AUDIT_ONLY.value, "Audit only"),
]
# New events are counted up to this number.
COUNTED = 100
# An export has the newest events; `flask audit export` has all of them.
EXPORTED = 10_000
# Events in memory at a time; one may contain two texts of a ticket.
BATCH = 50
COLUMNS = ("created_at", "actor", "actor_kind", "event_type", "sentence", "project_id", "target_id")
MORE = ("request_id", "payload")

Events = list[dict[str, Any]]


@pages.get("/audit")
def index() -> Response:
    filters = read_filters(*FILTERS)
    cursor = request.args.get("cursor") or None
    with reading():
        try:
            listed = service.list_events(actor(), limit=ROWS, cursor=cursor, **_arguments(filters))
        except InvalidField:
            # The cursor is broken: start at the first page.
            return go(address("/audit", filters))
        events = rows(listed.data)
    return page(
        "audit/index.html",
        block="results",
        events=events,
        categories=CATEGORIES,
        types=sorted(EVENTS),
        exports=[
            (name, address("/audit/export", filters, format=kind))
            for kind, name in (("jsonl", "JSON lines"), ("csv", "CSV"))
        ],
        news_url=_news_url(filters, events[0]["id"]) if events and not cursor else "",
        **navigation("/audit", filters, listed.next_cursor),
    )


def _news_url(filters: dict[str, str], newest: str) -> str:
    return address("/audit/news", filters, newest=newest)


@pages.get("/audit/news")
def news() -> Response:
    """The number of events newer than the page; 204, which swaps nothing, without any."""
    filters = read_filters(*FILTERS)
    newest = as_uuid(request.args.get("newest", "")) or NO_ID
    with reading():
        events = service.list_events(
            actor(), limit=COUNTED, cursor=None, **_arguments(filters)
        ).data
    count = sum(event["id"] > newest for event in events)
    if not count:
        return Response(status=204)
    return html(
        render(
            "audit/_news.html",
            count=count,
            is_many=count == COUNTED,
            here=address("/audit", filters),
            news_url=_news_url(filters, newest),
        )
    )


def _arguments(filters: dict[str, str]) -> dict[str, Any]:
    """The filters as arguments of ``list_events``, with ids instead of names."""
    arguments: dict[str, Any] = {"since": since(filters)}
    event_type = filters.get("event_type")
    if event_type is not None:
        arguments["event_types"] = [name for name in EVENTS if _is_of_type(name, event_type)]
    if filters.get("category") in {name for name, _ in CATEGORIES}:
        arguments["category"] = filters["category"]
    if "actor" in filters:
        user_id = select(User.id).where(User.username == filters["actor"].lower())
        arguments["actor_user_id"] = session.scalar(user_id) or NO_ID
    if "project" in filters:
        project_id = select(Project.id).where(Project.key == filters["project"].upper())
        arguments["project_id"] = session.scalar(project_id) or NO_ID
    if "ticket" in filters:
        arguments["ticket_id"] = _ticket_id(filters["ticket"])
    if "request_id" in filters:
        arguments["request_id"] = as_uuid(filters["request_id"]) or NO_ID
    return arguments


def _is_of_type(name: str, pattern: str) -> bool:
    """Whether the pattern is the name of the event type, or a prefix of it such as ``ticket.*``."""
    prefix = pattern.removesuffix("*")
    return name == pattern or (prefix.endswith(".") and name.startswith(prefix))


def _ticket_id(reference: str) -> str:
    if is_display_id(reference.upper()):
        ticket_id = select(Ticket.id).where(Ticket.display_id == reference.upper())
        return session.scalar(ticket_id) or NO_ID
    return as_uuid(reference) or NO_ID


def rows(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with their sentences and the display ids of their tickets."""
    display_ids = names_of({event["ticket_id"] for event in events} - {None})
    return [
        {
            **event,
            "display_id": display_ids.get(event["ticket_id"]),
            "sentence": sentence(
                event["event_type"], event["payload"], display_ids.get(event["ticket_id"])
            ),
        }
        for event in events
    ]


@pages.get("/audit/events/<event_id>")
def show_event(event_id: str) -> Response:
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


@pages.get("/audit/export")
def export() -> Response:
    """The newest events of the filter as JSON lines, or with ``format=csv`` as CSV."""
    require(Lane.LONG)
    is_csv = request.args.get("format") == "csv"
    with reading():
        arguments = _arguments(read_filters(*FILTERS))
    chunks = _csv(actor(), arguments) if is_csv else _jsonl(actor(), arguments)
    # The first batch is read before the response starts, so that an outage is an error page.
    body = chain([next(chunks)], chunks)
    if is_csv:
        return streamed(body, "text/csv", "audit.csv")
    return streamed(body, "application/x-ndjson", "audit.jsonl")


def _batches(reader: Actor, arguments: dict[str, Any], *, with_sentences: bool) -> Iterator[Events]:
    """Batches of events, at least one."""
    cursor: str | None = None
    for _ in range(EXPORTED // BATCH):
        with reading():
            listed = service.list_events(reader, limit=BATCH, cursor=cursor, **arguments)
            events = rows(listed.data) if with_sentences else listed.data
        yield events
        cursor = listed.next_cursor
        if cursor is None:
            return


def _jsonl(reader: Actor, arguments: dict[str, Any]) -> Iterator[bytes]:
    for events in _batches(reader, arguments, with_sentences=False):
        yield b"".join(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE) for event in events)


def _csv(reader: Actor, arguments: dict[str, Any]) -> Iterator[bytes]:
    head = line((*COLUMNS, *MORE))
    for events in _batches(reader, arguments, with_sentences=True):
        yield (head + "".join(_csv_line(event) for event in events)).encode()
        head = ""


def _csv_line(event: dict[str, Any]) -> str:
    author = event["actor"]
    values = {**event, "actor": author["username"] if author else "system"}
    payload = orjson.dumps(event["payload"]).decode()
    return line([*(values.get(name) for name in COLUMNS), event["request_id"], payload])
