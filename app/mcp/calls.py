"""Calling a tool: one unit of work around credential, guard, form and verb; then the log."""

import logging
import time
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.audit.service import record_refusal
from app.core import text
from app.core.actor import ANONYMOUS, Actor
from app.core.errors import DomainError, InvalidCredentials, Unavailable
from app.database import idempotency
from app.database.session import reading, run_write
from app.http.current import notes
from app.mcp import arguments, tool_log
from app.mcp.endpoint_config import Door
from app.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    ProtocolError,
)
from app.mcp.parameters import CLIENT_REQUEST_ID, IDEMPOTENCY_KEY
from app.mcp.registry import Tool, ToolCall
from app.mcp.results import refusal, result

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

    door: Door
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
            return result(self._work_of(tool))
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
            return result(refused, is_error=True)
        except Exception:
            log.exception("a tool failed", extra={"tool": self.name})
            status, message = "server.internal", "Something went wrong on our side."
            return result({"error": {"code": status, "message": message}}, is_error=True)
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
        self.actor = notes().actor = self.door.resolve(self.token)
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
        if isinstance(claimed, idempotency.Answer):
            idempotency.judge_replay(lambda: tool.view(ToolCall(actor, given)))
            replayed: dict[str, Any] = orjson.loads(claimed.body)
            return replayed
        made = _echoing(tool.view(ToolCall(actor, given)), echoed)
        idempotency.keep(claimed, idempotency.Answer(201, orjson.dumps(made), {}))
        return made


def _echoing(made: dict[str, Any], echoed: str | None) -> dict[str, Any]:
    return made if echoed is None else {**made, CLIENT_REQUEST_ID.name: echoed}
