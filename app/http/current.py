"""What Flask keeps for the request at hand, itself and not behind a proxy.

Each look at ``flask.request``, ``flask.g`` or ``flask.current_app`` goes through a proxy that finds
it anew, which takes a microsecond, and a request has dozens of them. Outside a request, or an
application, these raise RuntimeError, as Flask does.
"""

from typing import Any, cast

from flask import Flask, Request, current_app, g, request
from werkzeug.local import LocalProxy

_application = cast("LocalProxy[Flask]", current_app)
_request = cast("LocalProxy[Request]", request)
_notes = cast("LocalProxy[Any]", g)


def application() -> Flask:
    """The application."""
    return _application._get_current_object()


def asked() -> Request:
    """The request."""
    return _request._get_current_object()


def notes() -> Any:
    """What was noted for the request, ``flask.g``."""
    return _notes._get_current_object()
