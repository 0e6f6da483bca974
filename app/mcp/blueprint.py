"""POST /mcp/bot/<token>/mcp: the checks in their order, and the HTTP status of each outcome.

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
from app.config import Settings
from app.core.actor import Actor
from app.core.errors import InvalidCredentials, RequestTooLarge, Unavailable
from app.core.messages import send_content_type
from app.database.failures import is_outage, unavailable
from app.database.session import reading
from app.http.current import (
    current_g,
    current_request,
    current_settings,
    read_body,
    token_in_address,
)
from app.http.flask_app import Reply
from app.mcp import messages
from app.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    TOOLS_CALL,
    Message,
    ProtocolError,
    RequestId,
    is_modern,
    modern_result,
    parse,
    result,
)
from app.mcp.methods import Invocation, MethodCall, method_of
from app.mcp.registry import EndpointConfig

log = logging.getLogger(__name__)

RULE = "/mcp/bot/<token>/mcp"
METHODS = ["POST", "GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"]
JSON = "application/json"


def blueprint(config: EndpointConfig) -> Blueprint:
    mcp = Blueprint("mcp", __name__)

    @mcp.route(RULE, methods=METHODS, provide_automatic_options=False)
    def endpoint(token: str) -> Response:
        current_g().operation_id = "mcp"
        request = current_request()
        try:
            return _respond(config, request, token_in_address(token))
        except ProtocolError as error:
            failure = error
        except Unavailable as error:
            failure = _unavailable(error)
        except DBAPIError as error:
            if not is_outage(error):
                raise
            failure = _unavailable(unavailable(error))
        return _send(failure.body, failure.status)

    return mcp


def _send(body: Any, status: int = 200) -> Response:
    content = orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)
    return Reply(content, status, content_type=JSON)


def _unavailable(error: Unavailable, request_id: RequestId = None) -> ProtocolError:
    return ProtocolError(
        INTERNAL_ERROR, error.message, status=503, data={"code": error.code}, request_id=request_id
    )


def _respond(config: EndpointConfig, request: Request, token: str) -> Response:
    settings = current_settings()
    origin = request.headers.get("Origin")
    if origin is not None and not settings.own_address.is_origin(origin):
        raise ProtocolError(INVALID_REQUEST, messages.ORIGIN_NOT_ALLOWED, status=403)
    if request.method != "POST":
        error = ProtocolError(INVALID_REQUEST, messages.USE_POST, status=405)
        response = _send(error.body, error.status)
        response.headers["Allow"] = "POST"
        return response
    try:
        raw = read_body(request, settings.max_request_bytes)
    except RequestTooLarge as error:
        raise ProtocolError(INVALID_REQUEST, error.message, status=413) from error
    parsed = _parse(request, raw)
    message = parsed.message
    # A malformed tool call is logged like any other, so it is handled the same way.
    if message is not None and message.method == TOOLS_CALL and message.wants_answer:
        return _call_tool(config, token, message, parsed, settings)
    return _call_method(config, token, parsed)


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """The content of a POST, as far as it could be parsed, and what is wrong with it."""

    message: Message | None = None
    is_modern: bool = False
    error: ProtocolError | None = None


def _parse(request: Request, raw: bytes) -> ParsedRequest:
    """Parse the request. An error is kept, as the credential is checked before it is raised."""
    message = None
    try:
        _check_types(request)
        message = parse(raw)
        return ParsedRequest(message, is_modern(request.headers, message))
    except ProtocolError as error:
        # A parsed message can only break rules of modern versions here.
        return ParsedRequest(message, message is not None, error)


def _check_types(request: Request) -> None:
    if request.mimetype != JSON:
        raise ProtocolError(INVALID_REQUEST, send_content_type(JSON), status=415)
    if not _accepts_json(request.headers.get("Accept", "")):
        raise ProtocolError(INVALID_REQUEST, messages.send_accept(JSON), status=406)


# Cached, as clients send the same header with each call.
@lru_cache
def _accepts_json(accept: str) -> bool:
    accepted = parse_accept_header(accept, MIMEAccept)
    return not accepted or bool(accepted[JSON])


def _call_method(config: EndpointConfig, token: str, parsed: ParsedRequest) -> Response:
    actor = _authenticate(config, token)
    if parsed.error is not None:
        raise parsed.error
    message, is_modern = parsed.message, parsed.is_modern
    if message is None or not message.wants_answer:
        return Response(status=202)
    method = method_of(message, is_modern=is_modern)
    try:
        content = method.answer(MethodCall(config, actor, message, is_modern))
    except ProtocolError as error:
        error.request_id = message.id
        raise
    except Unavailable:
        raise
    except Exception as error:
        if isinstance(error, DBAPIError) and is_outage(error):
            raise
        log.exception("a method failed", extra={"method_name": message.method[:128]})
        raise ProtocolError(
            INTERNAL_ERROR, messages.INTERNAL_ERROR, status=200, request_id=message.id
        ) from error
    if is_modern:
        content = modern_result(content, config.server, ttl_ms=method.ttl_ms)
    return _send(result(message.id, content))


def _authenticate(config: EndpointConfig, token: str) -> Actor:
    """Resolve the bot. Records and raises InvalidCredentials; REST's error handler responds."""
    try:
        with reading():
            actor = current_g().actor = config.resolve(token)
    except InvalidCredentials as error:
        record_refusal(current_g().actor, error, "mcp")
        raise
    return actor


def _call_tool(
    config: EndpointConfig, token: str, message: Message, parsed: ParsedRequest, settings: Settings
) -> Response:
    name, arguments = message.params.get("name"), message.params.get("arguments")
    problem = parsed.error
    if problem is None and not (isinstance(name, str) and isinstance(arguments, dict | None)):
        problem = ProtocolError(INVALID_PARAMS, messages.CALL_INVALID)
    invocation = Invocation(
        config,
        token,
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, dict) else {},
        settings.idempotency_key_ttl_hours,
        problem,
        message.params.get("_meta"),
    )
    try:
        content = invocation.run()
    except InvalidCredentials as error:
        record_refusal(current_g().actor, error, "mcp")
        raise
    except ProtocolError as error:
        error.request_id, error.status = message.id, 400 if parsed.is_modern else 200
        raise
    except Unavailable as error:
        raise _unavailable(error, message.id) from error
    if parsed.is_modern:
        content = modern_result(content, config.server)
    return _send(result(message.id, content))
