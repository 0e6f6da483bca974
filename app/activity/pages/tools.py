"""The tool log as people read it: what bots call, how often it fails, how long it takes."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Response, request
from sqlalchemy import select

from app.accounts import user_refs
from app.accounts.models import User
from app.activity.pages.blueprint import (
    DEFAULT_SPAN,
    ROWS,
    SPAN_NAMES,
    address,
    pages,
    read_filters,
    since,
)
from app.activity.tool_log import ERROR, OK, list_invocations
from app.audit.models import ToolInvocation
from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField
from app.core.ids import as_uuid
from app.database.session import reading, session
from app.web.guard import actor
from app.web.render import go, page

# The newest calls of the span; more would tell nothing else and cost seconds.
MOST_CALLS = 20_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one tool: calls, how many ended in an error, and durations in milliseconds."""

    tool: str
    calls: int
    errors: int
    p50: int
    p95: int

    @property
    def error_percent(self) -> int:
        """The share of calls that ended in an error."""
        return round(100 * self.errors / self.calls)


@operation(Access.HUMAN)
def tool_figures(actor: Actor, *, since: int) -> list[Figures]:
    """The figures of each tool that was called since then (milliseconds), the busiest first."""
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
        errors[row.tool_name] += row.result_status != "ok"
    found = [_figures(tool, sorted(took), errors[tool]) for tool, took in durations.items()]
    return sorted(found, key=lambda one: (-one.calls, one.tool))


def _figures(tool: str, took: list[int], errors: int) -> Figures:
    last = len(took) - 1
    return Figures(tool, len(took), errors, took[last // 2], took[round(last * 0.95)])


FILTERS = ("bot", "tool_name", "status", "request_id")
STATUSES = [(OK, "Succeeded"), (ERROR, "Failed")]
NOTHING = "00000000-0000-0000-0000-000000000000"


@pages.get("/audit/tools")
def tool_log() -> Response:
    """Show the calls of bots, the newest first, and the figures of each tool."""
    chosen = read_filters(*FILTERS)
    began = since(chosen)
    with reading():
        try:
            found = list_invocations(
                actor(),
                limit=ROWS,
                cursor=request.args.get("cursor") or None,
                since=began,
                bot_id=_bot_id(chosen.get("bot")),
                tool_name=chosen.get("tool_name"),
                status=chosen.get("status") if chosen.get("status") in (OK, ERROR) else None,
                request_id=_request_id(chosen.get("request_id")),
            )
        except InvalidField:
            return go(address("/audit/tools", chosen))
        bots = user_refs.summaries(row["bot_user_id"] for row in found.data)
        figures = tool_figures(actor(), since=began or 0)
    return page(
        "audit/tools.html",
        block="results",
        calls=[_shown(row, bots) for row in found.data],
        figures=figures,
        chosen=chosen,
        span=chosen.get("span", DEFAULT_SPAN),
        spans=SPAN_NAMES,
        statuses=STATUSES,
        first_url=address("/audit/tools", chosen) if request.args.get("cursor") else "",
        next_url=address("/audit/tools", chosen, cursor=found.next_cursor)
        if found.next_cursor
        else "",
    )


def _request_id(sent: str | None) -> str | None:
    """The id as it is stored; of no request where it is none."""
    return None if sent is None else as_uuid(sent) or NOTHING


def _bot_id(username: str | None) -> str | None:
    if username is None:
        return None
    return session.scalar(select(User.id).where(User.username == username.lower())) or NOTHING


def _shown(row: dict[str, Any], bots: dict[str, Any]) -> dict[str, Any]:
    written = orjson.dumps(row["arguments"], option=orjson.OPT_INDENT_2).decode()
    return {**row, "bot": bots.get(row["bot_user_id"]), "written": written}
