"""Answers that are held back until something is written down, while their thread goes on.

For what has to be written before an answer goes out, which says nothing of it. Where the database
is being written by somebody else just then, the request need not wait for that: it leaves the write
to the next that has one of its kind (``gathering.py``), and its answer goes out after it
(app/gate.py).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from threading import Lock
from typing import Protocol


class Held:
    """An answer that goes out once it is made, and all that it waits for is done."""

    def __init__(self) -> None:
        """It is not made yet."""
        self._guard = Lock()
        self._missing = 1
        self._send: Callable[[], None] | None = None

    def wait_for_another(self) -> None:
        """It waits for one thing more."""
        with self._guard:
            self._missing += 1

    def made(self, send: Callable[[], None]) -> None:
        """It is made, and sent by this, in whichever thread; which raises nothing."""
        self._send = send
        self.done()

    def done(self) -> None:
        """One of the things that it waits for is done."""
        with self._guard:
            self._missing -= 1
            is_ready = self._missing == 0
        if is_ready and self._send is not None:
            self._send()


class Settles(Protocol):
    """Something with writes that were left to it."""

    def settle(self, within: Callable[[], AbstractContextManager[None]], *, waits: bool) -> bool:
        """Do what is left, if anything is, ``within`` this.

        False where it could not be done without waiting for another writer, unless it ``waits``.
        """


# Holds back the answer to the request at hand, and has somebody settle what it waits for unless
# that is done before. None where no answer can be held back: outside of the server, and on
# PostgreSQL, which has no one writer to wait for.
hold: ContextVar[Callable[[Settles], Held] | None] = ContextVar("hold", default=None)
