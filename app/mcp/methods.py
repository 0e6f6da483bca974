"""The methods of the protocol, in both versions."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.audit.service import Target, record_refusal, record_separately
from app.core import text
from app.core.actor import ANONYMOUS, Actor
from app.core.clock import iso
from app.core.errors import DomainError, InvalidCredentials, NotFound, Unavailable
from app.core.redaction import scrub
from app.database import idempotency
from app.database.session import reading, run_write
from app.http.current import current_g
from app.mcp import arguments, protocol_versions, tool_log
from app.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Message,
    ProtocolError,
    refusal,
    tool_result,
)
from app.mcp.parameters import CLIENT_REQUEST_ID, IDEMPOTENCY_KEY
from app.mcp.registry import EndpointConfig, Resource, Tool, ToolCall

log = logging.getLogger(__name__)

CLIENT_REQUEST_ID_LENGTH = 128
# What the log says of calls that are refused before any tool is looked for.
STATUS_OF = {
    INVALID_PARAMS: "invalid_params",
    HEADER_MISMATCH: "header_mismatch",
    UNSUPPORTED_VERSION: "unsupported_version",
}


@dataclass(slots=True)
class Invocation:
    """One ``tools/call`` on its way."""

    door: EndpointConfig
    token: str
    # As sent, or empty where that is no text.
    name: str
    sent: dict[str, Any]
    ttl_hours: int
    # What is wrong with the call before any tool is looked for.
    problem: ProtocolError | None = None
    actor: Actor = field(default=ANONYMOUS)

    def run(self) -> dict[str, Any]:
        """Call the tool and log it; a refusal of the domain is a result too.

        Raises InvalidCredentials, Unavailable, and ProtocolError for a call that is not well formed
        or a tool that is not there.
        """
        started = time.perf_counter()
        tool = self.door.catalog.tools.get(self.name)
        status, message = tool_log.OK, None
        try:
            if tool is None or self.problem is not None:
                with reading():
                    self._resolve()
            if self.problem is not None:
                status = STATUS_OF[self.problem.code]
                raise self.problem
            if tool is None:
                status = "unknown_tool"
                raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {self.name[:128]}", status=200)
            return tool_result(self._work_of(tool))
        except ProtocolError as error:
            message = error.message
            raise
        except (InvalidCredentials, Unavailable):
            self.actor = ANONYMOUS
            raise
        except DomainError as error:
            known = {one.name: one for one in tool.parameters} if tool else {}
            refused = refusal(error, known)
            status, message = error.code, refused["error"]["message"]
            record_refusal(self.actor, error, self.name)
            return tool_result(refused, is_error=True)
        except Exception:
            log.exception("a tool failed", extra={"tool": self.name})
            status, message = "server.internal", "Something went wrong on our side."
            return tool_result({"error": {"code": status, "message": message}}, is_error=True)
        finally:
            if self.actor.is_bot:
                took = time.perf_counter() - started
                tool_log.log(
                    self.door.calls,
                    self.actor,
                    self.name,
                    self.sent,
                    status=status,
                    message=message,
                    took=took,
                )

    def _resolve(self) -> Actor:
        self.actor = current_g().actor = self.door.resolve(self.token)
        return self.actor

    def _work_of(self, tool: Tool) -> dict[str, Any]:
        if tool.writes:
            return run_write(lambda: self._work(tool))
        with reading():
            return self._work(tool)

    def _work(self, tool: Tool) -> dict[str, Any]:
        """Credential, kind of actor, form, idempotency; then the verb (as in REST)."""
        actor = self._resolve()
        tool.calls.admit(actor)
        given = arguments.load(tool.parameters, self.sent, elsewhere=tool.elsewhere)
        echoed = given.pop(CLIENT_REQUEST_ID.name, None)
        if echoed is not None:
            text.checked(echoed, CLIENT_REQUEST_ID.name, CLIENT_REQUEST_ID_LENGTH)
        key = given.pop(IDEMPOTENCY_KEY.name, None) if tool.keyed else None
        if key is None:
            return _echoing(tool.view(ToolCall(actor, given)), echoed)
        claimed = idempotency.claim(
            actor.id,
            idempotency.check_key(key),
            idempotency.fingerprint("MCP", tool.name, {**given, "client_request_id": echoed}),
            self.ttl_hours,
        )
        if isinstance(claimed, idempotency.StoredAnswer):
            idempotency.judge_replay(lambda: tool.view(ToolCall(actor, given)))
            replayed: dict[str, Any] = orjson.loads(claimed.body)
            return replayed
        made = _echoing(tool.view(ToolCall(actor, given)), echoed)
        idempotency.keep(claimed, idempotency.StoredAnswer(201, orjson.dumps(made), {}))
        return made


def _echoing(made: dict[str, Any], echoed: str | None) -> dict[str, Any]:
    return made if echoed is None else {**made, CLIENT_REQUEST_ID.name: echoed}


LARGEST_LISTING = 500
URI_LENGTH = 512
# How long clients may keep an answer, in milliseconds: what never changes while we run.
LASTING_MS = 300_000
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}}
MARKDOWN = "text/markdown"


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A message, from whom and in which era."""

    door: EndpointConfig
    actor: Actor
    message: Message
    modern: bool


