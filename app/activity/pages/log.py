"""The pages of the audit log: filters, rows by request, single events, an export."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, groupby
from typing import Any

import orjson
from flask import Blueprint, Response, request
from sqlalchemy import select

from app.activity import bot_review, messages, service
from app.activity.pages.audit_filters import (
    Menu,
    Option,
    address,
    id_or_nil,
    menu,
    navigation,
    people_offered,
    read_filters,
    since,
    time_menu,
    user_id,
)
from app.activity.requests import HOUSEKEEPING, list_requests
from app.activity.sentences import in_words
from app.audit.event_types import EVENTS, SUBJECTS, Category, may_be_undone
from app.audit.models import AuditEvent
from app.audit.receipt_answers import answered_receipt
from app.core.actor import Actor
from app.core.clock import DAY_MS, iso, now_ms
from app.core.errors import InvalidField
from app.core.ids import NIL_ID, is_display_id
from app.core.lanes import Lane, require
from app.database.session import reading, session
from app.projects.models import Project
from app.projects.pages import offered_projects
from app.tickets.loaders import tickets_like
from app.tickets.models import Ticket
from app.tickets.pages.reading_words import what_was_read
from app.web.downloads import line, streamed
from app.web.filters import day
from app.web.guard import actor
from app.web.render import go, html, is_htmx, page, render

pages = Blueprint("audit_pages", __name__)

# Events per page of one request; the log itself pages by request.
ROWS = 50
PATH = "/audit"
MAX_TICKET_LENGTH = 100
AUDIT_FILTERS = ("actor", "event_type", "category", "project", "ticket", "request_id")
CATEGORIES = [
    (Category.ACTIVITY.value, messages.WORK, messages.OF_WORK),
    (Category.AUDIT_ONLY.value, messages.ADMINISTRATION, messages.OF_ADMINISTRATION),
]
# The limit of the count of new events.
MAX_COUNT = 100
# An export has the newest events; `flask audit export` has all events.
MAX_EXPORTED_EVENTS = 10_000
# Events in memory at a time; an event may contain two texts of a ticket.
BATCH = 50
COLUMNS = ("created_at", "actor", "actor_kind", "event_type", "sentence", "project_id", "target_id")
MORE = ("request_id", "payload")

Events = list[dict[str, Any]]


@pages.get(PATH)
def index() -> Response:
    filters = read_filters(*AUDIT_FILTERS)
    cursor = request.args.get("cursor") or None
    is_request = "request_id" in filters
    with reading():
        arguments = _arguments(filters)
        try:
            if is_request:
                listed = service.list_events(actor(), limit=ROWS, cursor=cursor, **arguments)
                rows: list[Any] = in_words(listed.data)
            else:
                listed = list_requests(actor(), cursor=cursor, **arguments)
                rows = listed.data
        except InvalidField:
            # The cursor is invalid: start at the first page.
            return go(address(PATH, filters))
        # A fragment has only the rows.
        menus = [] if is_htmx() else _menus(filters)
    # A finished request gets no new events.
    newest = "" if cursor or is_request or not rows else rows[0].id
    return page(
        "audit/index.html",
        block="results",
        days=_by_day(rows),
        is_request=is_request,
        is_own_request=is_request and any(row["actor_user_id"] == actor().user_id for row in rows),
        may_be_undone=is_request
        and any(
            may_be_undone(row["event_type"], row["actor_user_id"], actor().user_id) for row in rows
        ),
        back=request.full_path,
        menus=menus,
        unfolded=partial(address, PATH, {**filters, "span": "all"}),
        exports=[
            (name, address("/audit/export", filters, format=kind))
            for kind, name in (("jsonl", messages.JSON_LINES), ("csv", "CSV"))
        ],
        news_url=_news_url(filters, newest) if newest else "",
        **navigation(PATH, filters, listed.next_cursor),
    )


def _by_day(rows: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """The rows grouped by day (UTC), each group with the day's name."""
    names = {
        iso(now_ms() - ago * DAY_MS)[:10]: name
        for ago, name in ((0, messages.TODAY), (1, messages.YESTERDAY))
    }
    return [(names.get(date) or day(date), list(group)) for date, group in groupby(rows, _day)]


def _day(row: Any) -> str:
    moment: str = row["created_at"] if isinstance(row, dict) else row.created_at
    return moment[:10]


def _menus(filters: Mapping[str, str]) -> list[Menu]:
    people = [(one["username"], one["display_name"], one["username"]) for one in people_offered()]
    projects = [(one["key"], one["name"], one["key"]) for one in offered_projects()]
    return [
        time_menu(PATH, filters),
        menu(PATH, filters, "actor", messages.WHO, messages.ANYONE, people),
        menu(
            PATH, filters, "event_type", messages.EVENT, messages.ANY_EVENT, _event_options(filters)
        ),
        menu(PATH, filters, "category", messages.AREA, messages.ANY_AREA, CATEGORIES),
        menu(PATH, filters, "project", messages.PROJECT, messages.ANY_PROJECT, projects),
    ]


