"""The methods of the protocol, in legacy and modern versions; ``Invocation`` is ``tools/call``."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from app.audit import service as audit
from app.core import measuring, text
from app.core.actor import ANONYMOUS, Actor
from app.core.errors import DomainError, InvalidCredentials, InvalidField, NotFound, Unavailable
from app.core.lanes import require
from app.core.logs import scrub
from app.core.messages import WENT_WRONG
from app.core.waiting import NewsAwaited
from app.database import idempotency, pagination
from app.database.session import reading, run_write
from app.http.current import current_g
from app.mcp import messages, parameters, tool_log
from app.mcp.jsonrpc import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    SUPPORTED,
    Message,
    ProtocolError,
    negotiated,
    refusal,
    tool_result,
)
from app.mcp.parameters import CLIENT_REQUEST_ID, IDEMPOTENCY_KEY
from app.mcp.registry import DETAIL, FULL, EndpointConfig, LogWrites, Tool, ToolCall

log = logging.getLogger(__name__)

MAX_LISTED_RESOURCES = 500
RESOURCES_SHOWN = 50
# The kind of the cursors of ``resources/list``.
CURSOR_KIND = "resource"
RESOURCE_READ = "bot.resource_read"
URI_LENGTH = 512
CLIENT_REQUEST_ID_LENGTH = 128
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
# The maximum length of an argument of a prompt.
PROMPT_LENGTH = 4_000
# How long clients may cache an answer that stays the same while the server runs.
CONSTANT_TTL_MS = 300_000


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A message, its sender, and whether it uses a modern version."""

    config: EndpointConfig
    actor: Actor
    message: Message
    is_modern: bool

    @property
    def error_status(self) -> int:
        """The HTTP status of a refusal: legacy clients expect 200."""
        return 400 if self.is_modern else 200


@dataclass(frozen=True, slots=True)
class Method:
    """How a method is answered, how long its answer may be kept, and which versions have it."""

    answer: Callable[[MethodCall], dict[str, Any]]
    ttl_ms: int | None = None
    legacy: bool = True
    modern: bool = True


def method_of(message: Message, *, is_modern: bool) -> Method:
    """The method of a message; raises ProtocolError for one that this version does not have."""
    method = METHODS.get(message.method)
    if method is None or not (method.modern if is_modern else method.legacy):
        raise ProtocolError(
            METHOD_NOT_FOUND,
            messages.method_not_found(message.method[:128]),
            status=404 if is_modern else 200,
            request_id=message.id,
        )
    return method


def initialize(call: MethodCall) -> dict[str, Any]:
    """The handshake of legacy versions; it creates no session."""
    requested = call.message.params.get("protocolVersion")
    if not isinstance(requested, str):
        raise ProtocolError(INVALID_PARAMS, messages.VERSION_NOT_A_STRING, status=200)
    return {
        "protocolVersion": negotiated(requested),
        "capabilities": CAPABILITIES,
        "serverInfo": call.config.server,
        "instructions": call.config.catalog.instructions,
    }


def ping(_: MethodCall) -> dict[str, Any]:
    return {}


def discover(call: MethodCall) -> dict[str, Any]:
    """What modern versions offer instead of a handshake."""
    return {
        "supportedVersions": SUPPORTED,
        "capabilities": CAPABILITIES,
        "instructions": call.config.catalog.instructions,
    }


def list_tools(call: MethodCall) -> dict[str, Any]:
    """All tools on one page, in a fixed order, for read and write bots alike."""
    _refuse_cursor(call)
    return {"tools": call.config.catalog.tools_listing}


def _refuse_cursor(call: MethodCall) -> None:
    """Refuse any cursor: these lists have one page, so the server never issues one."""
    if call.message.params.get("cursor") is not None:
        raise _wrong_cursor(call)


def _wrong_cursor(call: MethodCall) -> ProtocolError:
    return ProtocolError(
        INVALID_PARAMS,
        messages.CURSOR_OF_ANOTHER_LIST,
        status=call.error_status,
        data={"code": "validation.invalid_field", "details": {"field": "cursor"}},
    )


def list_templates(call: MethodCall) -> dict[str, Any]:
    _refuse_cursor(call)
    return {"resourceTemplates": [kind.template for kind in call.config.catalog.kinds]}


def list_resources(call: MethodCall) -> dict[str, Any]:
    """The most recently updated resources that the bot can see, house rules first."""
    cursor = call.message.params.get("cursor")
    try:
        after = None if cursor is None else pagination.decode(str(cursor), CURSOR_KIND)
    except InvalidField as error:
        raise _wrong_cursor(call) from error
    with reading():
        listed = call.config.catalog.resources(call.actor, MAX_LISTED_RESOURCES, after)
    shown = listed[:RESOURCES_SHOWN]
    answer: dict[str, Any] = {"resources": [resource.listing for resource in shown]}
    if len(listed) > len(shown):
        last = pagination.Cursor(CURSOR_KIND, shown[-1].id, shown[-1].updated_at)
        answer["nextCursor"] = pagination.encode(last)
    return answer


