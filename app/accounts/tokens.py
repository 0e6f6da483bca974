"""Tokens of bots, sessions and password links: generating, recognising and hashing them.

A bot token has 160 random bits, so a fast hash is safe; a slow one would only invite floods.
"""

import base64
import hashlib
import hmac
import os
import re
import secrets

PREFIX = "app_"
LOOKUP_LENGTH = 8
PATTERN = re.compile(r"app_[a-z2-7]{32}")


def new_bot_token() -> str:
    """``app_`` and 32 base32 characters of 20 random bytes."""
    return PREFIX + base64.b32encode(os.urandom(20)).decode().lower()


def lookup_prefix(token: str) -> str | None:
    """The eight characters that a token is looked up by; None for a malformed token."""
    if not PATTERN.fullmatch(token):
        return None
    return token[len(PREFIX) : len(PREFIX) + LOOKUP_LENGTH]


def new_secret() -> str:
    """256 random bits for a session cookie or a password link."""
    return secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def is_hash_of(token_hash: str, token: str) -> bool:
    """Whether this is the token's hash; compares in constant time."""
    return hmac.compare_digest(token_hash, hashed(token))
