"""The sealed data that a browser carries from the start of a login at the provider to its end.

A flow is a cookie, a candidate a hidden field of the form that asks whether to link it.
"""

import base64
import hashlib
import secrets
from dataclasses import astuple, dataclass
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag

from app.core.clock import MINUTE_MS, now_ms
from app.database import encryption

LIFETIME_MS = 10 * MINUTE_MS
_FLOW, _CANDIDATE = "sign-on flow", "sign-on candidate"
# Cookies of several logins fit into one header line, for which nginx by default has 8 KiB.
MAX_TARGET_BYTES = 500


@dataclass(frozen=True, slots=True)
class SignOnFlow:
    """A login at the provider that started in this browser."""

    state: str
    nonce: str
    verifier: str
    target: str
    # The id of the person who links an account; None for a login.
    links: str | None
    ends_at: int

    @property
    def begun_at(self) -> int:
        return self.ends_at - LIFETIME_MS

    @property
    def challenge(self) -> str:
        """The PKCE challenge, by S256."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class Candidate:
    """An account at the provider that a person may link once they confirm it."""

    user_id: str
    issuer: str
    subject: str
    name: str
    ends_at: int


def begun(target: str, links: str | None) -> SignOnFlow:
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    kept = target if len(orjson.dumps(target)) <= MAX_TARGET_BYTES else "/"
    return SignOnFlow(state, nonce, verifier, kept, links, now_ms() + LIFETIME_MS)


def sealed(one: SignOnFlow | Candidate) -> str:
    context = _FLOW if isinstance(one, SignOnFlow) else _CANDIDATE
    token = encryption.encrypt(orjson.dumps(astuple(one)), context)
    return base64.urlsafe_b64encode(token).decode()


def opened_flow(token: str) -> SignOnFlow | None:
    """The flow of a cookie; None if it is forged or expired."""
    values = _opened(token, _FLOW)
    return SignOnFlow(*values) if values is not None else None


def opened_candidate(token: str) -> Candidate | None:
    values = _opened(token, _CANDIDATE)
    return Candidate(*values) if values is not None else None


def _opened(token: str, context: str) -> list[Any] | None:
    try:
        values = orjson.loads(
            encryption.decrypt(base64.urlsafe_b64decode(token.encode("ascii")), context)
        )
    except (ValueError, InvalidTag):
        return None
    return values if now_ms() < values[-1] else None
