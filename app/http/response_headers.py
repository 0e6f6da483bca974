"""Headers that answers have unless somebody set them before."""

from collections.abc import Mapping

from flask import Response


def add_missing(response: Response, headers: Mapping[str, str]) -> None:
    """Add those of these headers that the answer has not yet.

    Asking werkzeug for each would raise and catch an exception for each.
    """
    present = {name.lower() for name, _ in response.headers}
    for name, value in headers.items():
        if name.lower() not in present:
            response.headers.add(name, value)
