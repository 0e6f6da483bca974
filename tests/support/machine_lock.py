"""The machine among the processes of a test run: for one test alone, or for all."""

import fcntl
from pathlib import Path


class MachineLock:
    """Held alone by tests that measure time, one after the other, and shared by all others."""

    def __init__(self, directory: Path) -> None:
        self._turn = (directory / "turn").open("a")
        self._machine = (directory / "machine").open("a")
        self._is_alone = False

    def take(self, *, alone: bool) -> None:
        if self._is_alone and alone:
            return
        # Who waits for the machine holds the turn, or it would never be free of the others.
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        fcntl.flock(self._machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self._turn, fcntl.LOCK_UN)
        self._is_alone = alone

    def release(self) -> None:
        fcntl.flock(self._machine, fcntl.LOCK_UN)
        self._is_alone = False
