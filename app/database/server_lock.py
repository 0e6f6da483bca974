"""The lock beside a SQLite file: it admits one server, and none while some commands run."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ServerRuns(Exception):
    """Another process serves this database; ``process`` is its id, or ``unknown``."""

    def __init__(self, process: str) -> None:
        super().__init__(process)
        self.process = process


@contextmanager
def sole_use_of(database: Path | None, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of a SQLite file; raises ServerRuns after ``patience`` seconds.

    The workers of a server share it with their parent, so it is free once the last of them ends. A
    database that is not a file has no such lock.
    """
    if database is None:
        yield
        return
    with Path(f"{database}.server").open("a+") as lock:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    lock.seek(0)
                    raise ServerRuns(lock.read().strip() or "unknown") from None
                time.sleep(0.1)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield
