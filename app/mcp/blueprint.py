"""POST /mcp/bot/<token>/mcp: what is checked, in which order, and with which status it ends.

``http/flask_app.py`` removes the token from the address before anything can log it.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from flask import Blueprint, Request, Response
from sqlalchemy.exc import DBAPIError
from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from app.audit.service import record_refusal
from app.config import Settings, settings_at_hand
from app.core.actor import Actor
from app.core.errors import InvalidCredentials, RequestTooLarge, Unavailable
from app.database.failures import is_outage
from app.database.session import reading
from app.http.current import current_g, current_request, read_body
from app.http.responses import Reply
from app.mcp import protocol_versions
from app.mcp.messages import (
    CALL,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    Message,
    ProtocolError,
    parse,
    result,
)
from app.mcp.methods import Invocation, MethodCall, method_of
from app.mcp.registry import EndpointConfig

log = logging.getLogger(__name__)

# Where ``http/flask_app.py`` puts the token.
ENVIRON_KEY = "docket.mcp_token"
RULE = "/mcp/bot/<token>/mcp"
METHODS = ["POST", "GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"]
JSON = "application/json"


def blueprint(door: EndpointConfig) -> Blueprint:
    """The endpoint, for this door."""
    made = Blueprint("mcp", __name__)

    def endpoint(token: str) -> Response:
        current_g().operation_id = "mcp"
        request = current_request()
        try:
            return _answer(door, request, request.environ.get(ENVIRON_KEY, token))
        except ProtocolError as error:
            return _send(error.body, error.status)
        except Unavailable as error:
            return _unavailable(error)
        except DBAPIError as error:
            if not is_outage(error):
                raise
            return _unavailable(Unavailable())

    made.add_url_rule(RULE, "endpoint", endpoint, methods=METHODS, provide_automatic_options=False)
    return made


def _send(body: Any, status: int = 200) -> Response:
    # It ends its line, as the answers of REST do.
    content = orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)
    return Reply(content, status, content_type=JSON)


def _unavailable(error: Unavailable) -> Response:
    refused = ProtocolError(INTERNAL_ERROR, error.message, status=503, data={"code": error.code})
    return _send(refused.body, refused.status)


def _answer(door: EndpointConfig, request: Request, token: str) -> Response:
    settings = settings_at_hand()
    origin = request.headers.get("Origin")
    if origin is not None and not settings.own_address.is_origin(origin):
        raise ProtocolError(INVALID_REQUEST, "This origin may not call.", status=403)
    if request.method != "POST":
        refused = ProtocolError(INVALID_REQUEST, "Send a POST.", status=405)
        response = _send(refused.body, refused.status)
        response.headers["Allow"] = "POST"
        return response
    try:
        raw = read_body(request, settings.max_request_bytes)
    except RequestTooLarge as error:
        raise ProtocolError(INVALID_REQUEST, error.message, status=413) from error
    return _answer_message(door, token, _understood(request, raw), settings)


@dataclass(frozen=True, slots=True)
class Understood:
    """What came in: the message as far as it is one, its era, and what is wrong with it."""

    message: Message | None = None
    is_modern: bool = False
    problem: ProtocolError | None = None

    @property
    def call(self) -> Message | None:
        """The message, if it calls a tool, rightly or not."""
        message = self.message
        is_call = message is not None and message.method == CALL and message.wants_answer
        return message if is_call else None


def _understood(request: Request, raw: bytes) -> Understood:
    """What came in; what is wrong is refused only after the credential was judged."""
    message = None
    try:
        _check_types(request)
        message = parse(raw)
        return Understood(message, protocol_versions.is_modern(request.headers, message))
    except ProtocolError as error:
        # What the older era does not know cannot be wrong there.
        return Understood(message, message is not None, error)


def _check_types(request: Request) -> None:
    if request.mimetype != JSON:
        raise ProtocolError(INVALID_REQUEST, f"Send Content-Type: {JSON}.", status=415)
    if not _takes_json(request.headers.get("Accept", "")):
        raise ProtocolError(INVALID_REQUEST, f"The answer is {JSON}.", status=406)


# Clients send the same header with each call.
@lru_cache
def _takes_json(accept: str) -> bool:
    accepted = parse_accept_header(accept, MIMEAccept)
    return not accepted or bool(accepted[JSON])


def _answer_message(
    door: EndpointConfig, token: str, understood: Understood, settings: Settings
) -> Response:
    called = understood.call
    if called is not None:
        return _call(door, token, called, understood, settings=settings)
    actor = _authenticate(door, token)
    if understood.problem is not None:
        raise understood.problem
    message, modern = understood.message, understood.is_modern
    if message is None or not message.wants_answer:
        return Response(status=202)
    method = method_of(message, modern=modern)
    try:
        content = method.answer(MethodCall(door, actor, message, modern))
    except ProtocolError as error:
        error.request_id = message.id
        raise
    except Unavailable:
        raise
    except Exception as error:
        if isinstance(error, DBAPIError) and is_outage(error):
            raise
        log.exception("a method failed", extra={"method_name": message.method[:128]})
        refused = ProtocolError(INTERNAL_ERROR, "Internal error", status=200, request_id=message.id)
        raise refused from error
    if modern:
        content = protocol_versions.finished(content, door.server, ttl_ms=method.ttl_ms)
    return _send(result(message.id, content))


def _authenticate(door: EndpointConfig, token: str) -> Actor:
    """The bot; raises InvalidCredentials after auditing it (the envelope of REST is its answer)."""
    try:
        with reading():
            current_g().actor = door.resolve(token)
    except InvalidCredentials as error:
        record_refusal(current_g().actor, error, "mcp")
        raise
    actor: Actor = current_g().actor
    return actor


def _call(
    door: EndpointConfig,
    token: str,
    message: Message,
    understood: Understood,
    *,
    settings: Settings,
) -> Response:
    name, sent = message.params.get("name"), message.params.get("arguments")
    modern = understood.is_modern
    status = 400 if modern else 200
    problem = understood.problem
    if problem is None and not (isinstance(name, str) and isinstance(sent, dict | None)):
        problem = ProtocolError(
            INVALID_PARAMS, "tools/call takes name, a string, and arguments, an object."
        )
    invocation = Invocation(
        door,
        token,
        name if isinstance(name, str) else "",
        sent if isinstance(sent, dict) else {},
        settings.idempotency_key_ttl_hours,
        problem,
    )
    try:
        content = invocation.run()
    except InvalidCredentials as error:
        record_refusal(current_g().actor, error, "mcp")
        raise
    except ProtocolError as error:
        error.request_id, error.status = message.id, status
        raise
    except Unavailable as error:
        refused = ProtocolError(
            INTERNAL_ERROR,
            error.message,
            status=503,
            data={"code": error.code},
            request_id=message.id,
        )
        raise refused from error
    return _send(
        result(message.id, protocol_versions.finished(content, door.server) if modern else content)
    )
