"""Share what every process of a run needs: one process makes it, and all copy it."""

import atexit
import fcntl
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

# The shared directory of this run.
_directories: list[Path] = []


def share(directory: Path) -> None:
    """Share made directories with all processes that name the same directory."""
    _directories.append(directory)


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return the directory of this name; the first process to ask fills it with ``make``."""
    root = _directories[-1] if _directories else _own()
    made, unfinished = root / name, root / f"{name}-unfinished"
    with (root / f"{name}-lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(made)
    return made


@cache
def _own() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="docket-test-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
