"""The tool log: one row for each call of a tool, and the event that points at it.

Both are written right after the call and before its answer goes out, in a transaction of their own,
which calls share that wait for the same writer. A call whose log could not be written stands, and
``audit.orphaned`` says so.
"""

from dataclasses import dataclass
from typing import Any, cast

import orjson
from sqlalchemy import Table, insert

from app.audit.models import ToolInvocation
from app.audit.service import Target, or_orphaned, record
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


def entry(
    actor: Actor, tool_name: str, arguments: Any, *, status: str, message: str | None, took: float
) -> Entry:
    """What is kept of a call of the request at hand, without secrets.

    ``status`` is ``ok`` or the error's code, ``took`` is in seconds.
    """
    return Entry(
        actor,
        scrub(tool_name.replace("\x00", ""))[:NAME_LENGTH],
        shown(arguments),
        status,
        scrub(message.replace("\x00", ""))[:MESSAGE_LENGTH] if message else None,
        round(took * 1000),
        request_id.get(),
    )


def gathering() -> GroupCommit[Entry]:
    """The log of one application's calls."""
    # It says that something was asked, and nothing of a change, so its commit need not wait.
    return GroupCommit(write, async_commit=True)


def log(
    calls: GroupCommit[Entry],
    actor: Actor,
    tool_name: str,
    arguments: Any,
    *,
    status: str,
    message: str | None,
    took: float,
) -> None:
    """Write down a call that has ended, together with those of other threads; never raises."""

    def writing() -> None:
        calls.do(entry(actor, tool_name, arguments, status=status, message=message, took=took))

    or_orphaned("bot.tool_invoked", writing)


def write(made: Entry) -> None:
    """Write down a call in the transaction at hand."""
    identifier = ids.new_id()
    _INSERT.all(
        id=identifier,
        bot_user_id=made.actor.id,
        tool_name=made.tool_name,
        arguments=made.arguments,
        result_status=made.status,
        error_message=made.message,
        duration_ms=made.duration_ms,
        request_id=made.request_id,
        created_at=ids.created_ms(identifier),
    )
    with on_behalf_of(made.request_id):
        record(
            made.actor,
            "bot.tool_invoked",
            Target("tool_invocation", identifier, tool_invocation_log_id=identifier),
            tool_name=made.tool_name,
            result_status=made.status,
            duration_ms=made.duration_ms,
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
