"""The real server in a process of its own, as ``make run`` starts it."""

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
# An application made to die at a named point of a delivery.
CRASHING = (sys.executable, "-m", "flask", "--app", "tests.support.crashing", "serve")
# Under nohup, what tests start would inherit that SIGHUP is ignored.
HANGUP_ENDS = ("env", "--default-signal=HUP")


@dataclass(frozen=True)
class Answer:
    """A response, read whole."""

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
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def output(self) -> str:
        """Everything it has written so far, to either stream."""
        return self.log.read_text()

    def request(
        self, method: str, path: str, body: Any = None, timeout: float = 20, **headers: str
    ) -> Answer:
        """Send one request on a connection of its own; a body that is not bytes goes as JSON."""
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
        """The ids of its worker processes."""
        return [child.pid for child in psutil.Process(self.process.pid).children()]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop; its exit code. Fails where it takes over 20 seconds."""
        self.process.send_signal(how)
        return self.process.wait(timeout=20)


def environment(instance: Path, port: int, **settings: Any) -> dict[str, str]:
    """This process's environment without settings of ours but those given, and one worker."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {name: str(value) for name, value in settings.items()}
    own = {"INSTANCE_DIR": str(instance), "PORT": str(port), "WORKERS": "1"}
    return inherited | own | given


def unused_port() -> int:
    """A port that nothing listens on now."""
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
    """Start a server on its own instance directory, and wait until it says that it is ready.

    A directory that exists is used as it is: an empty one for a first start from nothing.
    """
    if not instance.exists():
        prepare(instance, with_database="DATABASE_URL" not in settings)
    port = port or unused_port()
    log = instance.with_name(f"{instance.name}-{port}.log")
    log.touch()
    # Another server may have written there that it is ready.
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
            # As most shells have it: others may read what does not refuse them.
            umask=0o022,
            # Of its own group, so that a test can send a signal to it alone or to all of it.
            start_new_session=True,
        )


def end(served: Served) -> None:
    """End the server and its workers without ceremony."""
    kill_with_children(served.process)
    served.process.wait()


@contextmanager
def serving(instance: Path, **settings: Any) -> Iterator[Served]:
    """A server for a with-statement."""
    served = start(instance, **settings)
    try:
        yield served
    finally:
        end(served)


def refused_start(instance: Path, port: int, command: Forked | None = None, **settings: Any) -> str:
    """Start a server that must refuse; what it said.

    Modes of files bind it even as root, unless it is forked.
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
    """Whether it answers."""
    try:
        return served.request("GET", "/healthz", timeout=2).status == 200
    except OSError:
        return False


def until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """Wait until the condition is true; its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)