def read_resource(call: MethodCall) -> dict[str, Any]:
    """One resource; every read is audited, refused ones too."""
    uri = call.message.params.get("uri")
    if not isinstance(uri, str):
        raise ProtocolError(INVALID_PARAMS, messages.URI_NOT_A_STRING, status=call.error_status)
    require(call.config.catalog.lane(uri))
    status = "ok"
    log_writes: LogWrites = []
    try:
        with reading():
            content = call.config.catalog.read(call.actor, uri, log_writes)
    except (InvalidCredentials, Unavailable):
        raise
    except DomainError as error:
        status = error.code
        # Nothing was read.
        log_writes.clear()
        raise ProtocolError(
            INVALID_PARAMS if call.is_modern else RESOURCE_NOT_FOUND,
            error.message,
            status=call.error_status,
            data={"uri": uri, "code": error.code},
        ) from error
    finally:
        shown = scrub(uri.replace("\x00", ""))[:URI_LENGTH]
        target, payload = audit.Target("resource"), {"uri": shown, "result_status": status}
        log_writes.append(lambda: audit.record(call.actor, RESOURCE_READ, target, **payload))
        if not audit.record_in_own_transaction(
            RESOURCE_READ, lambda: [write() for write in log_writes]
        ):
            current_g().reads_lost = call.actor.id
    return {"contents": [{"uri": uri, **content.json}]}


def list_prompts(call: MethodCall) -> dict[str, Any]:
    _refuse_cursor(call)
    return {"prompts": [prompt.listing for prompt in call.config.catalog.prompts.values()]}


def get_prompt(call: MethodCall) -> dict[str, Any]:
    """A prompt for this bot; a wrong name or argument is refused as invalid params."""
    params = call.message.params
    name, arguments = params.get("name"), params.get("arguments") or {}
    prompt = call.config.catalog.prompts.get(name) if isinstance(name, str) else None
    if prompt is None:
        raise ProtocolError(INVALID_PARAMS, messages.UNKNOWN_PROMPT, status=call.error_status)
    known = {argument: is_required for argument, _, is_required in prompt.arguments}
    fits = (
        isinstance(arguments, dict)
        and known.keys() >= arguments.keys()
        and all(isinstance(one, str) and len(one) <= PROMPT_LENGTH for one in arguments.values())
        and all(arguments.get(one, "").strip() for one, is_required in known.items() if is_required)
    )
    if not fits:
        named = ", ".join(messages.required(one) if known[one] else one for one in known)
        message = messages.prompt_arguments(named, PROMPT_LENGTH)
        raise ProtocolError(INVALID_PARAMS, message, status=call.error_status)
    try:
        with reading():
            content = {"type": "text", "text": prompt.render(call.actor, arguments)}
    except NotFound as error:
        raise ProtocolError(INVALID_PARAMS, error.message, status=call.error_status) from error
    return {"description": prompt.description, "messages": [{"role": "user", "content": content}]}


METHODS: dict[str, Method] = {
    "prompts/list": Method(list_prompts, CONSTANT_TTL_MS),
    "prompts/get": Method(get_prompt),
    "initialize": Method(initialize, modern=False),
    "ping": Method(ping, modern=False),
    "server/discover": Method(discover, CONSTANT_TTL_MS, legacy=False),
    "tools/list": Method(list_tools, CONSTANT_TTL_MS),
    "resources/list": Method(list_resources, 0),
    "resources/templates/list": Method(list_templates, CONSTANT_TTL_MS),
    "resources/read": Method(read_resource, 0),
}


