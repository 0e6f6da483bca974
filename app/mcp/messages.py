"""JSON-RPC messages: what a POST may hold, and the results of tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.core import json_parsing
from app.core.errors import DomainError, NotFound, OutsideAllowlist, ReadOnlyBot, RequestInvalid
from app.mcp.parameters import Parameter

# What an agent can do about a refusal, by the kind of thing that was not found.
_FIND = {
    "ticket": "Find tickets with search or list_tickets.",
    "project": "list_projects shows the projects you can use.",
    "wiki_page": "Find pages with search or list_wiki_pages.",
    "comment": "list_comments shows the comments of a ticket.",
    "sticky_note": "list_sticky_notes shows the notes of a project.",
    "relation": "get_ticket shows a ticket's relations.",
    "watcher": "get_ticket shows who watches a ticket.",
}


def tool_result(structured: dict[str, Any], *, is_error: bool = False) -> dict[str, Any]:
    """A call's result, complete in both of its forms; the same bytes make both."""
    written = orjson.dumps(structured)
    return {
        "content": [{"type": "text", "text": written.decode()}],
        "structuredContent": orjson.Fragment(written),
        "isError": is_error,
    }


def refusal(error: DomainError, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """The structured form of a refusal, in the words of the tool, and what to do about it."""
    message, details = error.message, dict(error.details or {})
    if isinstance(error, RequestInvalid):
        message = " ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors)
    names = {one.also: name for name, one in parameters.items() if one.also}
    named = names.get(str(details.get("field")))
    if named is not None:
        message = message.replace(details["field"], named)
        details["field"] = named
    body: dict[str, Any] = {"code": error.code, "message": f"{message}{_advice(error)}"}
    if error.details is not None:
        body["details"] = details
    return {"error": body}


def _advice(error: DomainError) -> str:
    if isinstance(error, NotFound) and error.details:
        advice = _FIND.get(error.details["resource"], "")
        return f" {advice}" if advice else ""
    if isinstance(error, OutsideAllowlist):
        return " list_projects shows the projects you can use."
    if isinstance(error, ReadOnlyBot) and not error.is_paused:
        return " A person can change that on the page of bots."
    return ""


_LONG = ("body", "edit_history")


def slim(
    row: dict[str, Any], *, with_body: bool, may_be_empty: Sequence[str] | None = None
) -> dict[str, Any]:
    """A row of a list, made for it, without empty fields and, unless wanted, long texts.

    Where only some fields can be empty, the others need not be looked at.
    """
    for name in list(row) if may_be_empty is None else may_be_empty:
        if row[name] is None:
            del row[name]
    if not with_body:
        for name in _LONG:
            row.pop(name, None)
    return row


PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# Of the handshake era alone; the later one forbids it.
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

# The method of a tool's call.
CALL = "tools/call"

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
        """The error as it is sent."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.request_id, "error": error}


def parse(raw: bytes) -> Message:
    """The message of a POST; raises ProtocolError.

    A batch is refused, an id may be 0, and ``params`` may be absent or null.
    """
    try:
        found = json_parsing.loads(raw)
    except json_parsing.JsonInvalid as error:
        raise ProtocolError(PARSE_ERROR, f"Parse error: {error}") from error
    if isinstance(found, list):
        raise ProtocolError(INVALID_REQUEST, "Batches are not supported; send one message.")
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'A message is an object with "jsonrpc": "2.0".')
    if "method" not in found and ("result" in found or "error" in found):
        # An answer to a request that we never make.
        return Message("", wants_answer=False)
    method = found.get("method")
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "method must be a string.")
    if "id" in found and (isinstance(found["id"], bool) or not isinstance(found["id"], int | str)):
        raise ProtocolError(INVALID_REQUEST, "id must be a string or an integer.")
    identifier: RequestId = found.get("id")
    params = found.get("params")
    if params is None:
        params = {}
    if method == CALL and not isinstance(params, dict):
        # Refused once its bot is known, as each call is logged.
        params = {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params must be an object.", request_id=identifier)
    return Message(method, params, identifier, "id" in found)


def result(request_id: RequestId, content: dict[str, Any]) -> dict[str, Any]:
    """A successful answer."""
    return {"jsonrpc": "2.0", "id": request_id, "result": content}
