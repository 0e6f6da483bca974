"""A lock on the machine among the processes of a test run: exclusive or shared."""

import fcntl
from pathlib import Path


class MachineLock:
    """Held exclusively by tests that measure time, and shared by all others."""

    def __init__(self, directory: Path) -> None:
        self._turn = (directory / "turn").open("a")
        self._machine = (directory / "machine").open("a")
        self._is_alone = False

    def take(self, *, alone: bool) -> None:
        if self._is_alone and alone:
            return
        # A waiting process holds the turn; otherwise others would keep the machine busy forever.
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        fcntl.flock(self._machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self._turn, fcntl.LOCK_UN)
        self._is_alone = alone

    def release(self) -> None:
        fcntl.flock(self._machine, fcntl.LOCK_UN)
        self._is_alone = False