@dataclass(frozen=True, slots=True)
class Method:
    """How a method is answered, and how long its answer may be kept."""

    answer: Callable[[MethodCall], dict[str, Any]]
    ttl_ms: int | None = None
    legacy: bool = True
    modern: bool = True


def initialize(asked: MethodCall) -> dict[str, Any]:
    """The handshake; it opens nothing, since no session is kept."""
    requested = asked.message.params.get("protocolVersion")
    if not isinstance(requested, str):
        raise ProtocolError(INVALID_PARAMS, "protocolVersion must be a string.", status=200)
    return {
        "protocolVersion": protocol_versions.negotiated(requested),
        "capabilities": CAPABILITIES,
        "serverInfo": asked.door.server,
        "instructions": asked.door.catalog.instructions,
    }


def ping(_: MethodCall) -> dict[str, Any]:
    """An empty answer."""
    return {}


def discover(asked: MethodCall) -> dict[str, Any]:
    """What the stateless era asks instead of a handshake."""
    return {
        "supportedVersions": protocol_versions.SUPPORTED,
        "capabilities": CAPABILITIES,
        "instructions": asked.door.catalog.instructions,
    }


def list_tools(asked: MethodCall) -> dict[str, Any]:
    """All tools on one page, in a fixed order, for read and write bots alike."""
    _check_no_cursor(asked)
    return {"tools": asked.door.catalog.tools_listing}


def _check_no_cursor(asked: MethodCall) -> None:
    """These lists have one page, so no cursor is ever ours."""
    if asked.message.params.get("cursor") is not None:
        raise ProtocolError(
            INVALID_PARAMS,
            "The cursor is not one of this list.",
            status=400 if asked.modern else 200,
            data={"code": "validation.invalid_field", "details": {"field": "cursor"}},
        )


def list_templates(asked: MethodCall) -> dict[str, Any]:
    """The forms of resource addresses."""
    _check_no_cursor(asked)
    return {"resourceTemplates": [kind.template for kind in asked.door.catalog.kinds]}


def list_resources(asked: MethodCall) -> dict[str, Any]:
    """The most recently updated resources that the bot can see, house rules first."""
    _check_no_cursor(asked)
    first: list[Resource] = []
    newest: list[Resource] = []
    with reading():
        for kind in asked.door.catalog.kinds:
            first += kind.first(asked.actor)
            newest += kind.newest(asked.actor, LARGEST_LISTING)
    newest.sort(key=lambda resource: resource.updated_at, reverse=True)
    rows: dict[str, Resource] = {}
    for resource in (*first, *newest):
        rows.setdefault(resource.uri, resource)
    return {"resources": [_row(row) for row in list(rows.values())[:LARGEST_LISTING]]}


def _row(resource: Resource) -> dict[str, Any]:
    return {
        "uri": resource.uri,
        "name": resource.name,
        "title": resource.title,
        "mimeType": MARKDOWN,
        "annotations": {"lastModified": iso(resource.updated_at)},
    }


def read_resource(asked: MethodCall) -> dict[str, Any]:
    """One resource as Markdown; every reading is audited."""
    uri = asked.message.params.get("uri")
    if not isinstance(uri, str):
        raise ProtocolError(
            INVALID_PARAMS, "uri must be a string.", status=400 if asked.modern else 200
        )
    status = "ok"
    try:
        with reading():
            text = _reader(asked, uri)
    except (InvalidCredentials, Unavailable):
        raise
    except DomainError as error:
        status = error.code
        raise ProtocolError(
            INVALID_PARAMS if asked.modern else RESOURCE_NOT_FOUND,
            error.message,
            status=400 if asked.modern else 200,
            data={"uri": uri, "code": error.code},
        ) from error
    finally:
        shown = scrub(uri.replace("\x00", ""))[:URI_LENGTH]
        record_separately(
            asked.actor, "bot.resource_read", Target("resource"), uri=shown, result_status=status
        )
    return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text}]}


def _reader(asked: MethodCall, uri: str) -> str:
    for kind in asked.door.catalog.kinds:
        if uri.startswith(kind.prefix):
            return kind.read(asked.actor, uri.removeprefix(kind.prefix))
    raise NotFound("resource", uri)


METHODS: dict[str, Method] = {
    "initialize": Method(initialize, modern=False),
    "ping": Method(ping, modern=False),
    "server/discover": Method(discover, LASTING_MS, legacy=False),
    "tools/list": Method(list_tools, LASTING_MS),
    "resources/list": Method(list_resources, 0),
    "resources/templates/list": Method(list_templates, LASTING_MS),
    "resources/read": Method(read_resource, 0),
}


def method_of(message: Message, *, modern: bool) -> Method:
    """The method of a message; raises ProtocolError for one that this era has not."""
    method = METHODS.get(message.method)
    if method is None or not (method.modern if modern else method.legacy):
        raise ProtocolError(
            METHOD_NOT_FOUND,
            f"Method not found: {message.method[:128]}",
            status=404 if modern else 200,
            request_id=message.id,
        )
    return method
