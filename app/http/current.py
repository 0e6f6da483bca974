"""The current request, its body and day, the application and ``g``, without Flask's proxies.

A proxy takes a microsecond for each access, and a request has dozens. Outside a request or an
application these raise RuntimeError, as Flask does.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, cast

from flask import Flask, Request, current_app, g, has_request_context, request
from werkzeug.local import LocalProxy

from app.config import Settings
from app.core.actor import Actor, Peer
from app.core.clock import now_ms
from app.core.errors import RequestTooLarge
from app.http.flask_app import SEGMENT_KEY

# The limit of request bodies where no login is required.
PUBLIC_BYTES = 64 * 1024
_MAX_DRAINED_BYTES = 256 * 1024
# The key of the application's extension that is its Authentication.
AUTHENTICATION = "docket_authentication"
# The cookie with the minutes that the browser is ahead of UTC; static/js/app.js sets it.
UTC_OFFSET = "utc_offset"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

_MINUTES = re.compile(r"-?\d{1,3}", re.ASCII)
_application = cast("LocalProxy[Flask]", current_app)
_request = cast("LocalProxy[Request]", request)
_g = cast("LocalProxy[Any]", g)


@dataclass(frozen=True, slots=True)
class Authentication:
    """How REST and the pages identify their callers; ``create_app`` passes it in."""

    # Whether the request carries a credential, valid or not.
    presented: Callable[[Request], bool]
    # Returns the actor of this request, in a unit of work; raises for an invalid credential.
    resolve: Callable[[Request], Actor]
    # Refuses two credentials at once, and cross-site requests; runs before any unit of work.
    precheck: Callable[[Request], None]
    peer: Callable[[Request], Peer]
    # Whether the browser says that another site caused the request.
    cross_site: Callable[[Request], bool]


def current_application() -> Flask:
    return _application._get_current_object()


def current_settings() -> Settings:
    settings: Settings = current_application().config["SETTINGS"]
    return settings


def current_authentication() -> Authentication:
    authentication: Authentication = current_application().extensions[AUTHENTICATION]
    return authentication


def current_request() -> Request:
    return _request._get_current_object()


def token_in_address(token: str) -> str:
    """The token that ``HideTokens`` took out of the address; ``token`` is what stands there."""
    return str(current_request().environ.get(SEGMENT_KEY, token))


def current_g() -> Any:
    return _g._get_current_object()


def today() -> date:
    """Today's date in the time zone of the browser; in UTC for any other client."""
    return datetime.fromtimestamp(now_ms() / 1000, _zone()).date()


def _zone() -> timezone:
    sent = current_request().cookies.get(UTC_OFFSET, "") if has_request_context() else ""
    return timezone(timedelta(minutes=int(sent))) if _MINUTES.fullmatch(sent) else UTC


def read_body(request: Request, limit: int) -> bytes:
    """The whole body; raises RequestTooLarge over ``limit`` bytes.

    Counts the bytes, because a chunked body states no length.
    """
    stream = request.environ["wsgi.input"]
    declared = request.content_length
    if declared is not None:
        if declared > limit:
            stream.read(min(declared, _MAX_DRAINED_BYTES))
            raise RequestTooLarge(limit)
        return bytes(stream.read(declared)) if declared else b""
    if "chunked" not in request.headers.get("Transfer-Encoding", "").lower():
        return b""
    content = bytes(stream.read(limit + 1))
    if len(content) > limit:
        raise RequestTooLarge(limit)
    return content
