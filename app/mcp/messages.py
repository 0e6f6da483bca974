"""JSON-RPC messages: what a POST may hold, and the answers' envelope."""

from dataclasses import dataclass, field
from typing import Any

from app.core import json_parsing

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
