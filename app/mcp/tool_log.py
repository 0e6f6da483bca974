"""The tool log: for each tool call one row, and the event that points to it.

Both are written after the call and before its answer is sent, in a separate transaction, which
concurrent calls share. If the log cannot be written, the call stands; ``audit.orphaned`` says so.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
from sqlalchemy import Table, bindparam, insert, text

from app.audit.models import ToolInvocation
from app.audit.service import Target, record
from app.core import ids
from app.core.actor import Actor
from app.core.ids import on_behalf_of, request_id
from app.core.logs import redact, scrub
from app.database.columns import Id
from app.database.group_commit import GroupCommit
from app.database.session import Prepared
from app.mcp.jsonrpc import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION

ARGUMENTS_BYTES = 4096
NAME_LENGTH = 128
MESSAGE_LENGTH = 1000
TRUNCATED = "<truncated>"
OK = "ok"
# The status in the tool log of a call that is refused before its tool is looked up.
REFUSED_STATUSES = {
    INVALID_PARAMS: "invalid_params",
    HEADER_MISMATCH: "header_mismatch",
    UNSUPPORTED_VERSION: "unsupported_version",
}

# One call of a model uses far less; more than this is a client's error.
MAX_TOKENS = 1_000_000_000
MAX_COST_USD = 10_000
# The W3C form, version 00; ids of zeros are not valid.
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")

_INSERT = Prepared(insert(cast("Table", ToolInvocation.__table__)))


def _adding(condition: str, key: str) -> Prepared:
    """Add what a call used to the row of its bot, or of its bot and ticket."""
    sums = ", ".join(
        f"{name} = bot_usage.{name} + excluded.{name}"
        for name in ("calls", "input_tokens", "output_tokens", "cost_micros")
    )
    statement = (
        "INSERT INTO bot_usage "  # noqa: S608 - constants
        "(id, bot_user_id, ticket_id, calls, input_tokens, output_tokens, cost_micros) VALUES "
        "(:id, :bot_user_id, :ticket_id, 1, :input_tokens, :output_tokens, :cost_micros) "
        f"ON CONFLICT ({key}) WHERE {condition} DO UPDATE SET {sums}"
    )
    ids_bound = (bindparam(name, type_=Id) for name in ("id", "bot_user_id", "ticket_id"))
    return Prepared(text(statement).bindparams(*ids_bound).columns())


_ADD_TO_BOT = _adding("ticket_id IS NULL", "bot_user_id")
_ADD_TO_TICKET = _adding("ticket_id IS NOT NULL", "ticket_id, bot_user_id")


@dataclass(frozen=True, slots=True)
class Annotations:
    """The data that a client sends about a call in ``_meta``.

    The protocol lets clients send anything there, so invalid values are ignored.
    """

    traceparent: str | None = None
    # ``input_tokens``, ``output_tokens`` and ``cost_usd``.
    usage: dict[str, int | float] | None = None


def annotations(meta: Any) -> Annotations:
    if not isinstance(meta, Mapping):
        return Annotations()
    trace = meta.get("traceparent")
    is_trace = isinstance(trace, str) and _TRACEPARENT.fullmatch(trace) is not None
    return Annotations(trace if is_trace else None, _usage(meta.get("usage")))


def _usage(sent: Any) -> dict[str, int | float] | None:
    if not isinstance(sent, Mapping):
        return None
    tokens = [sent.get(name, 0) for name in ("input_tokens", "output_tokens")]
    cost = sent.get("cost_usd", 0)
    are_tokens = all(type(one) is int and 0 <= one <= MAX_TOKENS for one in tokens)
    # NaN fails the comparison.
    is_cost = type(cost) in (int, float) and 0 <= cost <= MAX_COST_USD
    if not are_tokens or not is_cost or not any((*tokens, cost)):
        return None
    return {"input_tokens": tokens[0], "output_tokens": tokens[1], "cost_usd": cost}


@dataclass(frozen=True, slots=True)
class Entry:
    """The log data of a call; any thread can write it."""

    actor: Actor
    tool_name: str
    arguments: Any
    status: str
    message: str | None
    duration_ms: int
    request_id: str | None
    # Further writes that go with the row.
    log_writes: tuple[Callable[[], object], ...] = ()
    annotations: Annotations = field(default_factory=Annotations)
    # The ticket that the call was about.
    ticket_id: str | None = None


def entry(
    actor: Actor,
    tool_name: str,
    arguments: Any,
    *,
    status: str,
    message: str | None,
    took: float,
    log_writes: Iterable[Callable[[], object]] = (),
    noted: Annotations | None = None,
    ticket_id: str | None = None,
) -> Entry:
    """The log data of a call in the current request, without secrets.

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
        tuple(log_writes),
        noted or Annotations(),
        ticket_id,
    )


def writer() -> GroupCommit[Entry]:
    # An entry records a call and changes nothing, so its commit need not wait for the disk.
    return GroupCommit(write, async_commit=True)


def write(logged: Entry) -> None:
    """Write the row and the event in the current transaction."""
    for work in logged.log_writes:
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
        traceparent=logged.annotations.traceparent,
        usage=logged.annotations.usage,
    )
    if logged.annotations.usage is not None:
        _add_up(logged, logged.annotations.usage)
    with on_behalf_of(logged.request_id):
        record(
            logged.actor,
            "bot.tool_invoked",
            Target("tool_invocation", identifier, tool_invocation_log_id=identifier),
            tool_name=logged.tool_name,
            result_status=logged.status,
            duration_ms=logged.duration_ms,
        )


def _add_up(logged: Entry, usage: Mapping[str, int | float]) -> None:
    """Add to the totals of the bot and, if the call was about a ticket, of the ticket."""
    used = {
        "bot_user_id": logged.actor.id,
        "input_tokens": usage["input_tokens"],
        "output_tokens": usage["output_tokens"],
        "cost_micros": round(usage["cost_usd"] * 1_000_000),
    }
    _ADD_TO_BOT.all(id=ids.new_id(), ticket_id=None, **used)
    if logged.ticket_id is not None:
        _ADD_TO_TICKET.all(id=ids.new_id(), ticket_id=logged.ticket_id, **used)


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
    """Remove Docket's tokens, and NUL, which PostgreSQL's JSON cannot hold."""
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
