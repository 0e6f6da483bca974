"""Bot tokens, sessions and password links: generating, recognising, hashing and locking them.

A bot token has 160 random bits, so a fast hash is safe; a slow one would only invite floods.

A write takes its user's lock shared; a change of that user's credentials takes it exclusively.
So no write commits under a credential after the response that ended it. Row locks would let a busy
bot starve the change; advisory locks queue in order. SQLite has one writer and needs none.
"""

import base64
import hashlib
import hmac
import os
import re
import secrets
from functools import cache
from typing import Any

from sqlalchemy import Select, Text, cast, func, select

from app.database.locks import Lock, acquire
from app.database.session import Prepared, is_postgresql, is_writing

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


def lock_shared(owners: Select[Any], **values: Any) -> None:
    """Keep the credentials of these users from changing until the current write commits.

    ``owners`` selects user ids and takes ``values`` as its parameters. It must be a constant, as
    its prepared form is cached. Check the credential after this call, not before.
    """
    if is_writing() and is_postgresql():
        _shared(owners).all(**values)


@cache
def _shared(owners: Select[Any]) -> Prepared:
    (owner,) = owners.subquery().c
    key = func.hashtext(cast(owner, Text))
    shared = func.pg_advisory_xact_lock_shared(int(Lock.CREDENTIALS), key)
    return Prepared(select(shared.label("held")))


def lock_exclusive(user_id: str) -> None:
    """Wait for the writes under a user's credentials before changing these."""
    acquire(Lock.CREDENTIALS, user_id)
