"""What Flask keeps for the request at hand, itself.

Each look at ``flask.request``, ``flask.g`` or ``flask.current_app`` goes through a proxy that finds
it anew, which takes a microsecond, and a request has dozens of them; here it is one step. Outside a
request, or an application, they raise LookupError.
"""

from typing import Any

from flask import Flask, Request
from flask.globals import _cv_app, _cv_request


def application() -> Flask:
    """The application."""
    return _cv_app.get().app


def asked() -> Request:
    """The request."""
    return _cv_request.get().request


def notes() -> Any:
    """What was noted for the request, ``flask.g``."""
    return _cv_app.get().g
