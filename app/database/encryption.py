"""Encryption of what the database must keep but whoever reads it must not learn.

AES-256-GCM under a key that HKDF derives from SECRET_KEY and a context: another context, another
key. A sealed value is a header that names the SECRET_KEY, a random nonce and the ciphertext. Values
without a header are opened as well: the first release wrote none.
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
    """How every value begins that is sealed under the SECRET_KEY of now."""
    return _header(_secrets()[0])


def encrypt(content: bytes, context: str) -> bytes:
    """Encrypt ``content``; only the same context and SECRET_KEY open it."""
    secret = _secrets()[0]
    nonce = os.urandom(NONCE_BYTES)
    begun = _header(secret)
    return begun + nonce + AESGCM(_key(secret, context)).encrypt(nonce, content, begun)


def decrypt(sealed: bytes, context: str) -> bytes:
    """Decrypt what ``seal`` made under SECRET_KEY or SECRET_KEY_PREVIOUS.

    Raises InvalidTag where the context is another one, or the key is neither of them.
    """
    return _opened(sealed, context)[1]


def is_under_previous_key(sealed: bytes, context: str) -> bool:
    """Whether SECRET_KEY_PREVIOUS opens it and SECRET_KEY does not; raises InvalidTag."""
    return _opened(sealed, context)[0] != _secrets()[0]


def _opened(sealed: bytes, context: str) -> tuple[str, bytes]:
    """The secret that opens it, and what it holds."""
    for secret in _secrets():
        begun = _header(secret)
        for skipped, authenticated in ((begun, begun), (b"", None)):
            if not sealed.startswith(skipped):
                continue
            rest = sealed[len(skipped) :]
            try:
                content = AESGCM(_key(secret, context)).decrypt(
                    rest[:NONCE_BYTES], rest[NONCE_BYTES:], authenticated
                )
            except InvalidTag:
                continue
            return secret, content
    raise InvalidTag


def _secrets() -> tuple[str, ...]:
    """The SECRET_KEY of now, and those that still open what was sealed under them."""
    config = current_app.config
    return (config["SECRET_KEY"], *(config["SECRET_KEY_FALLBACKS"] or ()))


def _header(secret: str) -> bytes:
    return FORMAT + _key(secret, "name of the key")[:KEY_ID_BYTES]


def _key(secret: str, context: str) -> bytes:
    derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=context.encode())
    return derive.derive(secret.encode())
