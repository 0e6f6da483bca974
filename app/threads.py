"""Which of the server's threads take requests: a few, and another for each that must wait.

A thread that goes from one request to the next finds its data in the processor's caches, and each
further one that comes in takes Python away from it meanwhile. So a few threads of the server's pool
take requests, and the others rest. Whoever says that it must wait, for the disk, a lock or a client
(app/gate.py), has another take requests in its stead; and where nobody took one for WATCH_SECONDS,
a watch sees to that.

However many requests wait, there is a thread for the next one. Only the thread that took a request
can read its body; where that leaves fewer than KEPT_FREE of a full pool, the body is not read
(app/worker.py). What comes after needs no thread of the pool: where fewer than KEPT_TO_READ are
left, a request is handed on to a thread of its own.
"""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Thread, get_ident, local

from app.core.calls import uncalled

# Threads of the server's pool. It makes one when a request finds none to take it.
POOL = 128
# Of a full pool, so many never wait, and so many wait for bodies alone.
KEPT_FREE = 16
KEPT_TO_READ = 64

# How long all who take requests may be at work on one each before another takes the next.
WATCH_SECONDS = 0.005
# The watch ends after so many looks at which nothing was to be done, until there may be something.
QUIET_LOOKS = 10

# A body is there nearly always when its request is, so nobody is called for the time of reading it,
# unless so many already wait for theirs.
FEW_READERS = 2


class _Presence:
    """Lies in a thread, and goes with it: threads of the pool that had nothing to do end."""

    def __init__(self, ended: deque[int]) -> None:
        self._ended = ended
        self._thread = get_ident()

    def __del__(self) -> None:
        # In no order with anything, so it must not wait for a lock.
        self._ended.append(self._thread)


class Takers:
    """The threads of the pool: who waits for a request, works on one, waits in one, or rests."""

    def __init__(self, wanted: int, pool: int = POOL) -> None:
        """Let ``wanted`` threads take requests, of a pool of so many."""
        self._wanted = wanted
        self._pool = pool
        self._guard = Lock()
        self._known: set[int] = set()
        self._ended: deque[int] = deque()
        self._presence = local()
        self._free = 0
        self._working = 0
        self._readers = 0
        self._resting: list[Lock] = []
        self._taken = 0
        self._is_watched = False
        self._watch_wanted = uncalled()
        self._watch: Thread | None = None

    def took(self) -> None:
        """The thread took a request; it says when it has ``finished``."""
        thread = get_ident()
        with self._guard:
            self._taken += 1
            self._forget_ended()
            if thread in self._known:
                self._free -= 1
            else:
                self._known.add(thread)
                self._presence.here = _Presence(self._ended)
            self._presence.has_waited = False
            self._working += 1
            self._begin_watch()

    def leave(self, number: int) -> bool:
        """Whether so many threads are left for the next requests while this one waits."""
        return len(self._known) < self._pool or self._free + len(self._resting) >= number

    def finished(self) -> None:
        """The thread is done with its request; returns when it is to take the next."""
        with self._guard:
            self._working -= 1
            # Whoever had to wait is one more, so that the next that must need not call another.
            if self._free + self._working < self._wanted + self._presence.has_waited:
                self._free += 1
                return
            called = uncalled()
            self._resting.append(called)
            # There is somebody to call now, and maybe nobody who takes requests.
            self._begin_watch()
        called.acquire()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Meanwhile this thread waits, and another takes requests; for any other thread nothing."""
        with self._away(calls=True):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Meanwhile this thread reads a body, for which it may have to wait."""
        with self._guard:
            self._readers += 1
            are_many = self._readers > FEW_READERS
        try:
            with self._away(calls=are_many):
                yield
        finally:
            with self._guard:
                self._readers -= 1

    @contextmanager
    def _away(self, *, calls: bool) -> Iterator[None]:
        if get_ident() not in self._known:
            yield
            return
        with self._guard:
            self._working -= 1
            if calls:
                self._presence.has_waited = True
                if self._free + self._working < self._wanted:
                    self._call_one()
        try:
            yield
        finally:
            with self._guard:
                self._working += 1

    def _forget_ended(self) -> None:
        while self._ended:
            self._known.discard(self._ended.popleft())
            self._free -= 1

    def _call_one(self) -> None:
        """Have one who rests take requests, if any does."""
        if self._resting:
            self._free += 1
            # The one that rested shortest, as it remembers most.
            self._resting.pop().release()

    def _begin_watch(self) -> None:
        """Have the watch look on, unless it does; it has to, where nobody is free."""
        if self._is_watched or self._free > 0:
            return
        if self._watch is None:
            watch = Thread(target=self._look_on, name="watch", daemon=True)
            try:
                watch.start()
            except RuntimeError:
                # No more threads can be had now; the next request tries again.
                return
            self._watch = watch
        self._is_watched = True
        if self._watch_wanted.locked():
            self._watch_wanted.release()

    def _look_on(self) -> None:
        while True:
            self._watch_wanted.acquire()
            quiet = 0
            while self._is_watched:
                taken = self._taken
                time.sleep(WATCH_SECONDS)
                with self._guard:
                    self._forget_ended()
                    if self._taken != taken:
                        quiet = 0
                    elif self._free == 0 and self._resting:
                        self._call_one()
                    else:
                        quiet += 1
                        self._is_watched = quiet < QUIET_LOOKS
