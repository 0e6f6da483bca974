"""Verifying that the sender of a delivery knows the secret of its integration.

All comparisons take constant time.
"""

import base64
import binascii
import hashlib
import hmac

from werkzeug.datastructures import Headers

from app.core.clock import now_ms
from app.integrations.models import Forge

# The maximum age of a delivery with a timestamp.
TOLERANCE_SECONDS = 300
# During a change of the secret, a sender may sign with both secrets.
MAX_SIGNATURES = 10
STANDARD_PREFIX = "whsec_"
# Headers with the signature, and the prefix of its hexadecimal digits.
HEADERS = {
    Forge.GITHUB: (("X-Hub-Signature-256", "sha256="),),
    Forge.GITEA: (("X-Gitea-Signature", ""), ("X-Hub-Signature-256", "sha256=")),
    Forge.FORGEJO: (("X-Forgejo-Signature", ""), ("X-Gitea-Signature", "")),
}
# Used in place of the secret of a missing integration.
NO_SECRET = b"\x00" * 32


def is_signed(forge: Forge, secret: bytes, headers: Headers, body: bytes) -> bool:
    """Whether the headers prove knowledge of the secret, over the whole body if they sign it."""
    if forge is Forge.GITLAB:
        return _of_gitlab(secret, headers, body)
    expected = hmac.new(secret, body, hashlib.sha256).hexdigest()
    for name, prefix in HEADERS[forge]:
        presented = headers.get(name)
        if presented is not None:
            # The first header that is present decides; a later one cannot make up for a wrong one.
            return hmac.compare_digest(presented.encode(), f"{prefix}{expected}".encode())
    return False


def _of_gitlab(secret: bytes, headers: Headers, body: bytes) -> bool:
    """Check GitLab's signature if there is one, otherwise the secret itself in a header."""
    signatures = headers.get("webhook-signature")
    if signatures is None:
        # WSGI decodes headers as Latin-1 (PEP 3333); the secret was sent as UTF-8.
        presented = headers.get("X-Gitlab-Token", "").encode("latin-1")
        # Compare hashes, as comparing unequal lengths would leak the length.
        return hmac.compare_digest(_hashed(presented), _hashed(secret))
    identifier, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) < 12):
        return False
    signed = f"{identifier}.{sent_at}.".encode() + body
    digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    each = [one.encode() for one in signatures.split(" ")[:MAX_SIGNATURES]]
    is_known = any(hmac.compare_digest(one, expected) for one in each)
    return is_known and abs(now_ms() // 1000 - int(sent_at)) <= TOLERANCE_SECONDS


def _hashed(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()


def _key(secret: bytes) -> bytes:
    """The bytes of a signing token: base64 after ``whsec_``, otherwise the secret itself."""
    if not secret.startswith(STANDARD_PREFIX.encode()):
        return secret
    try:
        return base64.b64decode(secret.removeprefix(STANDARD_PREFIX.encode()), validate=True)
    except binascii.Error:
        return secret
