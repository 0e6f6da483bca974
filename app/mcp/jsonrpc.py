"""JSON-RPC messages of all versions of the protocol: requests, errors and results.

A legacy version (until 2025-11-25) begins with the handshake ``initialize``; later requests carry
little. A modern version (from 2026-07-28) is stateless: every request carries its version and
capabilities in ``params._meta``, and its headers must agree with the body. A request with none of
these counts as legacy, so curl works.
"""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from werkzeug.datastructures import Headers

from app.core import json_parsing
from app.core.errors import DomainError, NotFound, OutsideAllowlist, ReadOnlyBot, RequestInvalid
from app.mcp import messages
from app.mcp.parameters import Parameter

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# In legacy versions only; modern ones forbid it.
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

TOOLS_CALL = "tools/call"

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN = ("2026-07-28",)
SUPPORTED = [*MODERN, *LEGACY]

META = "_meta"
_PREFIX = "io.modelcontextprotocol/"
VERSION_KEY = f"{_PREFIX}protocolVersion"
CAPABILITIES_KEY = f"{_PREFIX}clientCapabilities"
SERVER_KEY = f"{_PREFIX}serverInfo"
VERSION_HEADER = "MCP-Protocol-Version"

# The member of the params that the header Mcp-Name repeats.
_NAME_MEMBERS = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_ENCODED = ("=?base64?", "?=")

# What an agent can do about a refusal, by the kind of resource that was not found.
_FIND = {
    "ticket": messages.FIND_TICKETS,
    "project": messages.FIND_PROJECTS,
    "wiki_page": messages.FIND_PAGES,
    "comment": messages.FIND_COMMENTS,
    "sticky_note": messages.FIND_NOTES,
    "relation": messages.FIND_RELATIONS,
    "audit_event": messages.FIND_EVENTS,
    "revision": messages.FIND_REVISIONS,
    "watcher": messages.FIND_WATCHERS,
}
# The fields that a list leaves out unless they are requested.
_LONG_FIELDS = ("body", "edit_history")

RequestId = int | str | None


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or, without an id, a notification."""

    method: str
    params: dict[str, Any] = field(default_factory=dict)
    id: RequestId = None
    wants_answer: bool = True


class ProtocolError(Exception):
    """A JSON-RPC error; ``status`` is that of HTTP."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        status: int = 400,
        data: dict[str, Any] | None = None,
        request_id: RequestId = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data
        self.request_id = request_id

    @property
    def body(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.request_id, "error": error}


def parse(raw: bytes) -> Message:
    """Read the message of a POST; raises ProtocolError.

    A batch is refused, an id may be 0, and ``params`` may be absent or null.
    """
    try:
        parsed = json_parsing.loads(raw)
    except json_parsing.JsonInvalid as error:
        raise ProtocolError(PARSE_ERROR, messages.parse_error(str(error))) from error
    if isinstance(parsed, list):
        raise ProtocolError(INVALID_REQUEST, messages.NO_BATCHES)
    if not isinstance(parsed, dict) or parsed.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, messages.NOT_A_MESSAGE)
    if "method" not in parsed and ("result" in parsed or "error" in parsed):
        # A response, although the server never sends requests.
        return Message("", wants_answer=False)
    method = parsed.get("method")
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, messages.METHOD_NOT_A_STRING)
    identifier = parsed.get("id")
    is_request = "id" in parsed
    if is_request and (isinstance(identifier, bool) or not isinstance(identifier, int | str)):
        raise ProtocolError(INVALID_REQUEST, messages.ID_INVALID)
    params = parsed.get("params")
    # A tool call with wrong params is refused only after its bot is known, as each call is logged.
    if params is None or (method == TOOLS_CALL and not isinstance(params, dict)):
        params = {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, messages.PARAMS_NOT_AN_OBJECT, request_id=identifier)
    return Message(method, params, identifier, is_request)


def result(request_id: RequestId, content: dict[str, Any]) -> dict[str, Any]:
    """The body of a successful response."""
    return {"jsonrpc": "2.0", "id": request_id, "result": content}


def tool_result(structured: dict[str, Any], *, is_error: bool = False) -> dict[str, Any]:
    """The result of a tool call, as text and structured; serialized once for both."""
    serialized = orjson.dumps(structured)
    return {
        "content": [{"type": "text", "text": serialized.decode()}],
        "structuredContent": orjson.Fragment(serialized),
        "isError": is_error,
    }


