"""The one writer of a SQLite file, over all threads and processes."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from app.core.errors import Unavailable
from app.core.lanes import Lane, require

LOCK_SECONDS = 10.0
# Between two looks at whether another process is done writing.
LOCK_NAP_SECONDS = 0.0001


class WriterLock:
    """One writer at a time over all threads and processes, its checkpoint included.

    SQLite before 3.51.3 can lose committed data when a checkpoint meets a write (the WAL-reset
    bug); commits checkpoint inside this lock, so the two never overlap.

    A process asks for the file's lock with one thread at a time, and only when it holds the turn:
    who writes all the time does not get it again before others that wait.
    """

    def __init__(self, path: str) -> None:
        self._thread = threading.Lock()
        self._turn = _opened(f"{path}-next")
        self._write = _opened(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; raises Unavailable after ten seconds."""
        if not self._thread.acquire(timeout=LOCK_SECONDS):
            raise Unavailable
        try:
            if not self._lock_free_file():
                self._lock_file()
            try:
                yield
            finally:
                fcntl.flock(self._write, fcntl.LOCK_UN)
        finally:
            self._thread.release()

    def close(self) -> None:
        """Let go of the files; whoever else has them open keeps what is held."""
        os.close(self._turn)
        os.close(self._write)

    def _lock_free_file(self) -> bool:
        """Lock the file, unless another process has it or waits for it."""
        if not _locked(self._turn):
            return False
        try:
            return _locked(self._write)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def _lock_file(self) -> None:
        deadline = time.monotonic() + LOCK_SECONDS
        _wait_for(self._turn, deadline)
        try:
            _wait_for(self._write, deadline)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)


def _wait_for(descriptor: int, deadline: float) -> None:
    """Lock a file alone; the system's own wait knows no deadline. Raises Unavailable after it."""
    while not _locked(descriptor):
        if time.monotonic() > deadline:
            raise Unavailable
        time.sleep(LOCK_NAP_SECONDS)


def _locked(descriptor: int) -> bool:
    """Lock a file alone, if nobody has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


_locks: dict[str, WriterLock] = {}
_locks_guard = threading.Lock()


def _forget_locks() -> None:
    """Have a forked process open its own: with its parent's, it would share what they hold."""
    global _locks_guard  # noqa: PLW0603 - a thread of the parent may have held it
    _locks_guard = threading.Lock()
    for lock in _locks.values():
        lock.close()
    _locks.clear()


os.register_at_fork(after_in_child=_forget_locks)


@contextmanager
def writer_lock(engine: Engine) -> Iterator[None]:
    """The writer lock of a SQLite file; on PostgreSQL, which orders writers by rows, nothing."""
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
                raise Unavailable from error
    with _locks[path].locked():
        yield
