"""Which web pages may call: a page that a browser shows must not reach a bot's address by DNS."""

from urllib.parse import urlsplit

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
PORTS = {"http": 80, "https": 443}


def is_foreign(origin: str | None, base_url: str) -> bool:
    """Whether this Origin is neither the service's own nor of this machine; none at all is fine.

    Never compared with ``Host``, which an attacker chooses as well.
    """
    if origin is None:
        return False
    found = _parts(origin)
    return found is None or not (found == _parts(base_url) or found[1] in LOCAL)


def _parts(address: str) -> tuple[str, str, int] | None:
    try:
        split = urlsplit(address)
        if split.scheme not in PORTS or not split.hostname:
            return None
        return split.scheme, split.hostname, split.port or PORTS[split.scheme]
    except ValueError:
        return None
