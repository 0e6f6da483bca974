"""Reading the tool log: what bots called, how it ended and how long it took."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from app.audit.models import ToolInvocation
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.clock import iso
from app.database.pagination import Page, page
from app.database.session import AnyRow

OK = "ok"
ERROR = "error"


def invocation_json(row: ToolInvocation) -> dict[str, Any]:
    """A row of the tool log."""
    return {
        "id": row.id,
        "bot_user_id": row.bot_user_id,
        "tool_name": row.tool_name,
        "arguments": row.arguments,
        "status": OK if row.result_status == OK else ERROR,
        "result_status": row.result_status,
        "error_message": row.error_message,
        "duration_ms": row.duration_ms,
        "request_id": row.request_id,
        "created_at": iso(row.created_at),
    }


def _build(rows: Sequence[AnyRow]) -> list[dict[str, Any]]:
    return [invocation_json(row.ToolInvocation) for row in rows]


@operation(Access.HUMAN)
def list_invocations(
    actor: Actor,
    /,
    *,
    limit: int,
    cursor: str | None,
    bot_id: str | None = None,
    tool_name: str | None = None,
    since: int | None = None,
    until: int | None = None,
    status: str | None = None,
    request_id: str | None = None,
) -> Page:
    """The tool log, newest first; ``status`` is ``ok`` or ``error``, times are in milliseconds.

    Raises InvalidField.
    """
    if tool_name is not None:
        text.checked(tool_name, "tool_name", len(tool_name))
    statement = select(ToolInvocation, ToolInvocation.id, ToolInvocation.created_at)
    equal = {
        ToolInvocation.bot_user_id: bot_id,
        ToolInvocation.tool_name: tool_name,
        ToolInvocation.request_id: request_id,
    }
    for column, value in equal.items():
        if value is not None:
            statement = statement.where(column == value)
    if since is not None:
        statement = statement.where(ToolInvocation.created_at >= since)
    if until is not None:
        statement = statement.where(ToolInvocation.created_at <= until)
    if status is not None:
        is_ok = ToolInvocation.result_status == OK
        statement = statement.where(is_ok if status == OK else ~is_ok)
    return page(
        statement,
        kind="tool_invocation",
        sort=ToolInvocation.created_at,
        id_column=ToolInvocation.id,
        limit=limit,
        cursor=cursor,
        build=_build,
    )
