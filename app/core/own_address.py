"""Which hosts and origins belong to this service.

This check prevents DNS rebinding: an attacker's host name that resolves to this machine would let
a page of the attacker act as a page of Docket.
"""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

LOCALHOST = "localhost"
MAX_HOST_LENGTH = 255
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """The address of an installation: ``base_url`` if it is set, else any IP with this port."""

    base_url: str | None
    port: int
    allowed_hosts: tuple[str, ...] = ()

    def is_host(self, header: str) -> bool:
        """Whether a request may be addressed to this ``Host``."""
        return len(header) <= MAX_HOST_LENGTH and _is_host(self, header)

    def is_origin(self, header: str) -> bool:
        """Whether pages of this ``Origin`` belong to the service."""
        return len(header) <= MAX_HOST_LENGTH and _is_origin(self, header)


@lru_cache(maxsize=256)
def _is_host(own: OwnAddress, header: str) -> bool:
    parts = _parts(f"http://{header}")
    if parts is None:
        return False
    name = parts[1]
    if own.base_url is not None and name == urlsplit(own.base_url).hostname:
        return True
    return name == LOCALHOST or is_ip(name) or name in own.allowed_hosts


@lru_cache(maxsize=256)
def _is_origin(own: OwnAddress, header: str) -> bool:
    parts = _parts(header)
    if parts is None:
        return False
    if own.base_url is not None:
        return parts == _parts(own.base_url)
    _, name, port = parts
    return port == own.port and (name == LOCALHOST or is_ip(name))


def _parts(address: str) -> tuple[str, str, int] | None:
    """The scheme, host and port of an address; None if it has other parts."""
    try:
        split = urlsplit(address)
        port = split.port
    except ValueError:
        return None
    is_whole = split.scheme in PORTS and split.hostname and address.isascii()
    rest = (split.path.strip("/"), split.query, split.fragment, split.username, split.password)
    if not is_whole or any(rest) or split.hostname is None:
        return None
    return split.scheme, split.hostname, port if port is not None else PORTS[split.scheme]


def is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
