"""What Flask keeps for the request at hand, itself.

Each look at ``flask.request`` or ``flask.g`` finds it anew, which takes a microsecond; whoever
looks more than once takes hold of it here.
"""

from typing import Any, cast

from flask import Request, g, request


def asked() -> Request:
    """The request."""
    return cast("Any", request)._get_current_object()  # type: ignore[no-any-return]


def notes() -> Any:
    """What was noted for the request, ``flask.g``."""
    return cast("Any", g)._get_current_object()
