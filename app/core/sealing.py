"""Encryption of what the database must keep but whoever reads it must not learn.

AES-256-GCM under a key that HKDF derives from SECRET_KEY and a context: another context, another
key. The nonce is random and stands before the ciphertext.
"""

import os

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from flask import current_app

NONCE_BYTES = 12


def _key(context: str) -> bytes:
    secret: str = current_app.config["SECRET_KEY"]
    derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=context.encode())
    return derive.derive(secret.encode())


def seal(content: bytes, context: str) -> bytes:
    """Encrypt ``content``; only the same context and SECRET_KEY open it."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(_key(context)).encrypt(nonce, content, None)


def open_sealed(sealed: bytes, context: str) -> bytes:
    """Decrypt what ``seal`` made; raises InvalidTag where the context or the key differs."""
    return AESGCM(_key(context)).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)
