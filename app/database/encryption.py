"""Encryption of secrets in the database: AES-256-GCM.

HKDF derives the key from SECRET_KEY and a context. A sealed value is a header that names the
SECRET_KEY, a random nonce and the ciphertext. Values of the first release have no header.
"""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from flask import current_app

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
    """As ``decrypt``; None where that raises InvalidTag."""
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