def refusal(error: DomainError, parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The structured form of a refusal: fields under the tool's names, and how to resolve it."""
    message, details = error.message, dict(error.details or {})
    if isinstance(error, RequestInvalid):
        message = " ".join(f"{problem['loc'][-1]}: {problem['msg']}" for problem in error.errors)
    by_alias = {parameter.alias: parameter.name for parameter in parameters if parameter.alias}
    place, dot, field = str(details.get("field")).rpartition(".")
    name = by_alias.get(field)
    if name is not None:
        message = message.replace(field, name)
        details["field"] = f"{place}{dot}{name}"
    body: dict[str, Any] = {"code": error.code, "message": f"{message}{_advice(error)}"}
    if error.details is not None:
        body["details"] = details
    return {"error": body}


def _advice(error: DomainError) -> str:
    if isinstance(error, NotFound) and error.details:
        advice = _FIND.get(error.details["resource"], "")
        return f" {advice}" if advice else ""
    if isinstance(error, OutsideAllowlist):
        return messages.SEE_PROJECTS
    if isinstance(error, ReadOnlyBot) and not error.is_paused:
        return messages.A_PERSON_CAN_CHANGE
    return ""


def rows(
    collection: dict[str, Any],
    *,
    with_body: bool = False,
    may_be_empty: Sequence[str] | None = None,
) -> dict[str, Any]:
    """A collection; removes empty fields of its rows and, unless ``with_body``, long texts.

    If ``may_be_empty`` is given, only its fields are checked. Changes the rows.
    """
    for row in collection["data"]:
        for name in list(row) if may_be_empty is None else may_be_empty:
            if row[name] is None:
                del row[name]
        if not with_body:
            for name in _LONG_FIELDS:
                row.pop(name, None)
    return collection


def is_modern(headers: Headers, message: Message) -> bool:
    """Whether the message uses a modern version; raises ProtocolError if it is malformed.

    The first check that fails determines the error.
    """
    version = headers.get(VERSION_HEADER)
    meta = message.params.get(META)
    in_meta = isinstance(meta, dict) and VERSION_KEY in meta
    if version is not None and version not in SUPPORTED and not in_meta:
        raise _unsupported(version, message)
    if not ((version is not None and version not in LEGACY) or in_meta):
        return False
    if not message.wants_answer:
        return True
    if message.method == "initialize" and version in (None, *LEGACY):
        return False
    if not isinstance(meta, dict) or not isinstance(meta.get(VERSION_KEY), str):
        raise _invalid(messages.needs(VERSION_KEY), message)
    if not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise _invalid(messages.needs(CAPABILITIES_KEY), message)
    _check_headers(headers, message, meta[VERSION_KEY])
    if meta[VERSION_KEY] not in MODERN:
        raise _unsupported(meta[VERSION_KEY], message)
    return True


def _check_headers(headers: Headers, message: Message, version: str) -> None:
    """Check that the headers repeat what the body says: proxies may route by them."""
    expected = {VERSION_HEADER: version, "Mcp-Method": message.method}
    member = _NAME_MEMBERS.get(message.method)
    name = message.params.get(member) if member is not None else None
    # The method itself refuses a body without a name.
    if isinstance(name, str):
        expected["Mcp-Name"] = name
    for header, value in expected.items():
        if _decoded(headers.get(header)) != value:
            raise ProtocolError(
                HEADER_MISMATCH,
                messages.header_differs(header),
                request_id=message.id,
            )


def _decoded(value: str | None) -> str | None:
    """The text of a header; text beyond ASCII is sent as ``=?base64?...?=``."""
    if value is None or not (value.startswith(_ENCODED[0]) and value.endswith(_ENCODED[1])):
        return value
    try:
        content = base64.b64decode(value[len(_ENCODED[0]) : -len(_ENCODED[1])], validate=True)
        return content.decode("utf-8")
    except ValueError:
        return None


def _invalid(text: str, message: Message) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, text, request_id=message.id)


def _unsupported(version: str, message: Message) -> ProtocolError:
    return ProtocolError(
        UNSUPPORTED_VERSION,
        messages.UNSUPPORTED_VERSION,
        data={"supported": SUPPORTED, "requested": version},
        request_id=message.id,
    )


def negotiated(requested: str) -> str:
    """The version that ``initialize`` answers: the requested one, else the newest legacy one."""
    return requested if requested in LEGACY else LEGACY[0]


def modern_result(
    content: dict[str, Any], server: dict[str, str], *, ttl_ms: int | None = None
) -> dict[str, Any]:
    """A result with the members that modern versions add."""
    meta = {SERVER_KEY: {"name": server["name"], "version": server["version"]}}
    complete = {"resultType": "complete", **content, META: meta}
    if ttl_ms is not None:
        # The address holds a token, so no shared cache may keep the response.
        complete |= {"ttlMs": ttl_ms, "cacheScope": "private"}
    return complete
