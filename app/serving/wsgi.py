"""Calls of the WSGI application (PEP 3333): its environment and its response."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIApplication

from app.http.flask_app import FAILED, STREAMED

Message = dict[str, Any]
Environ = dict[str, Any]
Headers = list[tuple[str, str]]


class HttpResponse(NamedTuple):
    """A response with its whole body."""

    status: int
    headers: Headers
    body: bytes
    # The request had an invalid credential, or no route.
    is_failure: bool = False


class StreamedResponse(NamedTuple):
    """A response whose body is made while it is sent."""

    status: int
    headers: Headers
    pieces: Iterator[bytes]


def environ_of(scope: Message) -> Environ:
    """The environment of an ASGI request, without its body.

    A header with an underscore in its name is dropped: it would be mistaken for one with a hyphen.
    """
    host, port = scope["server"]
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.input_terminated": True,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:
            continue
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        key = name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"
        value = raw_value.decode("latin-1").strip(" \t")  # RFC 9110, 5.5
        if key in environ:
            value = f"{environ[key]}{'; ' if name == 'COOKIE' else ','}{value}"
        environ[key] = value
    return environ


def has_body(environ: Environ) -> bool:
    """Whether the headers announce a body."""
    length = environ.get("CONTENT_LENGTH", "0")
    return length.strip("0") != "" or "HTTP_TRANSFER_ENCODING" in environ


def call(application: WSGIApplication, environ: Environ) -> HttpResponse | StreamedResponse:
    """Call the application."""
    head: list[Any] = []

    def start_response(status: str, headers: Headers, _error: Any = None) -> Any:
        head[:] = (int(status[:3]), headers)

    parts: Iterable[bytes] = application(environ, start_response)
    if environ.get(STREAMED):
        return StreamedResponse(head[0], head[1], iter(parts))
    try:
        return HttpResponse(head[0], head[1], b"".join(parts), FAILED in environ)
    finally:
        close(parts)


def close(parts: Iterable[bytes]) -> None:
    """Close the body of a response, if it can be closed."""
    if hasattr(parts, "close"):
        parts.close()
