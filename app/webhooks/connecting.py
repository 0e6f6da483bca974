"""The connection of one attempt: to the address that was judged, under the certificate of its name.

The name is resolved once; every address it has must be allowed; the connection is made to one of
them as a number, while certificate and SNI go by the name.
"""

import ipaddress
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import requests
from flask import Flask
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPSConnection
from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.util.ssl_ import create_urllib3_context

from app.config import Settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_INSIDE = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "168.63.129.16/32"),
        *("64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10", "100::/64"),
        *("2001:db8::/32", "::/96"),
    )
)


def networks(text: str) -> tuple[Network, ...]:
    """The networks of a comma-separated list of CIDRs; raises ValueError naming the wrong one."""
    found = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            found.append(ipaddress.ip_network(part, strict=False))
        except ValueError as error:
            raise ValueError(part) from error
    return tuple(found)


def unmapped(text: str) -> Address:
    """The address, an IPv4 one where IPv6 only wraps it."""
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped if mapped is not None else address


def may_connect(text: str, allowed: Iterable[Network]) -> bool:
    """Whether a delivery may connect to this address."""
    address = unmapped(text)
    if any(address.version == network.version and address in network for network in allowed):
        return True
    inside = any(address.version == net.version and address in net for net in _INSIDE)
    return not inside and address.is_global and not (address.is_multicast or address.is_reserved)


def all_may(found: Sequence[str], allowed: Iterable[Network]) -> bool:
    """Whether every one of these addresses may be connected to; none at all is no."""
    allowed = tuple(allowed)
    return bool(found) and all(may_connect(text, allowed) for text in found)


RESOLVE_SECONDS = 5.0
CONNECT_SECONDS = 5.0
WRITE_SECONDS = 10.0
DIALLED = 4


class AddressBlocked(HTTPError):
    """The name leads to an address that deliveries may not connect to."""


class Unresolved(HTTPError):
    """The name leads nowhere, or the resolver did not answer in time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator allows, and how long an attempt may take in all, in seconds."""

    allowed: tuple[Network, ...]
    # A PEM file; None for the authorities that everyone trusts.
    ca_bundle: str | None
    user_agent: str
    total: float = 60.0


def trusting(ca_bundle: str | None) -> ssl.SSLContext:
    """The TLS of all attempts that trust these authorities; a file that changed is read again."""
    path = ca_bundle or DEFAULT_CA_BUNDLE_PATH
    known = Path(path).stat()
    return _context(path, known.st_mtime_ns, known.st_ino)


@lru_cache(maxsize=8)
def _context(path: str, _changed_at: int, _inode: int) -> ssl.SSLContext:
    """Reading the usual authorities takes 20 ms, so it is not done for each attempt."""
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED)
    context.load_verify_locations(path)
    return context


class Guard:
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


class Adapter(HTTPAdapter):
    """Makes its connections through ``_Connection`` alone, which always verifies."""

    def __init__(self, limits: Limits, guard: Guard) -> None:
        self._limits = limits
        self._guard = guard
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """As the base class does, with a pool that knows which addresses are allowed."""
        super().init_poolmanager(*args, ssl_context=trusting(self._limits.ca_bundle), **kwargs)
        connection = partial(_Connection, allowed=self._limits.allowed, guard=self._guard)
        pool = type("_Pool", (HTTPSConnectionPool,), {"ConnectionCls": staticmethod(connection)})
        self.poolmanager.pool_classes_by_scheme = {"https": pool}

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> Any:
        """The host alone; whom to trust is in the context already."""
        host, _ = super().build_connection_pool_key_attributes(request, True)
        return host, {"cert_reqs": "CERT_REQUIRED"}

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Leave the connection as it is: the base class would have it read the files again."""


class _Connection(HTTPSConnection):
    """Resolves once, judges every address, and connects to one of those it judged."""

    def __init__(
        self,
        host: str,
        *args: Any,
        allowed: tuple[Network, ...],
        guard: Guard,
        **kwargs: Any,
    ) -> None:
        self._resolved_name = host
        self._allowed = allowed
        self._guard = guard
        super().__init__(host, *args, **kwargs)

    def _new_conn(self) -> socket.socket:
        found = resolved(self._resolved_name, self.port)
        if not all_may(found, self._allowed):
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
            answers.put(_resolve_name(host.strip("[]"), port))
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


def _resolve_name(host: str, port: int) -> list[str]:
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


def limits(app: Flask, *, total: float = 60.0) -> Limits:
    """The limits of this installation's deliveries; ``total`` is in seconds."""
    settings: Settings = app.config["SETTINGS"]
    return Limits(
        allowed=networks(settings.webhook_allowed_networks),
        ca_bundle=str(settings.webhook_ca_bundle) if settings.webhook_ca_bundle else None,
        user_agent=settings.user_agent,
        total=total,
    )
