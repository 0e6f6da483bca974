"""The gate before the application: a few requests are worked on at a time.

A request takes a place inside once its body is there (app/worker.py). So slow clients take none,
and the database sees no more requests than it has connections for.

An answer leaves its place whole, too. One that may be larger than memory is sent while it is made,
if the application asks for that: it takes a place for each piece, and waits for its reader without.

On SQLite, requests inside take turns. Python runs one thread at a time anyway, and a query there
waits for nothing; but SQLite lets go of Python at each row, so threads that run side by side pass
it around between the rows and take twice the processor. A request has its turn until it is done,
waits for the disk, a writer or another thread, or another has waited TURN_SECONDS.

There, too, an answer can be held back for a write that another writer is in the way of
(``core/held.py``): its request leaves its place, and its thread takes the next. An answer that is
streamed, or a failure that the application lets through, goes out at once all the same.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from app.core.context import STREAMED, out_of_turn, waiting_outside
from app.core.held import Held, Settles, hold
from app.settling import Settler
from app.threads import Takers

# How long a request waits for its turn before it goes on beside the one that has it: many short
# ones fit into it, and a long one keeps nobody waiting.
TURN_SECONDS = 0.02

# Where the environment has the answer that is held back, if it is.
HELD = "docket.held"

# Tells whether the process lives, so it must not wait for requests that wait for the database.
LIVENESS = "/healthz"


class _Room:
    """The places of a process, whose turn it is, and the threads that come in."""

    def __init__(self, places: int, takers: Takers, *, takes_turns: bool) -> None:
        self.places = threading.BoundedSemaphore(places)
        self.takers = takers
        self.turn = threading.Lock() if takes_turns else None
        self.settler = Settler(lambda: _Place(self, {}, is_counted=False)) if takes_turns else None


class _Place:
    """A place of the room for one request, with what its thread tells others while it is in.

    One that is not counted is beside the others: it has its turn as they have.
    """

    def __init__(self, room: _Room, environ: dict[str, Any], *, is_counted: bool = True) -> None:
        self._room = room
        self._environ = environ
        self._is_counted = is_counted
        self._has_turn = False
        self._is_aside = False

    def __enter__(self) -> None:
        """Wait for a place, and for the turn."""
        self._come_in()
        self._outside = waiting_outside.set(self.outside)
        self._aside = out_of_turn.set(self.aside)
        self._hold = hold.set(self.hold if self._room.settler is not None else None)

    def __exit__(self, *_: object) -> None:
        """Leave."""
        hold.reset(self._hold)
        out_of_turn.reset(self._aside)
        waiting_outside.reset(self._outside)
        self._go_out()

    def hold(self, left: Settles) -> Held:
        """Hold back the answer to this request for one thing more, and have that settled."""
        held: Held = self._environ.setdefault(HELD, Held())
        held.wait_for_another()
        if self._room.settler is not None:
            self._room.settler.call(left)
        return held

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Give the place away, and wait for one again at the end."""
        self._go_out()
        try:
            with self._waiting():
                yield
        finally:
            self._come_in()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Give the turn away, and wait for it again at the end; within another, nothing."""
        had_turn = self._has_turn
        self._end_turn()
        try:
            with self._waiting():
                yield
        finally:
            if had_turn:
                self._await_turn()

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Have another thread take requests; within another, nothing."""
        if self._is_aside:
            yield
            return
        self._is_aside = True
        try:
            with self._room.takers.waiting():
                yield
        finally:
            self._is_aside = False

    def _come_in(self) -> None:
        # Another would wait here as well, so none is called; the watch does, in time.
        if self._is_counted:
            self._room.places.acquire()
        self._await_turn()

    def _go_out(self) -> None:
        self._end_turn()
        if self._is_counted:
            self._room.places.release()

    def _await_turn(self) -> None:
        if self._room.turn is not None and not self._has_turn:
            self._has_turn = self._room.turn.acquire(timeout=TURN_SECONDS)

    def _end_turn(self) -> None:
        if self._room.turn is not None and self._has_turn:
            self._has_turn = False
            self._room.turn.release()


def gate(
    application: WSGIApplication, takers: Takers, *, places: int, takes_turns: bool = False
) -> WSGIApplication:
    """Let ``places`` requests into the application at a time."""
    room = _Room(places, takers, takes_turns=takes_turns)

    def enter(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == LIVENESS:
            return _whole(application(environ, start_response))
        with _Place(room, environ):
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
        with _Place(self._room, {}):
            return next(self._pieces)

    def close(self) -> None:
        """Say that no more is wanted."""
        _close(self._parts)
