"""Where passkeys work, and the challenges that browsers sign with them.

The client holds the sealed challenge, so an abandoned login stores nothing. A challenge is used up
when it comes back.
"""

import base64
import os
from dataclasses import astuple, dataclass
from urllib.parse import urlsplit

import orjson
from cryptography.exceptions import InvalidTag

from app.accounts.used_tokens import use_once
from app.config import Settings
from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import Forbidden
from app.core.own_address import LOCALHOST, PORTS, is_ip
from app.database import encryption

LIFETIME_MS = 5 * MINUTE_MS
CHALLENGE_BYTES = 32
_CONTEXT = "passkey ceremony"


@dataclass(frozen=True, slots=True)
class Site:
    """What passkeys are bound to: the relying party's id and the origin of our pages."""

    host: str
    origin: str


@dataclass(frozen=True, slots=True)
class Ceremony:
    """A challenge for a login or, with ``adder``, for adding a passkey in that session."""

    challenge: str
    adder: str | None
    ends_at: int

    @property
    def token(self) -> str:
        """The sealed text that comes back with the signature."""
        sealed = encryption.encrypt(orjson.dumps(astuple(self)), _CONTEXT)
        return base64.urlsafe_b64encode(sealed).decode()

    def use(self) -> bool:
        """Use the challenge up in the current transaction; False if it already was."""
        return use_once(f"passkey:{self.challenge}", self.ends_at)


def site_of(settings: Settings) -> Site | None:
    """Where passkeys work: at an https address with a name, and on this machine.

    None for any other, since browsers refuse IP addresses and plain http.
    """
    if not settings.has_base_url:
        return Site(LOCALHOST, _origin("http", LOCALHOST, settings.port))
    parts = urlsplit(settings.base_url)
    host = parts.hostname or ""
    is_local = host == LOCALHOST or host.endswith(f".{LOCALHOST}")
    if is_ip(host) or not (parts.scheme == "https" or is_local):
        return None
    return Site(host, _origin(parts.scheme, host, parts.port))


def _origin(scheme: str, host: str, port: int | None) -> str:
    """The origin as browsers write it: without the default port."""
    return f"{scheme}://{host}" + ("" if port in (None, PORTS[scheme]) else f":{port}")


def open_site(settings: Settings) -> Site:
    """The site of passkeys; raises Forbidden if they cannot work or password logins are off."""
    if not settings.password_login:
        raise Forbidden("password_login_off")
    site = site_of(settings)
    if site is None:
        raise Forbidden("passkeys_unavailable")
    return site


def begun(adder: str | None = None) -> Ceremony:
    challenge = base64.urlsafe_b64encode(os.urandom(CHALLENGE_BYTES)).rstrip(b"=").decode()
    return Ceremony(challenge, adder, now_ms() + LIFETIME_MS)


def opened(token: str, adder: str | None = None) -> Ceremony | None:
    """The ceremony of a sealed text; None if it is forged, expired or for another ``adder``."""
    try:
        sealed = base64.urlsafe_b64decode(token.encode("ascii"))
        ceremony = Ceremony(*orjson.loads(encryption.decrypt(sealed, _CONTEXT)))
    except (ValueError, InvalidTag):
        return None
    return ceremony if ceremony.adder == adder and now_ms() < ceremony.ends_at else None
