"""Which addresses a delivery may connect to: public ones, and those that the operator allows.

The standard library's ``is_global`` misses networks that lead inside by translation or by the
habits of cloud providers; they are listed here.
"""

import ipaddress
from collections.abc import Iterable, Sequence

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
