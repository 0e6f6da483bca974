"""The gate before the application: a request comes in whole, and a few are worked on at a time.

The server gives each request a thread as soon as its headers are in. A thread whose client sends
its body slowly only waits; it takes a place inside when the body is there. So slow clients, however
many, keep no one else waiting, and the database sees no more requests than it has connections for.
"""

import io
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from app.core.context import waiting_outside

# Read from a body over the limit and thrown away, so that its sender gets to read the answer 413.
DRAINED = 16 * 1024 * 1024
_PIECE = 64 * 1024

# Tells whether the process lives, so it must not wait for requests that wait for the database.
LIVENESS = "/healthz"


def gate(application: WSGIApplication, *, places: int, max_body: int) -> WSGIApplication:
    """Let ``places`` requests into the application at a time, each with its body in memory.

    A body over ``max_body`` arrives cut to one byte more; the application answers 413 itself
    (app/core/body.py). A request whose client left before its body was complete never arrives.
    """
    room = threading.BoundedSemaphore(places)

    @contextmanager
    def outside() -> Iterator[None]:
        """Give the place of this thread's request away, and wait for one again at the end."""
        room.release()
        try:
            yield
        finally:
            room.acquire()

    def enter(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        body = _read_body(environ, max_body)
        if body is None:
            # Nobody reads this any more.
            start_response("400 Bad Request", [("Content-Length", "0")])
            return []
        environ["wsgi.input"] = io.BytesIO(body)
        if environ["PATH_INFO"] == LIVENESS:
            return _answer(application, environ, start_response)
        with room:
            token = waiting_outside.set(outside)
            try:
                return _answer(application, environ, start_response)
            finally:
                waiting_outside.reset(token)

    return enter


def _answer(
    application: WSGIApplication, environ: dict[str, Any], start_response: StartResponse
) -> list[bytes]:
    """The whole answer; none of ours is streamed."""
    parts = application(environ, start_response)
    try:
        return [b"".join(parts)]
    finally:
        close = getattr(parts, "close", None)
        if close is not None:
            close()


def _read_body(environ: dict[str, Any], max_body: int) -> bytes | None:
    """The body, or its first ``max_body`` + 1 bytes; None where it ends before its length.

    A chunked body that breaks off looks like one that ended; its JSON then fails to parse.
    """
    stream = environ["wsgi.input"]
    declared = _declared_length(environ)
    if declared == 0:
        return b""
    body: bytes = stream.read(max_body + 1)
    if len(body) > max_body:
        _drain(stream)
    elif declared is not None and len(body) < declared:
        return None
    return body


def _declared_length(environ: dict[str, Any]) -> int | None:
    """The body's length by its headers: None for a chunked one, 0 where there is none."""
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return None
    length = environ.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() else 0


def _drain(stream: Any) -> None:
    """Throw away what still comes, up to a bound."""
    left = DRAINED
    while left > 0:
        piece = stream.read(_PIECE)
        if not piece:
            return
        left -= len(piece)
