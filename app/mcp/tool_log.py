"""The tool log: for each call of a tool one row, and the event that points at it.

Both are written after the call and before its answer is sent, in a transaction of their own, which
concurrent calls share. A call stands even if its log cannot be written; ``audit.orphaned`` says so.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import orjson
from sqlalchemy import Table, insert

from app.audit.models import ToolInvocation
from app.audit.service import Target, record
from app.core import ids
from app.core.actor import Actor
from app.core.context import on_behalf_of, request_id
from app.core.redaction import redact, scrub
from app.database.group_commit import GroupCommit
from app.database.session import Prepared

ARGUMENTS_BYTES = 4096
NAME_LENGTH = 128
MESSAGE_LENGTH = 1000
TRUNCATED = "<truncated>"
OK = "ok"

_INSERT = Prepared(insert(cast("Table", ToolInvocation.__table__)))


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of a call; any thread can write it."""

    actor: Actor
    tool_name: str
    arguments: Any
    status: str
    message: str | None
    duration_ms: int
    request_id: str | None
    # What else is written with the row.
    also: tuple[Callable[[], object], ...] = ()


def entry(
    actor: Actor,
    tool_name: str,
    arguments: Any,
    *,
    status: str,
    message: str | None,
    took: float,
    also: Iterable[Callable[[], object]] = (),
) -> Entry:
    """What is kept of a call in the current request, without secrets.

    ``status`` is ``ok`` or the error's code; ``took`` is in seconds.
    """
    return Entry(
        actor,
        scrub(tool_name.replace("\x00", ""))[:NAME_LENGTH],
        shown(arguments),
        status,
        scrub(message.replace("\x00", ""))[:MESSAGE_LENGTH] if message else None,
        round(took * 1000),
        request_id.get(),
        tuple(also),
    )


def writer() -> GroupCommit[Entry]:
    # An entry records a call and changes nothing, so its commit need not wait for the disk.
    return GroupCommit(write, async_commit=True)


def write(logged: Entry) -> None:
    """Write the row and the event in the current transaction."""
    for work in logged.also:
        work()
    identifier = ids.new_id()
    _INSERT.all(
        id=identifier,
        bot_user_id=logged.actor.id,
        tool_name=logged.tool_name,
        arguments=logged.arguments,
        result_status=logged.status,
        error_message=logged.message,
        duration_ms=logged.duration_ms,
        request_id=logged.request_id,
        created_at=ids.created_ms(identifier),
    )
    with on_behalf_of(logged.request_id):
        record(
            logged.actor,
            "bot.tool_invoked",
            Target("tool_invocation", identifier, tool_invocation_log_id=identifier),
            tool_name=logged.tool_name,
            result_status=logged.status,
            duration_ms=logged.duration_ms,
        )


def shown(arguments: Any) -> Any:
    """The arguments without secrets, in at most 4 KiB: long texts are replaced by a marker."""
    shortened = _clean(redact(arguments))
    for length in (512, 64, 8):
        if _size(shortened) <= ARGUMENTS_BYTES:
            return shortened
        shortened = _shorten(shortened, length)
    return shortened if _size(shortened) <= ARGUMENTS_BYTES else {TRUNCATED: True}


def _size(value: Any) -> int:
    return len(orjson.dumps(value))


def _clean(value: Any) -> Any:
    """Remove our tokens, and the NUL that PostgreSQL's JSON cannot hold."""
    if isinstance(value, str):
        return scrub(value.replace("\x00", "�"))
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    return value


def _shorten(value: Any, length: int) -> Any:
    if isinstance(value, str):
        return TRUNCATED if len(value.encode()) > length else value
    if isinstance(value, list):
        return [_shorten(inner, length) for inner in value]
    if isinstance(value, dict):
        return {key[:NAME_LENGTH]: _shorten(inner, length) for key, inner in value.items()}
    return value
