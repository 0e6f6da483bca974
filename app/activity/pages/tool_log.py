"""The page of the tool log: the calls of bots, and the figures of each tool."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Response, request
from sqlalchemy import select

from app.accounts import user_refs
from app.activity import messages, service
from app.activity.pages.audit_filters import (
    Menu,
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
from app.activity.pages.log import ROWS, pages
from app.activity.service import ERROR, OK
from app.audit.models import ToolInvocation
from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField
from app.database.session import reading, session
from app.web.guard import actor
from app.web.render import go, page

TOOL_LOG = "/audit/tools"
TOOL_FILTERS = ("bot", "tool_name", "status", "request_id")
STATUSES = [(OK, messages.SUCCEEDED, ""), (ERROR, messages.FAILED, "")]
# The figures cover this many of the newest calls; reading more would take seconds.
MAX_CALLS = 20_000


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
    """The figures of each tool called since a time (ms), the busiest first."""
    rows = session.execute(
        select(ToolInvocation.tool_name, ToolInvocation.duration_ms, ToolInvocation.result_status)
        .where(ToolInvocation.created_at >= since)
        .order_by(ToolInvocation.created_at.desc())
        .limit(MAX_CALLS)
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
    """The tool calls of bots, and the figures of each tool."""
    filters = read_filters(*TOOL_FILTERS)
    start = since(filters)
    with reading():
        try:
            listed = service.list_invocations(
                actor(),
                limit=ROWS,
                cursor=request.args.get("cursor") or None,
                since=start,
                bot_id=user_id(filters["bot"]) if "bot" in filters else None,
                tool_name=filters.get("tool_name"),
                status=filters.get("status") if filters.get("status") in (OK, ERROR) else None,
                request_id=id_or_nil(filters["request_id"]) if "request_id" in filters else None,
            )
        except InvalidField:
            return go(address(TOOL_LOG, filters))
        bots = user_refs.summaries(row["bot_user_id"] for row in listed.data)
        figures = tool_figures(actor(), since=start or 0)
        bots_offered = [one for one in people_offered() if one["type"] == "bot"]
    return page(
        "audit/tools.html",
        block="results",
        calls=[_shown(row, bots) for row in listed.data],
        figures=figures,
        menus=_menus(filters, bots_offered, [one.tool for one in figures if one.tool]),
        **navigation(TOOL_LOG, filters, listed.next_cursor),
    )


def _menus(
    filters: Mapping[str, str], bots: Sequence[Mapping[str, Any]], tools: Sequence[str]
) -> list[Menu]:
    named = [(one["username"], one["display_name"], one["username"]) for one in bots]
    called = [(one, one, "") for one in sorted(tools)]
    return [
        time_menu(TOOL_LOG, filters),
        menu(TOOL_LOG, filters, "bot", messages.BOT, messages.ANY_BOT, named),
        menu(TOOL_LOG, filters, "tool_name", messages.TOOL, messages.ANY_TOOL, called),
        menu(TOOL_LOG, filters, "status", messages.RESULT, messages.ANY_RESULT, STATUSES),
    ]


def _shown(row: dict[str, Any], bots: dict[str, Any]) -> dict[str, Any]:
    written = orjson.dumps(row["arguments"], option=orjson.OPT_INDENT_2).decode()
    return {**row, "bot": bots.get(row["bot_user_id"]), "written": written}
