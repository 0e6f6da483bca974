"""The gate before the application: a request comes in whole, and a few are worked on at a time.

The server gives each request a thread as soon as its headers are in. A thread whose client sends
its body slowly only waits; it takes a place inside when the body is there. So slow clients, however
many, keep no one else waiting, and the database sees no more requests than it has connections for.

An answer leaves its place whole, too. One that may be larger than memory is sent while it is made,
if the application asks for that: it takes a place for each piece, and waits for its reader without.
"""

import io
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from app.core.context import STREAMED, waiting_outside

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
            return _whole(application(environ, start_response))
        with room:
            token = waiting_outside.set(outside)
            try:
                parts = application(environ, start_response)
                if not environ.get(STREAMED):
                    return _whole(parts)
            finally:
                waiting_outside.reset(token)
        return _Piecewise(parts, room)

    return enter


def _whole(parts: Iterable[bytes]) -> list[bytes]:
    """The answer in one piece."""
    try:
        return [b"".join(parts)]
    finally:
        _close(parts)


def _close(parts: Iterable[bytes]) -> None:
    close = getattr(parts, "close", None)
    if close is not None:
        close()


class _Piecewise:
    """An answer that takes a place while its next piece is made, and gives it away in between."""

    def __init__(self, parts: Iterable[bytes], room: threading.BoundedSemaphore) -> None:
        self._parts = parts
        self._pieces = iter(parts)
        self._room = room

    def __iter__(self) -> Iterator[bytes]:
        """Itself."""
        return self

    def __next__(self) -> bytes:
        """The next piece."""
        with self._room:
            return next(self._pieces)

    def close(self) -> None:
        """Say that no more is wanted."""
        _close(self._parts)


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
