"""The real server in its own process, as ``make run`` starts it."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psutil

from tests.support.forking import Forked, ForkedProcess, ended, fork, kill_with_children
from tests.support.instances import prepare

ROOT = Path(__file__).resolve().parent.parent.parent
READY = re.compile(r"^\S.* is ready\b.*$", re.MULTILINE)
COMMAND = (sys.executable, "-m", "flask", "--app", "wsgi", "serve")
POWERLESS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
# The application that dies at a named point of a delivery.
CRASHING = (sys.executable, "-m", "flask", "--app", "tests.support.crashing", "serve")
# Under nohup, child processes would inherit that SIGHUP is ignored.
HANGUP_ENDS = ("env", "--default-signal=HUP")


@dataclass(frozen=True)
class Answer:
    """A response, fully read."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A running server."""

    process: subprocess.Popen[bytes] | ForkedProcess
    port: int
    log: Path

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    def output(self) -> str:
        """Return all output so far, from both streams."""
        return self.log.read_text()

    def request(
        self, method: str, path: str, body: Any = None, timeout: float = 20, **headers: str
    ) -> Answer:
        """Send a request on its own connection; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if body is not None and not isinstance(body, bytes):
                body = orjson.dumps(body)
                sent.setdefault("Content-Type", "application/json")
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def connect(self, sent: bytes = b"", timeout: float = 20) -> socket.socket:
        """Open a connection and send raw bytes."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        connection.sendall(sent)
        return connection

    def workers(self) -> list[int]:
        """Return the ids of the worker processes."""
        return [child.pid for child in psutil.Process(self.process.pid).children()]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Signal it to stop; return its exit code. Fails if that takes over 20 seconds."""
        self.process.send_signal(how)
        return self.process.wait(timeout=20)


def environment(instance: Path, port: int, **settings: Any) -> dict[str, str]:
    """Return a minimal environment with only the given settings, and one worker."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {name: str(value) for name, value in settings.items()}
    own = {"INSTANCE_DIR": str(instance), "PORT": str(port), "WORKERS": "1"}
    return inherited | own | given


def unused_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(
    instance: Path,
    port: int | None = None,
    command: tuple[str, ...] | Forked = COMMAND,
    **settings: Any,
) -> Served:
    """Start a server on an instance directory, and wait until it reports that it is ready.

    An existing directory is used as it is; an empty one gives a first start from nothing.
    """
    if not instance.exists():
        prepare(instance, with_database="DATABASE_URL" not in settings)
    port = port or unused_port()
    log = instance.with_name(f"{instance.name}-{port}.log")
    log.touch()
    # Skip earlier output: another server may have reported there that it was ready.
    before = log.stat().st_size
    given = environment(instance, port, **settings)
    if isinstance(command, Forked):
        process = fork(command, ROOT, given, log)
    else:
        process = _popen(command, given, log)
    served = Served(process, port, log)
    try:
        until(lambda: READY.search(served.output()[before:]) or process.poll() is not None, 60)
        assert process.poll() is None, served.output()
    except BaseException:
        end(served)
        raise
    return served


def _popen(command: tuple[str, ...], given: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        command = (*HANGUP_ENDS, *command)
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # The umask of most shells: others may read files with default modes.
            umask=0o022,
            # A process group, so that a test can signal this process alone or the whole group.
            start_new_session=True,
        )


def end(served: Served) -> None:
    """Kill the server and its workers."""
    kill_with_children(served.process)
    served.process.wait()


@contextmanager
def serving(instance: Path, **settings: Any) -> Iterator[Served]:
    """Run a server for a with-statement."""
    served = start(instance, **settings)
    try:
        yield served
    finally:
        end(served)


def refused_start(instance: Path, port: int, command: Forked | None = None, **settings: Any) -> str:
    """Start a server that must refuse; return its output.

    File modes apply to it even as root, unless it is forked.
    """
    if command is not None:
        log, errors = (
            instance.with_name(f"{instance.name}-{port}.{end}") for end in ("log", "err")
        )
        given = environment(instance, port, **settings)
        assert ended(fork(command, ROOT, given, log, errors), log, 30) == 1, errors.read_text()
        return errors.read_text().strip().splitlines()[-1]
    done = subprocess.run(
        (*POWERLESS, *COMMAND) if os.geteuid() == 0 else COMMAND,
        cwd=ROOT,
        env=environment(instance, port, **settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr.strip().splitlines()[-1]


def is_healthy(served: Served) -> bool:
    """Return whether the server responds."""
    try:
        return served.request("GET", "/healthz", timeout=2).status == 200
    except OSError:
        return False


def until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """Wait until the condition is true; return its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)
