"""A bot that calls MCP by JSON-RPC at its own URL."""

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

from werkzeug.test import TestResponse

from tests.support.cast import Caller

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


@dataclass
class Agent:
    """One of the cast's bots as an MCP client."""

    caller: Caller
    modern: bool = False

    def __post_init__(self) -> None:
        self.numbers = count()

    @property
    def address(self) -> str:
        return f"/mcp/bot/{self.caller.token}/mcp"

    def post(self, message: Any, **options: Any) -> TestResponse:
        return self.caller.client.post(self.address, json=message, **options)

    def send(self, method: str, params: dict[str, Any] | None = None) -> TestResponse:
        """Send one request in the selected protocol era."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": next(self.numbers), "method": method}
        if params is not None:
            message["params"] = params
        if not self.modern:
            return self.post(message)
        sent = (params or {}).get("_meta", {})
        message["params"] = {**(params or {}), "_meta": {**sent, **envelope()}}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        named = (params or {}).get({"resources/read": "uri"}.get(method, "name"))
        if method in ("tools/call", "resources/read", "prompts/get") and isinstance(named, str):
            headers["Mcp-Name"] = named
        return self.post(message, headers=headers)

    def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of a request that must succeed."""
        response = self.send(method, params)
        assert response.status_code == 200, response.get_data(as_text=True)
        content: dict[str, Any] = response.get_json()
        assert "error" not in content, content
        found: dict[str, Any] = content["result"]
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return a tool's full result; it must succeed, and be the same in both forms."""
        return self.lean(tool, detail="full", **arguments)

    def lean(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return a tool's lean result; otherwise like ``call``."""
        found = self.result("tools/call", {"name": tool, "arguments": arguments})
        assert not found["isError"], found["structuredContent"]
        return _both_forms(found)

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the error of a tool call that must be refused."""
        found = self.result("tools/call", {"name": tool, "arguments": arguments})
        assert found["isError"], found["structuredContent"]
        error: dict[str, Any] = _both_forms(found)["error"]
        return error


def _both_forms(found: dict[str, Any]) -> dict[str, Any]:
    (block,) = found["content"]
    structured: dict[str, Any] = found["structuredContent"]
    assert block["type"] == "text"
    assert json.loads(block["text"]) == structured
    return structured


def envelope() -> dict[str, Any]:
    """Return the metadata of a request in the stateless era."""
    return {
        f"{META}protocolVersion": MODERN,
        f"{META}clientInfo": {"name": "test", "version": "1"},
        f"{META}clientCapabilities": {},
    }


def error_of(response: TestResponse, status: int, code: int) -> Any:
    """Return the body of a JSON-RPC error response with this status and code."""
    assert response.status_code == status, response.get_data(as_text=True)
    assert response.content_type == "application/json"
    body = response.get_json()
    assert body["error"]["code"] == code, body
    return body
