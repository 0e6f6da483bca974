"""Sending one request: to the address that was judged, within bounded time, reading little back.

The name is resolved once; every address it has must be allowed; the connection is made to one of
them as a number, while certificate and SNI go by the name. No proxy, no redirect, no retry, no
second resolution (reliability.md, section 3.1).
"""

import queue
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPSConnection
from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.exceptions import HTTPError

from app.webhooks import addresses
from app.webhooks.attempts import Attempt, Outcome

RESOLVE_SECONDS = 5.0
CONNECT_SECONDS = 5.0
WRITE_SECONDS = 10.0
READ_SECONDS = 30.0
READ_BYTES = 64 * 1024
DIALLED = 4
MESSAGE_LENGTH = 300


class AddressBlocked(HTTPError):
    """The name leads to an address that deliveries may not connect to."""


class Unresolved(HTTPError):
    """The name leads nowhere, or the resolver did not answer in time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator allows, and how long an attempt may take in all, in seconds."""

    allowed: tuple[addresses.Network, ...]
    ca_bundle: str | None
    user_agent: str
    total: float = 60.0


def send(attempt: Attempt, limits: Limits) -> Outcome:
    """Make the attempt; whatever happens is an outcome, never an exception."""
    if attempt.secret is None:
        return Outcome(None, 0, "the secret was sealed under another SECRET_KEY; rotate it")
    started = time.monotonic()
    guard = _Guard(limits.total)
    try:
        status = _post(attempt, limits, guard)
        error, transient = _judged(status)
    except Exception as problem:
        status = None
        error, transient = _described(problem, guard)
    finally:
        guard.end()
    return Outcome(status, round((time.monotonic() - started) * 1000), error, transient)


def _judged(status: int) -> tuple[str | None, bool]:
    if 200 <= status < 300:
        return None, False
    if 300 <= status < 400:
        return f"HTTP {status}: redirects are not followed", False
    return f"HTTP {status}", status == 429 or status >= 500


def _described(problem: Exception, guard: "_Guard") -> tuple[str, bool]:
    """What to tell people, and whether another attempt could do better."""
    causes = list(_causes(problem))
    if any(isinstance(cause, AddressBlocked) for cause in causes):
        return "address not allowed", False
    if guard.has_fired:
        return "timeout: the attempt took too long", True
    for kind, text in _KNOWN:
        if any(isinstance(cause, kind) for cause in causes):
            return text, True
    return f"{type(problem).__name__}"[:MESSAGE_LENGTH], True


def _causes(problem: BaseException) -> Any:
    """The exception and everything it wraps."""
    seen: list[BaseException] = []
    waiting: list[Any] = [problem]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
    return seen


_KNOWN: tuple[tuple[type[BaseException], str], ...] = (
    (Unresolved, "the host name could not be resolved"),
    (requests.exceptions.SSLError, "TLS: the certificate or handshake was not accepted"),
    (requests.exceptions.ConnectTimeout, "timeout while connecting"),
    (requests.exceptions.ReadTimeout, "timeout while waiting for the answer"),
    (TimeoutError, "timeout"),
    (ConnectionRefusedError, "connection refused"),
    (ConnectionResetError, "connection reset"),
    (requests.exceptions.ConnectionError, "connection failed"),
)


class _Guard:
    """Ends an attempt that takes too long in all, by shutting its socket down."""

    def __init__(self, seconds: float) -> None:
        self.has_fired = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True
        self._timer.start()

    def watch(self, connected: socket.socket) -> None:
        """Shut this connection down when time is up.

        Through a second descriptor: TLS takes the first one over, and its owner may close it.
        """
        with self._lock:
            self._sockets.append(connected.dup())
            if self.has_fired:
                _shut(connected)

    def _fire(self) -> None:
        with self._lock:
            self.has_fired = True
            for connected in self._sockets:
                _shut(connected)

    def end(self) -> None:
        """The attempt is over."""
        self._timer.cancel()
        with self._lock:
            for connected in self._sockets:
                connected.close()
            self._sockets.clear()


