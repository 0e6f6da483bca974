"""The gate before the application: a request comes in whole, and a few are worked on at a time.

The server gives each request a thread as soon as its headers are in. A thread whose client sends
its body slowly only waits; it takes a place inside when the body is there. So slow clients, however
many, keep no one else waiting, and the database sees no more requests than it has connections for.

An answer leaves its place whole, too. One that may be larger than memory is sent while it is made,
if the application asks for that: it takes a place for each piece, and waits for its reader without.

On SQLite, requests inside take turns. Python runs one thread at a time anyway, and a query there
waits for nothing; but SQLite lets go of Python at each row, so threads that run side by side pass
it around between the rows and take twice the processor. A request has its turn until it is done,
waits for the disk, or another has waited TURN_SECONDS.
"""

import io
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from app.core.context import STREAMED, out_of_turn, waiting_outside

# Read from a body over the limit and thrown away, so that its sender gets to read the answer 413.
DRAINED = 16 * 1024 * 1024
_PIECE = 64 * 1024

# How long a request waits for its turn before it goes on beside the one that has it: many short
# ones fit into it, and a long one keeps nobody waiting.
TURN_SECONDS = 0.02

# Tells whether the process lives, so it must not wait for requests that wait for the database.
LIVENESS = "/healthz"


class _Room:
    """The places of a process, and whose turn it is."""

    def __init__(self, places: int, *, takes_turns: bool) -> None:
        self.places = threading.BoundedSemaphore(places)
        self.turn = threading.Lock() if takes_turns else None


class _Place:
    """A place of the room for one request, with what its thread tells others while it is in."""

    def __init__(self, room: _Room) -> None:
        self._room = room
        self._has_turn = False

    def __enter__(self) -> None:
        """Wait for a place, and for the turn."""
        self._come_in()
        self._outside = waiting_outside.set(self.outside)
        self._aside = out_of_turn.set(self.aside)

    def __exit__(self, *_: object) -> None:
        """Leave."""
        out_of_turn.reset(self._aside)
        waiting_outside.reset(self._outside)
        self._go_out()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Give the place away, and wait for one again at the end."""
        self._go_out()
        try:
            yield
        finally:
            self._come_in()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Give the turn away, and wait for it again at the end; within another, nothing."""
        had_turn = self._has_turn
        self._end_turn()
        try:
            yield
        finally:
            if had_turn:
                self._await_turn()

    def _come_in(self) -> None:
        self._room.places.acquire()
        self._await_turn()

    def _go_out(self) -> None:
        self._end_turn()
        self._room.places.release()

    def _await_turn(self) -> None:
        if self._room.turn is not None and not self._has_turn:
            self._has_turn = self._room.turn.acquire(timeout=TURN_SECONDS)

    def _end_turn(self) -> None:
        if self._room.turn is not None and self._has_turn:
            self._has_turn = False
            self._room.turn.release()


def gate(
    application: WSGIApplication, *, places: int, max_body: int, takes_turns: bool = False
) -> WSGIApplication:
    """Let ``places`` requests into the application at a time, each with its body in memory.

    A body over ``max_body`` arrives cut to one byte more; the application answers 413 itself
    (app/core/body.py). A request whose client left before its body was complete never arrives.
    """
    room = _Room(places, takes_turns=takes_turns)

    def enter(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        body = _read_body(environ, max_body)
        if body is None:
            # Nobody reads this any more.
            start_response("400 Bad Request", [("Content-Length", "0")])
            return []
        environ["wsgi.input"] = io.BytesIO(body)
        if environ["PATH_INFO"] == LIVENESS:
            return _whole(application(environ, start_response))
        with _Place(room):
            parts = application(environ, start_response)
            if not environ.get(STREAMED):
                return _whole(parts)
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

    def __init__(self, parts: Iterable[bytes], room: _Room) -> None:
        self._parts = parts
        self._pieces = iter(parts)
        self._room = room

    def __iter__(self) -> Iterator[bytes]:
        """Itself."""
        return self

    def __next__(self) -> bytes:
        """The next piece."""
        with _Place(self._room):
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
