"""Servers and commands forked from a process that has imported the application.

To import it takes most of a start.

They differ from those that a shell starts in nothing that a client can see. Tests of first starts
and of signals, and all measurements, use real ones (tests/support/serving.py).
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from flask.cli import main


@dataclass(frozen=True)
class Forked:
    """A command of ``flask``, forked, with the application of this module."""

    module: str
    arguments: tuple[str, ...] = ("serve",)


FORKED = Forked("wsgi")
# An application made to die at a named point of a delivery.
FORKED_CRASHING = Forked("tests.support.crashing")

_context = get_context("forkserver")
_context.set_forkserver_preload(["app", "flask.cli", "tests.support.forking"])


class ForkedProcess:
    """A forked command, with what tests need of ``subprocess.Popen``."""

    def __init__(self, process: ForkServerProcess, command: str) -> None:
        self._process, self._command = process, command
        assert process.pid is not None
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code; raises TimeoutExpired, as Popen does."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._command, timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def fork(how: Forked, directory: Path, environment: dict[str, str], log: Path) -> ForkedProcess:
    """Start a command that appends what it writes to a file."""
    log.touch()
    process = _context.Process(target=_run, args=(how, directory, environment, log))
    process.start()
    return ForkedProcess(process, how.module)


def elsewhere(work: Callable[..., None], *arguments: Any) -> None:
    """Call a function of a module in a process of its own, which must end well."""
    process = _context.Process(target=work, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == 0


def _run(how: Forked, directory: Path, environment: dict[str, str], log: Path) -> None:
    """What ``flask --app MODULE ARGUMENTS`` does in a process of its own."""
    # Of its own group, so that a test can send a signal to it alone or to all of it.
    os.setsid()
    # As most shells have it: others may read what does not refuse them.
    os.umask(0o022)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir(directory)
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["flask", "--app", how.module, *how.arguments]
    main()
