"""Error handlers: every failure becomes an error envelope or a page; nothing leaks."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Request, Response, current_app, request
from sqlalchemy.exc import DBAPIError
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from app.core import errors
from app.core.ids import request_id
from app.core.messages import WENT_WRONG
from app.database.failures import is_outage, unavailable
from app.http.flask_app import FAILED
from app.rest import messages
from app.rest.routing import Rendered, as_json, respond

log = logging.getLogger(__name__)

ErrorPage = Callable[[errors.DomainError], Response]


def wants_page(request: Request) -> bool:
    """Whether a browser requests a page, so that errors are pages too."""
    if request.path.startswith(("/api/", "/mcp/", "/healthz", "/readyz", "/metrics")):
        return False
    return "text/html" in request.headers.get("Accept", "") or "HX-Request" in request.headers


def as_domain_error(error: HTTPException) -> errors.DomainError:
    """The refusal that represents an HTTP error of the framework."""
    if isinstance(error, MethodNotAllowed):
        return errors.MethodNotAllowed(_documented(error.valid_methods or []))
    if error.code == 413:
        return errors.RequestTooLarge(request.max_content_length or 0)
    if error.code == 404:
        return errors.NotFound("route", request.path)
    return errors.one_error(["body"], error.description or messages.NOT_VALID, "invalid_value")


def _documented(methods: Iterable[str]) -> list[str]:
    """The methods that the OpenAPI document has for the current address.

    The document omits HEAD. If several rules match the address, it has the one with the fewest
    variables.
    """
    adapter = current_app.create_url_adapter(request)
    if adapter is None:
        return []
    rules = {
        method: adapter.match(method=method, return_rule=True)[0]
        for method in methods
        if method != "HEAD"
    }
    fewest = min((len(rule.arguments) for rule in rules.values()), default=0)
    return [method for method, rule in rules.items() if len(rule.arguments) == fewest]


def error_response(error: errors.DomainError) -> Response:
    """The error envelope."""
    envelope: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        envelope["details"] = error.details
    return respond(Rendered(error.status, as_json({"error": envelope}), error.headers))


class Internal(errors.DomainError):
    """An unhandled exception; in development, ``details`` name its trace in the log."""


def install(app: Flask, page: ErrorPage) -> None:
    """Register the error handlers; ``page`` renders a refusal for a person."""

    def answer(error: errors.DomainError) -> Response:
        return page(error) if wants_page(request) else error_response(error)

    def on_domain_error(error: errors.DomainError) -> Response:
        if isinstance(error, errors.InvalidCredentials):
            request.environ[FAILED] = True
        return answer(error)

    def on_http_error(error: HTTPException) -> Response:
        request.environ[FAILED] = True
        return answer(as_domain_error(error))

    def on_exception(error: Exception) -> Response:
        if isinstance(error, DBAPIError) and is_outage(error):
            return answer(unavailable(error))
        log.exception("unhandled exception")
        details: dict[str, Any] | None = {"trace_id": request_id.get()} if app.debug else None
        return answer(Internal(WENT_WRONG, details))

    app.register_error_handler(errors.DomainError, on_domain_error)
    app.register_error_handler(HTTPException, on_http_error)
    app.register_error_handler(Exception, on_exception)
