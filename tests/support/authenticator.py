"""A software authenticator: it creates passkeys and answers challenges, correctly or not."""

import base64
import hashlib
import json
import os
import struct
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from fido2 import cbor

Json = dict[str, Any]

PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, ATTESTED = 0x01, 0x04, 0x08, 0x10, 0x40
ES256, EDDSA, RS256 = -7, -8, -257


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


class Key:
    """A key pair for one of the algorithms."""

    def __init__(self, algorithm: int) -> None:
        self.algorithm = algorithm
        self.private: Any
        if algorithm == EDDSA:
            self.private = ed25519.Ed25519PrivateKey.generate()
        elif algorithm == RS256:
            self.private = rsa.generate_private_key(65537, 2048)
        else:
            self.private = ec.generate_private_key(ec.SECP256R1())

    @property
    def cose(self) -> dict[int, Any]:
        """The public key as a COSE key."""
        public = self.private.public_key()
        if self.algorithm == EDDSA:
            return {1: 1, 3: EDDSA, -1: 6, -2: public.public_bytes_raw()}
        numbers = public.public_numbers()
        if self.algorithm == RS256:
            return {1: 3, 3: RS256, -1: numbers.n.to_bytes(256), -2: numbers.e.to_bytes(3)}
        x, y = numbers.x.to_bytes(32), numbers.y.to_bytes(32)
        return {1: 2, 3: self.algorithm, -1: 1, -2: x, -3: y}

    def sign(self, message: bytes) -> bytes:
        if self.algorithm == EDDSA:
            signed: bytes = self.private.sign(message)
        elif self.algorithm == RS256:
            signed = self.private.sign(message, padding.PKCS1v15(), hashes.SHA256())
        else:
            signed = self.private.sign(message, ec.ECDSA(hashes.SHA256()))
        return signed


class Authenticator:
    """A device with one passkey; its signature count changes only when a test sets ``count``."""

    def __init__(self, origin: str = "http://localhost", algorithm: int = ES256) -> None:
        self.origin = origin
        self.key = Key(algorithm)
        self.id = os.urandom(32)
        self.handle: bytes | None = None
        self.count = 0

    def client_data(self, kind: str, challenge: str, **changes: Any) -> bytes:
        """Return the client data that is signed: the kind, the challenge and the origin."""
        origin = {"origin": self.origin, "crossOrigin": False}
        return json.dumps({"type": kind, "challenge": challenge, **origin, **changes}).encode()

    def data(self, host: str, flags: int, rest: bytes = b"") -> bytes:
        hashed = hashlib.sha256(host.encode()).digest()
        return hashed + struct.pack(">BI", flags, self.count) + rest

    def make(self, options: Json, **changes: Any) -> Json:
        """Create the passkey; ``changes`` make it faulty."""
        self.handle = decoded(options["user"]["id"])
        host = changes.get("host", options["rp"]["id"])
        flags = changes.get("flags", PRESENT | VERIFIED) | ATTESTED
        key = cbor.encode(changes.get("cose", self.key.cose))
        credential = bytes(16) + struct.pack(">H", len(self.id)) + self.id + key
        made = {"fmt": "none", "attStmt": {}, "authData": self.data(host, flags, credential)}
        client_data = self.client_data(
            changes.get("kind", "webauthn.create"),
            changes.get("challenge", options["challenge"]),
            **changes.get("client_data", {}),
        )
        return {"client_data": encoded(client_data), "attestation": encoded(cbor.encode(made))}

    def answer(self, options: Json, **changes: Any) -> Json:
        """Answer a login challenge; ``changes`` make the answer faulty."""
        host = changes.get("host", options["rpId"])
        data = self.data(host, changes.get("flags", PRESENT | VERIFIED))
        client_data = self.client_data(
            changes.get("kind", "webauthn.get"),
            changes.get("challenge", options["challenge"]),
            **changes.get("client_data", {}),
        )
        signature = self.key.sign(data + hashlib.sha256(client_data).digest())
        handle = changes.get("handle", self.handle)
        return {
            "credential_id": encoded(changes.get("id", self.id)),
            "client_data": encoded(client_data),
            "authenticator_data": encoded(data),
            "signature": encoded(changes.get("signature", signature)),
            "user_handle": encoded(handle) if handle is not None else None,
        }