def _event_options(filters: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """All event types by subject; the first option of each is the whole subject.

    Several types, to which My work leads, are an option while they are chosen.
    """
    chosen = filters.get("event_type", "")
    if "," in chosen:
        yield chosen, messages.several_event_types(chosen.count(",") + 1), chosen.replace(",", ", ")
    for domain, subject in SUBJECTS.items():
        yield f"{domain}.*", messages.all_events(subject), f"{domain}.*"
        for name in EVENTS:
            kind = name.removeprefix(f"{domain}.")
            if kind != name:
                yield name, f"{subject}: {kind.replace('_', ' ').replace('.', ' ')}", name


@pages.get("/audit/tickets")
def suggested_tickets() -> Response:
    """The tickets that match what is typed, as options that keep the other filters."""
    typed = request.args.get("ticket", "").strip()[:MAX_TICKET_LENGTH]
    filters = read_filters(*AUDIT_FILTERS)
    with reading():
        found = tickets_like(actor(), None, typed) if typed else []
    options = [
        Option(
            one["display_id"],
            one["title"],
            address(PATH, {**filters, "ticket": one["display_id"]}),
            is_chosen=False,
        )
        for one in found
    ]
    return html(render("audit/_options.html", options=options))


def _news_url(filters: dict[str, str], newest: str) -> str:
    return address("/audit/news", filters, newest=newest)


@pages.get("/audit/news")
def news() -> Response:
    """The number of events newer than the page; 204, which swaps nothing, without any."""
    filters = read_filters(*AUDIT_FILTERS)
    newest = id_or_nil(request.args.get("newest", ""))
    with reading():
        events = service.list_events(
            actor(), limit=MAX_COUNT, cursor=None, **_arguments(filters)
        ).data
    excluded = () if "event_type" in filters else HOUSEKEEPING
    count = sum(event["id"] > newest and event["event_type"] not in excluded for event in events)
    if not count:
        return Response(status=204)
    return html(
        render(
            "audit/_news.html",
            count=count,
            is_many=count == MAX_COUNT,
            here=address(PATH, filters),
            news_url=_news_url(filters, newest),
        )
    )


def _arguments(filters: dict[str, str]) -> dict[str, Any]:
    """The filters as arguments of ``list_events``, with ids instead of names."""
    arguments: dict[str, Any] = {"since": since(filters)}
    event_type = filters.get("event_type")
    if event_type is not None:
        arguments["event_types"] = [
            name
            for name in EVENTS
            if any(_is_of_type(name, pattern) for pattern in event_type.split(","))
        ]
    if filters.get("category") in set(Category):
        arguments["category"] = filters["category"]
    if "actor" in filters:
        arguments["actor_user_id"] = user_id(filters["actor"])
    if "project" in filters:
        project_id = select(Project.id).where(Project.key == filters["project"].upper())
        arguments["project_id"] = session.scalar(project_id) or NIL_ID
    if "ticket" in filters:
        arguments["ticket_id"] = _ticket_id(filters["ticket"])
    if "request_id" in filters:
        arguments["request_id"] = id_or_nil(filters["request_id"])
    return arguments


def _is_of_type(name: str, pattern: str) -> bool:
    """Whether the pattern is the name of the event type, or a prefix of it such as ``ticket.*``."""
    prefix = pattern.removesuffix("*")
    return name == pattern or (prefix.endswith(".") and name.startswith(prefix))


def _ticket_id(reference: str) -> str:
    if is_display_id(reference.upper()):
        ticket_id = select(Ticket.id).where(Ticket.display_id == reference.upper())
        return session.scalar(ticket_id) or NIL_ID
    return id_or_nil(reference)


@pages.get("/audit/events/<event_id>")
def show_event(event_id: str) -> Response:
    with reading():
        (event,) = in_words([service.get_event(actor(), event_id)])
        row = session.get_one(AuditEvent, event["id"])
        is_undone = bool(bot_review.undone_of([row]))
        receipt = answered_receipt(row.id, row.receipt)
    reader = actor().user_id
    changes = event["payload"].get("changes")
    written = orjson.dumps(event["payload"], option=orjson.OPT_INDENT_2).decode()
    return page(
        "audit/event.html",
        block="event",
        event=event,
        changes=changes if isinstance(changes, dict) else {},
        written=written,
        words=what_was_read(receipt, row.ticket_id),
        is_undone=is_undone,
        may_be_undone=may_be_undone(event["event_type"], event["actor_user_id"], reader),
    )


@pages.get("/audit/export")
def export() -> Response:
    """The newest events of the filter as JSON lines, or with ``format=csv`` as CSV."""
    require(Lane.LONG)
    is_csv = request.args.get("format") == "csv"
    with reading():
        arguments = _arguments(read_filters(*AUDIT_FILTERS))
    chunks = _csv(actor(), arguments) if is_csv else _jsonl(actor(), arguments)
    # Read the first batch before the response starts, so that an outage shows an error page.
    body = chain([next(chunks)], chunks)
    if is_csv:
        return streamed(body, "text/csv", "audit.csv")
    return streamed(body, "application/x-ndjson", "audit.jsonl")


def _batches(reader: Actor, arguments: dict[str, Any], *, with_sentences: bool) -> Iterator[Events]:
    """Batches of events, at least one."""
    cursor: str | None = None
    for _ in range(MAX_EXPORTED_EVENTS // BATCH):
        with reading():
            listed = service.list_events(reader, limit=BATCH, cursor=cursor, **arguments)
            events = in_words(listed.data) if with_sentences else listed.data
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
