"""Responses that are sent unchanged, and headers that every response has."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from wsgiref.types import StartResponse

from flask import Response

# werkzeug changes these headers by the request, and drops the body of these statuses.
_LOCATIONS = {"location", "content-location"}
_BODILESS = (204, 304)


def add_missing(response: Response, headers: Mapping[str, str]) -> None:
    """Add those of these headers that the response lacks.

    Looking up each with werkzeug would raise and catch an exception for each.
    """
    present = {name.lower() for name, _ in response.headers}
    for name, value in headers.items():
        if name.lower() not in present:
            response.headers.add(name, value)


class Reply(Response):
    """A response that is sent unchanged if werkzeug would only copy it."""

    has_callbacks = False

    def call_on_close(self, func: Callable[[], Any]) -> Callable[[], Any]:
        self.has_callbacks = True
        return super().call_on_close(func)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if not self._is_final or environ["REQUEST_METHOD"] == "HEAD":
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        return self.response  # type: ignore[return-value]  # bytes, see ``_is_final``

    @property
    def _is_final(self) -> bool:
        body, status = self.response, self.status_code
        is_whole = type(body) is list and len(body) == 1 and type(body[0]) is bytes
        if not is_whole or status < 200 or status in _BODILESS or self.has_callbacks:
            return False
        names = {name.lower() for name, _ in self.headers}
        return "content-length" in names and names.isdisjoint(_LOCATIONS)
