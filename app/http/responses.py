"""Responses that are sent as they stand, and headers that every response has."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flask import Response


def add_missing(response: Response, headers: Mapping[str, str]) -> None:
    """Add those of these headers that the answer has not yet.

    Asking werkzeug for each would raise and catch an exception for each.
    """
    present = {name.lower() for name, _ in response.headers}
    for name, value in headers.items():
        if name.lower() not in present:
            response.headers.add(name, value)


if TYPE_CHECKING:
    from wsgiref.types import StartResponse

# What werkzeug makes of these depends on the request, or on the status.
_ADDRESSES = {"location", "content-location"}
_BODILESS = (204, 304)


class Reply(Response):
    """An answer that goes out as it stands, where werkzeug would copy it and change nothing."""

    # Whether anything is to be done once it was sent.
    has_end = False

    def call_on_close(self, func: Callable[[], Any]) -> Callable[[], Any]:
        """As werkzeug's; what is to be done is done by it alone."""
        self.has_end = True
        return super().call_on_close(func)

    def __call__(self, environ: dict[str, Any], start_response: "StartResponse") -> Iterable[bytes]:
        """Start it, and give its body."""
        if not self._stands or environ["REQUEST_METHOD"] == "HEAD":
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        return self.response  # type: ignore[return-value]  # bytes, see below

    @property
    def _stands(self) -> bool:
        body, status = self.response, self.status_code
        is_whole = type(body) is list and len(body) == 1 and type(body[0]) is bytes
        if not is_whole or status < 200 or status in _BODILESS or self.has_end:
            return False
        names = {name.lower() for name, _ in self.headers}
        return "content-length" in names and names.isdisjoint(_ADDRESSES)
