"""The tool log: one row for each call of a tool, and the event that points at it.

Both are written right after the call, in a transaction of their own: a call whose log could not be
written stands, and ``audit.orphaned`` says so (decisions.md, section 5.1).
"""

from typing import Any, cast

import orjson
from sqlalchemy import Table, insert

from app.audit.models import ToolInvocation
from app.audit.service import Target, record, recording
from app.core import ids
from app.core.actor import Actor
from app.core.context import request_id
from app.core.db import Prepared
from app.core.redaction import redact, scrub

ARGUMENTS_BYTES = 4096
NAME_LENGTH = 128
MESSAGE_LENGTH = 1000
TRUNCATED = "<truncated>"
OK = "ok"

_INSERT = Prepared(insert(cast("Table", ToolInvocation.__table__)))


def write(
    actor: Actor, tool_name: str, arguments: Any, *, status: str, message: str | None, took: float
) -> None:
    """Log one call, in a transaction of its own; ``took`` is in seconds."""
    recording(
        "bot.tool_invoked",
        lambda: note(actor, tool_name, arguments, status=status, message=message, took=took),
        hasty=True,
    )


def note(
    actor: Actor, tool_name: str, arguments: Any, *, status: str, message: str | None, took: float
) -> None:
    """As ``write``, in the transaction at hand; ``status`` is ``ok`` or the error's code."""
    name = scrub(tool_name.replace("\x00", ""))[:NAME_LENGTH]
    duration_ms = round(took * 1000)
    identifier = ids.new_id()
    _INSERT.all(
        id=identifier,
        bot_user_id=actor.id,
        tool_name=name,
        arguments=shown(arguments),
        result_status=status,
        error_message=scrub(message)[:MESSAGE_LENGTH] if message else None,
        duration_ms=duration_ms,
        request_id=request_id.get(),
        created_at=ids.created_ms(identifier),
    )
    record(
        actor,
        "bot.tool_invoked",
        Target("tool_invocation", identifier, tool_invocation_log_id=identifier),
        tool_name=name,
        result_status=status,
        duration_ms=duration_ms,
    )


def shown(arguments: Any) -> Any:
    """The arguments without secrets, in at most 4 KiB: over-long texts give way to a marker."""
    cleaned = _cleaned(redact(arguments))
    for longest in (512, 64, 8):
        if _size(cleaned) <= ARGUMENTS_BYTES:
            return cleaned
        cleaned = _cut(cleaned, longest)
    return cleaned if _size(cleaned) <= ARGUMENTS_BYTES else {TRUNCATED: True}


def _size(value: Any) -> int:
    return len(orjson.dumps(value))


def _cleaned(value: Any) -> Any:
    """Texts without tokens of ours, and without what PostgreSQL's JSON cannot hold."""
    if isinstance(value, str):
        return scrub(value.replace("\x00", "�"))
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items()}
    return value


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return TRUNCATED if len(value.encode()) > longest else value
    if isinstance(value, list):
        return [_cut(inner, longest) for inner in value]
    if isinstance(value, dict):
        return {key[:NAME_LENGTH]: _cut(inner, longest) for key, inner in value.items()}
    return value
