"""The pages of the audit log and of the tool log: filters, rows, single events, an export."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import urlencode

import orjson
from flask import Blueprint, Response, request
from sqlalchemy import select

from app.accounts import user_refs
from app.accounts.models import User
from app.activity import bot_review, service
from app.activity.sentences import in_words
from app.activity.service import ERROR, OK
from app.audit.catalogue import EVENTS, Category, may_be_undone
from app.audit.models import AuditEvent, ToolInvocation
from app.core.actor import Access, Actor, operation
from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.core.errors import InvalidField
from app.core.ids import as_uuid, is_display_id
from app.core.lanes import Lane, require
from app.database.session import reading, session
from app.projects.models import Project
from app.tickets.models import Ticket
from app.web.downloads import line, streamed
from app.web.guard import actor
from app.web.render import go, html, page, render

pages = Blueprint("audit_pages", __name__)

ROWS = 50
DEFAULT_SPAN = "24h"
# The length of a span in milliseconds, and its name.
SPANS: dict[str, tuple[int | None, str]] = {
    "1h": (HOUR_MS, "Last hour"),
    "24h": (DAY_MS, "Last 24 hours"),
    "7d": (7 * DAY_MS, "Last 7 days"),
    "30d": (30 * DAY_MS, "Last 30 days"),
    "all": (None, "All time"),
}
# The filter value that stands for an unknown name; it matches no row.
NO_ID = "00000000-0000-0000-0000-000000000000"

AUDIT_FILTERS = ("actor", "event_type", "category", "project", "ticket", "request_id")
CATEGORIES = [
    (Category.ACTIVITY.value, "Activity"),
    (Category.AUDIT_ONLY.value, "Audit log only"),
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

TOOL_LOG = "/audit/tools"
TOOL_FILTERS = ("bot", "tool_name", "status", "request_id")
STATUSES = [(OK, "Succeeded"), (ERROR, "Failed")]
# The figures cover the newest calls up to this number; more would take seconds to read.
MOST_CALLS = 20_000


@pages.get("/audit")
def index() -> Response:
    filters = read_filters(*AUDIT_FILTERS)
    cursor = request.args.get("cursor") or None
    with reading():
        try:
            listed = service.list_events(actor(), limit=ROWS, cursor=cursor, **_arguments(filters))
        except InvalidField:
            # The cursor is broken: start at the first page.
            return go(address("/audit", filters))
        events = in_words(listed.data)
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
    filters = read_filters(*AUDIT_FILTERS)
    newest = _uuid(request.args.get("newest", ""))
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
        arguments["actor_user_id"] = _user_id(filters["actor"])
    if "project" in filters:
        project_id = select(Project.id).where(Project.key == filters["project"].upper())
        arguments["project_id"] = session.scalar(project_id) or NO_ID
    if "ticket" in filters:
        arguments["ticket_id"] = _ticket_id(filters["ticket"])
    if "request_id" in filters:
        arguments["request_id"] = _uuid(filters["request_id"])
    return arguments


def _is_of_type(name: str, pattern: str) -> bool:
    """Whether the pattern is the name of the event type, or a prefix of it such as ``ticket.*``."""
    prefix = pattern.removesuffix("*")
    return name == pattern or (prefix.endswith(".") and name.startswith(prefix))


def _ticket_id(reference: str) -> str:
    if is_display_id(reference.upper()):
        ticket_id = select(Ticket.id).where(Ticket.display_id == reference.upper())
        return session.scalar(ticket_id) or NO_ID
    return _uuid(reference)


def _user_id(username: str) -> str:
    return session.scalar(select(User.id).where(User.username == username.lower())) or NO_ID


def _uuid(sent: str) -> str:
    return as_uuid(sent) or NO_ID


@pages.get("/audit/events/<event_id>")
def show_event(event_id: str) -> Response:
    with reading():
        (event,) = in_words([service.get_event(actor(), event_id)])
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
        arguments = _arguments(read_filters(*AUDIT_FILTERS))
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


@dataclass(frozen=True, slots=True)
class Figures:
    """The calls of one tool, how many of them failed, and their durations in milliseconds."""

    tool: str
    calls: int
    errors: int
    p50: int
    p95: int

    @property
    def error_percent(self) -> int:
        return round(100 * self.errors / self.calls)


@operation(Access.HUMAN)
def tool_figures(actor: Actor, *, since: int) -> list[Figures]:
    """The figures of each tool called since a time (milliseconds), the busiest first."""
    rows = session.execute(
        select(ToolInvocation.tool_name, ToolInvocation.duration_ms, ToolInvocation.result_status)
        .where(ToolInvocation.created_at >= since)
        .order_by(ToolInvocation.created_at.desc())
        .limit(MOST_CALLS)
    )
    durations: dict[str, list[int]] = defaultdict(list)
    errors: dict[str, int] = defaultdict(int)
    for row in rows:
        durations[row.tool_name].append(row.duration_ms)
        errors[row.tool_name] += row.result_status != OK
    figures = [_figures(tool, sorted(times), errors[tool]) for tool, times in durations.items()]
    return sorted(figures, key=lambda one: (-one.calls, one.tool))


def _figures(tool: str, durations: list[int], errors: int) -> Figures:
    last = len(durations) - 1
    p50, p95 = durations[last // 2], durations[round(last * 0.95)]
    return Figures(tool, len(durations), errors, p50, p95)


@pages.get(TOOL_LOG)
def tool_log() -> Response:
    filters = read_filters(*TOOL_FILTERS)
    start = since(filters)
    with reading():
        try:
            listed = service.list_invocations(
                actor(),
                limit=ROWS,
                cursor=request.args.get("cursor") or None,
                since=start,
                bot_id=_user_id(filters["bot"]) if "bot" in filters else None,
                tool_name=filters.get("tool_name"),
                status=filters.get("status") if filters.get("status") in (OK, ERROR) else None,
                request_id=_uuid(filters["request_id"]) if "request_id" in filters else None,
            )
        except InvalidField:
            return go(address(TOOL_LOG, filters))
        bots = user_refs.summaries(row["bot_user_id"] for row in listed.data)
        figures = tool_figures(actor(), since=start or 0)
    return page(
        "audit/tools.html",
        block="results",
        calls=[_shown(row, bots) for row in listed.data],
        figures=figures,
        statuses=STATUSES,
        **navigation(TOOL_LOG, filters, listed.next_cursor),
    )


def _shown(row: dict[str, Any], bots: dict[str, Any]) -> dict[str, Any]:
    written = orjson.dumps(row["arguments"], option=orjson.OPT_INDENT_2).decode()
    return {**row, "bot": bots.get(row["bot_user_id"]), "written": written}


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