@dataclass(slots=True)
class Invocation:
    """One ``tools/call``."""

    config: EndpointConfig
    token: str
    # Empty if the name that was sent is not a string.
    name: str
    arguments: dict[str, Any]
    idempotency_ttl_hours: int
    # An error that was found before the tool is looked up.
    problem: ProtocolError | None = None
    meta: Any = None
    actor: Actor = ANONYMOUS
    # The full answer; empty until the tool has returned.
    answer: dict[str, Any] = field(default_factory=dict)
    log_writes: LogWrites = field(default_factory=list)

    def run(self) -> dict[str, Any]:
        """Call the tool and log the call; a refusal by the domain is also a result.

        Raises InvalidCredentials, Unavailable, and ProtocolError for a malformed call or an unknown
        tool.
        """
        started = time.perf_counter()
        tool = self.config.catalog.tools.get(self.name)
        status, message = tool_log.OK, None
        try:
            if tool is None or self.problem is not None:
                with reading():
                    self._resolve()
            if self.problem is not None:
                status = tool_log.REFUSED_STATUSES[self.problem.code]
                raise self.problem
            if tool is None:
                status = "unknown_tool"
                raise ProtocolError(INVALID_PARAMS, messages.unknown_tool(self.name), status=200)
            return tool_result(self._call(tool))
        except ProtocolError as error:
            message = error.message
            raise
        except (InvalidCredentials, Unavailable, NewsAwaited):
            # Log nothing: there is no actor, the database is down, or the call will run again.
            self.actor = ANONYMOUS
            raise
        except DomainError as error:
            body = refusal(error, tool.parameters if tool else ())
            status, message = error.code, body["error"]["message"]
            audit.record_refusal(self.actor, error, self.name)
            return tool_result(body, is_error=True)
        except Exception:
            log.exception("a tool failed", extra={"tool": self.name})
            status, message = "server.internal", WENT_WRONG
            return tool_result({"error": {"code": status, "message": message}}, is_error=True)
        finally:
            if self.actor.is_bot:
                took = time.perf_counter() - started
                if measuring.measurements is not None:
                    measuring.measurements.tool_call(self.name, status, took)
                self._log(status, message, took)

    def _log(self, status: str, message: str | None, took: float) -> None:
        """Log the call together with those of other threads; never raises."""

        def write() -> None:
            noted = tool_log.annotations(self.meta)
            about = self.answer if noted.usage is not None and status == tool_log.OK else None
            entry = tool_log.entry(
                self.actor,
                self.name,
                self.arguments,
                status=status,
                message=message,
                took=took,
                # A failed call has shown nothing.
                log_writes=self.log_writes if status == tool_log.OK else (),
                noted=noted,
                ticket_id=self.config.catalog.ticket_of(self.actor, self.arguments, about),
            )
            self.config.call_log.do(entry)

        if not audit.write_or_record_orphan("bot.tool_invoked", write) and self.log_writes:
            current_g().reads_lost = self.actor.id

    def _resolve(self) -> Actor:
        self.actor = current_g().actor = self.config.resolve(self.token)
        return self.actor

    def _call(self, tool: Tool) -> dict[str, Any]:
        if not tool.writes:
            with reading():
                return self._call_in_transaction(tool)
        content = run_write(lambda: self._call_in_transaction(tool))
        if tool.after_commit is not None:
            is_full = self.arguments.get(DETAIL.name) == FULL
            content |= self.config.catalog.after_commit(tool, self.actor, content, is_full=is_full)
        return content

    def _call_in_transaction(self, tool: Tool) -> dict[str, Any]:
        """Check credential, kind of actor, arguments and idempotency key, as in REST; then call."""
        actor = self._resolve()
        tool.calls.admit(actor)
        arguments = parameters.load(tool.parameters, self.arguments, elsewhere=tool.elsewhere)
        echo = arguments.pop(CLIENT_REQUEST_ID.name, None)
        if echo is not None:
            text.checked(echo, CLIENT_REQUEST_ID.name, CLIENT_REQUEST_ID_LENGTH)
        is_full = arguments.pop(DETAIL.name, None) == FULL
        key = arguments.pop(IDEMPOTENCY_KEY.name, None)
        # A unit of work can run again.
        self.log_writes.clear()
        call = ToolCall(actor, arguments, self.log_writes, is_full)
        if key is None:
            answer = self.answer = self._answer(tool, call)
        else:
            sent = {**arguments, "client_request_id": echo}
            answer = self.answer = self._answer_once(tool, call, key, sent)
        return _with_echo(answer if is_full else self.config.catalog.lean(tool, call, answer), echo)

    def _answer_once(
        self, tool: Tool, call: ToolCall, key: str, sent: dict[str, Any]
    ) -> dict[str, Any]:
        """The full answer of the first call with this idempotency key and these arguments."""
        claimed = idempotency.claim(
            call.actor.id,
            idempotency.check_key(key, IDEMPOTENCY_KEY.name),
            idempotency.fingerprint("MCP", tool.name, sent),
            self.idempotency_ttl_hours,
        )
        if isinstance(claimed, idempotency.StoredAnswer):
            idempotency.judge_replay(lambda: tool.view(call))
            return cast("dict[str, Any]", orjson.loads(claimed.body))
        content = self._answer(tool, call)
        idempotency.keep(claimed, idempotency.StoredAnswer(201, orjson.dumps(content), {}))
        return content

    def _answer(self, tool: Tool, call: ToolCall) -> dict[str, Any]:
        """The tool's answer, with the ids of the events that ``undo`` accepts."""
        if not tool.writes:
            return tool.view(call)
        with audit.collecting() as events:
            content = tool.view(call)
        kind = f"{tool.events_of}."
        event_ids = [one.id for one in events if one.event_type.startswith(kind)]
        if event_ids:
            content = {**content, "event_ids": event_ids}
        return self.config.catalog.extend_answer(call, content, events)


def _with_echo(content: dict[str, Any], echo: str | None) -> dict[str, Any]:
    return content if echo is None else {**content, CLIENT_REQUEST_ID.name: echo}
