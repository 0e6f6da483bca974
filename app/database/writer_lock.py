"""The writer lock of a SQLite file: one writer over all threads and processes."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from app.core.errors import Unavailable
from app.core.lanes import Lane, require
from app.database import messages
from app.database.failures import unavailable

LOCK_SECONDS = 10.0
# The wait between two attempts to lock a file.
LOCK_NAP_SECONDS = 0.0001


class WriterLock:
    """Admits one writer at a time, including its checkpoint.

    SQLite before 3.51.3 can lose committed data when a checkpoint overlaps a write (the WAL-reset
    bug). Commits checkpoint inside this lock, so the two never overlap.

    Only one thread of a process at a time waits for the file, and it takes the lock of the queue
    first. So a process that writes all the time does not overtake those that wait.
    """

    def __init__(self, path: str) -> None:
        self._thread = threading.Lock()
        self._queue = _open(f"{path}-next")
        self._write = _open(path)

    @contextmanager
    def locked(self, deadline: float | None = None) -> Iterator[None]:
        """Hold the lock; raises Unavailable after ``deadline`` (monotonic time) or ten seconds."""
        deadline = deadline or time.monotonic() + LOCK_SECONDS
        if not self._thread.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise waited_too_long()
        try:
            if not self._lock_free_file():
                self._lock_file(deadline)
            try:
                yield
            finally:
                fcntl.flock(self._write, fcntl.LOCK_UN)
        finally:
            self._thread.release()

    def close(self) -> None:
        """Close the files; locks of other processes stay."""
        os.close(self._queue)
        os.close(self._write)

    def _lock_free_file(self) -> bool:
        """Lock the file, unless another process holds the lock or waits for it."""
        if not _try_lock(self._queue):
            return False
        try:
            return _try_lock(self._write)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _lock_file(self, deadline: float) -> None:
        _wait_for(self._queue, deadline)
        try:
            _wait_for(self._write, deadline)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)


def _wait_for(descriptor: int, deadline: float) -> None:
    """Lock a file by polling, as flock has no deadline; raises Unavailable after it."""
    while not _try_lock(descriptor):
        if time.monotonic() > deadline:
            raise waited_too_long()
        time.sleep(LOCK_NAP_SECONDS)


def waited_too_long() -> Unavailable:
    """The refusal of a write whose turn does not come."""
    return unavailable(TimeoutError(messages.WRITES_TOO_LONG))


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


_locks: dict[str, WriterLock] = {}
_locks_guard = threading.Lock()


def _forget_locks() -> None:
    """After a fork: reopen the files, as inherited ones share the locks of the parent."""
    global _locks_guard  # noqa: PLW0603 - a thread of the parent may hold it
    _locks_guard = threading.Lock()
    for lock in _locks.values():
        lock.close()
    _locks.clear()


os.register_at_fork(after_in_child=_forget_locks)


@contextmanager
def writer_lock(engine: Engine, deadline: float | None = None) -> Iterator[None]:
    """Hold the writer lock of a SQLite file; PostgreSQL has row locks and needs none."""
    require(Lane.POOL)
    if engine.dialect.name != "sqlite" or not engine.url.database:
        yield
        return
    path = f"{engine.url.database}.write"
    with _locks_guard:
        if path not in _locks:
            try:
                _locks[path] = WriterLock(path)
            except OSError as error:
                raise unavailable(error) from error
    with _locks[path].locked(deadline):
        yield
