"""The connection of one attempt, which cannot reach an unchecked address.

The name is resolved once, and all its addresses must be allowed. The connection is made to one of
these IP addresses; certificate and SNI use the name.
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
from app.http.time_limit import Guard
from app.webhooks import messages

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

RESOLVE_SECONDS = 5.0
CONNECT_SECONDS = 5.0
WRITE_SECONDS = 10.0
MAX_TRIED_ADDRESSES = 4

# Networks that deliveries must not reach, besides those that are not global.
_INSIDE = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "168.63.129.16/32"),
        *("64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fec0::/10", "100::/64"),
        *("2001:db8::/32", "::/96"),
    )
)


class AddressBlocked(HTTPError):
    """The name resolves to an address that deliveries may not connect to."""


class Unresolved(HTTPError):
    """The name does not resolve, or not in time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The operator's limits; ``total`` is the longest duration of an attempt, in seconds."""

    allowed: tuple[Network, ...]
    # A PEM file; None for the public authorities.
    ca_bundle: str | None
    user_agent: str
    total: float = 60.0


def limits(app: Flask, *, total: float = 60.0) -> Limits:
    """The limits of this installation's deliveries."""
    settings: Settings = app.config["SETTINGS"]
    return Limits(
        allowed=networks(settings.webhook_allowed_networks),
        ca_bundle=str(settings.webhook_ca_bundle) if settings.webhook_ca_bundle else None,
        user_agent=settings.user_agent,
        total=total,
    )


def networks(text: str) -> tuple[Network, ...]:
    """The networks of a comma-separated list of CIDRs; raises ValueError naming the wrong one."""
    parsed = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            parsed.append(ipaddress.ip_network(part, strict=False))
        except ValueError as error:
            raise ValueError(part) from error
    return tuple(parsed)


def may_connect(text: str, allowed: Iterable[Network]) -> bool:
    """Whether a delivery may connect to this address; an IPv4 one may be mapped into IPv6."""
    address = ipaddress.ip_address(text.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    if _is_in(address, allowed):
        return True
    if _is_in(address, _INSIDE) or address.is_multicast or address.is_reserved:
        return False
    return address.is_global


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def all_may(addresses: Sequence[str], allowed: tuple[Network, ...]) -> bool:
    """Whether a delivery may connect to each of these addresses; False for none at all."""
    return bool(addresses) and all(may_connect(address, allowed) for address in addresses)


def trusting(ca_bundle: str | None) -> ssl.SSLContext:
    """The TLS context that trusts these authorities; a file that changed is read again."""
    path = ca_bundle or DEFAULT_CA_BUNDLE_PATH
    status = Path(path).stat()
    return _context(path, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=8)
def _context(path: str, _changed_at: int, _inode: int) -> ssl.SSLContext:
    """Cached, because reading the public authorities takes 20 ms."""
    context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED)
    context.load_verify_locations(path)
    return context


class Adapter(HTTPAdapter):
    """Connects only through ``_Connection``, which always verifies."""

    def __init__(self, limits: Limits, guard: Guard) -> None:
        self._limits = limits
        self._guard = guard
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=trusting(self._limits.ca_bundle), **kwargs)
        connection = partial(_Connection, allowed=self._limits.allowed, guard=self._guard)
        pool = type("_Pool", (HTTPSConnectionPool,), {"ConnectionCls": staticmethod(connection)})
        self.poolmanager.pool_classes_by_scheme = {"https": pool}

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> Any:
        """The host alone; the context already says which authorities to trust."""
        host, _ = super().build_connection_pool_key_attributes(request, True)
        return host, {"cert_reqs": "CERT_REQUIRED"}

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the base class would read the authorities again."""


class _Connection(HTTPSConnection):
    """Resolves once, checks every address, and connects to one that it checked."""

    def __init__(
        self, host: str, *args: Any, allowed: tuple[Network, ...], guard: Guard, **kwargs: Any
    ) -> None:
        self._resolved_name = host
        self._allowed = allowed
        self._guard = guard
        super().__init__(host, *args, **kwargs)

    def _new_conn(self) -> socket.socket:
        addresses = resolve(self._resolved_name, self.port)
        if not all_may(addresses, self._allowed):
            raise AddressBlocked(messages.ADDRESS_NOT_ALLOWED)
        connected = _dial(addresses[:MAX_TRIED_ADDRESSES], self.port)
        self._guard.watch(connected)
        if connected.getpeername()[0] not in addresses:
            connected.close()
            raise AddressBlocked("connected to a different address than resolved")
        return connected

    def connect(self) -> None:
        """Connect, then set the timeout for writes, which the library takes from ``timeout``."""
        super().connect()
        self.timeout = WRITE_SECONDS


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, each once; raises Unresolved, after ``RESOLVE_SECONDS`` at most.

    Each lookup has its own thread: in a pool, a few names whose servers never answer would delay
    all others.
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
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def _dial(addresses: list[str], port: int) -> socket.socket:
    """A connection to the first of these addresses that accepts it."""
    deadline = time.monotonic() + CONNECT_SECONDS
    problem: OSError = TimeoutError(messages.NO_ADDRESS_RESPONDED)
    for address in addresses:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            return socket.create_connection((address, port), timeout=left)
        except OSError as error:
            problem = error
    raise problem
