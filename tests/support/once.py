"""What every process of a run would make alike: one makes it, and all copy it."""

import atexit
import fcntl
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

# Where the processes of this run find it.
_directories: list[Path] = []


def share(directory: Path) -> None:
    """Have this process share with all others that name the same directory."""
    _directories.append(directory)


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The directory of this name, which ``make`` fills in the process that is first to ask."""
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
