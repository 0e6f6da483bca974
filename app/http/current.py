"""The current request, application, settings and ``g``, without Flask's proxies, and bodies.

A proxy takes a microsecond for each access, and a request has dozens. Outside a request or an
application these raise RuntimeError, as Flask does.
"""

from typing import Any, cast

from flask import Flask, Request, current_app, g, request
from werkzeug.local import LocalProxy

from app.config import Settings
from app.core.errors import RequestTooLarge

# The limit of bodies on what needs no login.
PUBLIC_BYTES = 64 * 1024
_DRAINED = 256 * 1024


_application = cast("LocalProxy[Flask]", current_app)
_request = cast("LocalProxy[Request]", request)
_g = cast("LocalProxy[Any]", g)


def current_application() -> Flask:
    return _application._get_current_object()


def current_settings() -> Settings:
    settings: Settings = current_application().config["SETTINGS"]
    return settings


def current_request() -> Request:
    return _request._get_current_object()


def current_g() -> Any:
    return _g._get_current_object()


def read_body(request: Request, limit: int) -> bytes:
    """The whole body; raises RequestTooLarge over ``limit`` bytes.

    It counts the bytes, because a chunked body states no length.
    """
    stream = request.environ["wsgi.input"]
    declared = request.content_length
    if declared is not None:
        if declared > limit:
            stream.read(min(declared, _DRAINED))
            raise RequestTooLarge(limit)
        return bytes(stream.read(declared)) if declared else b""
    if "chunked" not in request.headers.get("Transfer-Encoding", "").lower():
        return b""
    content = bytes(stream.read(limit + 1))
    if len(content) > limit:
        raise RequestTooLarge(limit)
    return content
