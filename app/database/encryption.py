"""Encryption of secrets in the database: AES-256-GCM.

HKDF derives the key from SECRET_KEY and a context. A sealed value is a header that identifies the
SECRET_KEY, a random nonce, and the ciphertext. Values of the first release have no header.
"""

import os
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from flask import current_app

from app.database.session import session

FORMAT = b"dkt\x01"
KEY_ID_BYTES = 4
HEADER_BYTES = len(FORMAT) + KEY_ID_BYTES
NONCE_BYTES = 12


def header() -> bytes:
    """The first bytes of every value that the current SECRET_KEY sealed."""
    return _header(_secrets()[0])


def encrypt(content: bytes, context: str) -> bytes:
    """Encrypt ``content``; only the same context and SECRET_KEY decrypt it."""
    secret = _secrets()[0]
    nonce = os.urandom(NONCE_BYTES)
    prefix = _header(secret)
    return prefix + nonce + AESGCM(_key(secret, context)).encrypt(nonce, content, prefix)


def decrypt(sealed: bytes, context: str) -> bytes:
    """Decrypt with SECRET_KEY or SECRET_KEY_PREVIOUS.

    Raises InvalidTag if the context differs, or neither key sealed it.
    """
    return _opened(sealed, context)[1]


def decrypt_or_none(sealed: bytes, context: str) -> bytes | None:
    """Like ``decrypt``, but returns None instead of raising InvalidTag."""
    try:
        return decrypt(sealed, context)
    except InvalidTag:
        return None


def is_under_previous_key(sealed: bytes, context: str) -> bool:
    """Whether SECRET_KEY_PREVIOUS decrypts it, and SECRET_KEY does not."""
    try:
        return _opened(sealed, context)[0] != _secrets()[0]
    except InvalidTag:
        return False


@dataclass(frozen=True, slots=True)
class SecretColumn:
    """The column ``sealed_secret`` of a table; each value's context contains the id of its row."""

    table: type[Any]
    context: str

    def context_of(self, row_id: str) -> str:
        return f"{self.context}:{row_id}"

    def encrypt(self, row_id: str, secret: bytes) -> bytes:
        return encrypt(secret, self.context_of(row_id))

    def decrypt(self, row: Any) -> bytes | None:
        """The secret; None if it was encrypted under another SECRET_KEY.

        Does not raise, so that one such row does not stop work on the others.
        """
        return decrypt_or_none(row.sealed_secret, self._context_in(row))

    def is_under_previous_key(self, row: Any) -> bool:
        """Whether only SECRET_KEY_PREVIOUS decrypts the secret."""
        return is_under_previous_key(row.sealed_secret, self._context_in(row))

    def encrypt_anew(self, row_id: str) -> bool:
        """Encrypt under the current SECRET_KEY; False if no known key decrypts the secret.

        Records no event, as the secret stays the same. Returns True for a deleted row.
        """
        row = session.get(self.table, row_id, with_for_update=True)
        if row is None:
            return True
        secret = self.decrypt(row)
        if secret is not None:
            row.sealed_secret = self.encrypt(row_id, secret)
        return secret is not None

    def _context_in(self, row: Any) -> str:
        return self.context_of(self.table.__mapper__.primary_key_from_instance(row)[0])


def _opened(sealed: bytes, context: str) -> tuple[str, bytes]:
    """The key that sealed it, and the content; raises InvalidTag."""
    for secret in _secrets():
        prefix = _header(secret)
        for start, authenticated in ((prefix, prefix), (b"", None)):
            if not sealed.startswith(start):
                continue
            rest = sealed[len(start) :]
            try:
                content = AESGCM(_key(secret, context)).decrypt(
                    rest[:NONCE_BYTES], rest[NONCE_BYTES:], authenticated
                )
            except InvalidTag:
                continue
            return secret, content
    raise InvalidTag


def _secrets() -> tuple[str, ...]:
    """The current SECRET_KEY, then the previous one."""
    config = current_app.config
    return (config["SECRET_KEY"], *(config["SECRET_KEY_FALLBACKS"] or ()))


def _header(secret: str) -> bytes:
    return FORMAT + _key(secret, "name of the key")[:KEY_ID_BYTES]


def _key(secret: str, context: str) -> bytes:
    derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=context.encode())
    return derive.derive(secret.encode())