def _shut(connected: socket.socket) -> None:
    try:
        connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _post(attempt: Attempt, limits: Limits, guard: _Guard) -> int:
    """The status of the answer; its body is read up to a bound and thrown away."""
    body = attempt.body()
    headers = attempt.headers(body, int(time.time()), limits.user_agent)
    headers |= {"Accept-Encoding": "identity", "Accept": "*/*", "Connection": "close"}
    with requests.Session() as session:
        # No proxies and no .netrc from the environment.
        session.trust_env = False
        session.adapters.clear()
        session.mount("https://", _Adapter(limits, guard))
        with session.post(
            attempt.url,
            data=body,
            headers=headers,
            timeout=(CONNECT_SECONDS, READ_SECONDS),
            verify=limits.ca_bundle or True,
            allow_redirects=False,
            stream=True,
        ) as response:
            status = int(response.status_code)
            _discard(response)
            return status


def _discard(response: requests.Response) -> None:
    """Read a little of the body; what goes wrong with it does not change the outcome."""
    try:
        response.raw.read(READ_BYTES, decode_content=False)
    except (HTTPError, OSError, requests.RequestException):
        return


class _Adapter(HTTPAdapter):
    """Makes its connections through ``_Connection`` alone."""

    def __init__(self, limits: Limits, guard: _Guard) -> None:
        self._limits = limits
        self._guard = guard
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """As the base class does, with a pool that knows which addresses are allowed."""
        super().init_poolmanager(*args, **kwargs)
        connection = partial(_Connection, allowed=self._limits.allowed, guard=self._guard)
        pool = type("_Pool", (HTTPSConnectionPool,), {"ConnectionCls": staticmethod(connection)})
        self.poolmanager.pool_classes_by_scheme = {"https": pool}


class _Connection(HTTPSConnection):
    """Resolves once, judges every address, and connects to one of those it judged."""

    def __init__(
        self,
        *args: Any,
        allowed: tuple[addresses.Network, ...],
        guard: _Guard,
        **kwargs: Any,
    ) -> None:
        self._allowed = allowed
        self._guard = guard
        super().__init__(*args, **kwargs)

    def _new_conn(self) -> socket.socket:
        found = resolved(str(self._dns_host), self.port)
        if not addresses.all_may(found, self._allowed):
            raise AddressBlocked("address not allowed")
        connected = _dialled(found[:DIALLED], self.port)
        self._guard.watch(connected)
        if connected.getpeername()[0] not in found:
            connected.close()
            raise AddressBlocked("the peer is another than was resolved")
        return connected

    def connect(self) -> None:
        """Connect, then give writing its own limit (the library sets the socket's from this)."""
        super().connect()
        self.timeout = WRITE_SECONDS


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, each once; raises Unresolved.

    Looked up in a thread of its own, which nobody waits for longer than RESOLVE_SECONDS: in a pool,
    a few names whose servers never answer would keep all others waiting.
    """
    answers: queue.SimpleQueue[list[str] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(_look_up(host.strip("[]"), port))
        except Exception as problem:
            answers.put(problem)

    threading.Thread(target=look_up, name="webhook-resolver", daemon=True).start()
    try:
        answer = answers.get(timeout=RESOLVE_SECONDS)
    except queue.Empty:
        raise Unresolved(host) from None
    if isinstance(answer, Exception):
        raise Unresolved(host) from answer
    return answer


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _dialled(found: list[str], port: int) -> socket.socket:
    """A connection to the first of these addresses that answers."""
    deadline = time.monotonic() + CONNECT_SECONDS
    problem: OSError = TimeoutError("no address answered")
    for address in found:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            return socket.create_connection((address, port), timeout=left)
        except OSError as error:
            problem = error
    raise problem


Sender = Callable[[Attempt, Limits], Outcome]
