"""What Flask keeps for the request at hand, itself and not behind a proxy.

Each look at ``flask.request``, ``flask.g`` or ``flask.current_app`` goes through a proxy that finds
it anew, which takes a microsecond, and a request has dozens of them. Outside a request, or an
application, these raise RuntimeError, as Flask does.
"""

from typing import Any, cast

from flask import Flask, Request, current_app, g, request
from werkzeug.local import LocalProxy

from app.core.errors import RequestTooLarge

# What is for everybody takes no more from a stranger.
PUBLIC_BYTES = 64 * 1024
_DRAINED = 256 * 1024


def read_body(request: Request, limit: int) -> bytes:
    """The whole body; raises RequestTooLarge over ``limit`` bytes.

    Bytes are counted here, since a chunked body states no length and servers may cut it silently.
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


_application = cast("LocalProxy[Flask]", current_app)
_request = cast("LocalProxy[Request]", request)
_notes = cast("LocalProxy[Any]", g)


def application() -> Flask:
    """The application."""
    return _application._get_current_object()


def current_request() -> Request:
    """The request."""
    return _request._get_current_object()


def current_g() -> Any:
    """What was noted for the request, ``flask.g``."""
    return _notes._get_current_object()
