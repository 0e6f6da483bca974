"""Servers and commands forked from a process that has imported the application.

Importing takes most of the start time.

Clients cannot tell them from servers started by a shell. Tests of first starts and of Ctrl-C, and
all measurements, use real ones (tests/support/serving.py).
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import psutil
from flask.cli import main


@dataclass(frozen=True)
class Forked:
    """A forked ``flask`` command that uses the application of this module."""

    module: str
    arguments: tuple[str, ...] = ("serve",)


FORKED = Forked("wsgi")
# The application that dies at a named point of a delivery.
FORKED_CRASHING = Forked("tests.support.crashing")

_context = get_context("forkserver")
_context.set_forkserver_preload(["tests.support.preloaded"])


class ForkedProcess:
    """A forked command with the parts of ``subprocess.Popen`` that tests need."""

    def __init__(self, process: ForkServerProcess, command: str) -> None:
        self._process, self._command = process, command
        assert process.pid is not None
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for and return the exit code; raises TimeoutExpired, like Popen."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._command, timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def fork(
    how: Forked,
    directory: Path,
    environment: dict[str, str],
    log: Path,
    errors: Path | None = None,
) -> ForkedProcess:
    """Start a command that appends its output to one file, or to one per stream."""
    files = (log, errors or log)
    for file in files:
        file.touch()
    process = _context.Process(target=_run, args=(how, directory, environment, files))
    process.start()
    return ForkedProcess(process, how.module)


def ended(process: ForkedProcess, log: Path, seconds: float = 60) -> int:
    """Return the exit code; on timeout kill the process and show its log."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        kill_with_children(process)
        process.wait()
        raise AssertionError(f"it did not end:\n{log.read_text()}") from None


def kill_with_children(process: ForkedProcess | subprocess.Popen[bytes]) -> None:
    """Kill a process and its children; workers are not in its process group."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(process.pid).children()
        process.kill()
        for child in children:
            child.kill()


def elsewhere(work: Callable[..., None], *arguments: Any) -> None:
    """Call a module-level function in a new process, which must succeed."""
    process = _context.Process(target=work, args=arguments)
    process.start()
    process.join(60)
    if process.exitcode is None:
        process.kill()
        process.join()
    assert process.exitcode == 0


def _run(
    how: Forked, directory: Path, environment: dict[str, str], files: tuple[Path, Path]
) -> None:
    """Do what ``flask --app MODULE ARGUMENTS`` does, in a new process."""
    # Start a process group, so that a test can signal this process alone or the whole group.
    os.setsid()
    # The umask of most shells: others may read files with default modes.
    os.umask(0o022)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir(directory)
    nothing = os.open(os.devnull, os.O_RDONLY)
    output, errors = (os.open(file, os.O_WRONLY | os.O_APPEND) for file in files)
    for source, target in ((nothing, 0), (output, 1), (errors, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["flask", "--app", how.module, *how.arguments]
    main()
