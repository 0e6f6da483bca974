"""Time-based one-time passwords (RFC 6238) as authenticator apps make them.

Six digits by HMAC-SHA-1 of the number of 30-second steps since the epoch.
"""

import base64
import hmac
import os
import struct
from urllib.parse import quote, urlencode

STEP_MS = 30_000
DIGITS = 6
# The length of the digest, as RFC 4226 recommends.
SECRET_BYTES = 20
# Steps by which a clock may be off, in either direction.
TOLERANCE = 1


def new_secret() -> bytes:
    return os.urandom(SECRET_BYTES)


def as_text(secret: bytes) -> str:
    """The secret as people type it: base32, whose padding 20 bytes do not need."""
    return base64.b32encode(secret).decode()


def code_at(secret: bytes, step: int, digits: int = DIGITS) -> str:
    digest = hmac.digest(secret, struct.pack(">Q", step), "sha1")
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4]) & 0x7FFF_FFFF
    return f"{number % 10**digits:0{digits}}"


def step_of(secret: bytes, code: str, moment: int, after: int) -> int | None:
    """The step whose code this is, at ``moment`` in milliseconds; None for a wrong or used code.

    Steps up to ``after`` are used up. All candidates are compared, each in constant time.
    """
    now = moment // STEP_MS
    found = None
    for step in range(max(0, now - TOLERANCE), now + TOLERANCE + 1):
        is_same = hmac.compare_digest(code_at(secret, step).encode(), code.encode())
        if is_same and step > after:
            found = step
    return found


def address(secret: bytes, username: str, issuer: str) -> str:
    """The content of the QR code, in the form of Google Authenticator's key URIs."""
    name = quote(f"{issuer.replace(':', ' ')}:{username}", safe=":")
    values = urlencode({"secret": as_text(secret), "issuer": issuer}, quote_via=quote)
    return f"otpauth://totp/{name}?{values}"
