"""Whether a delivery comes from who knows the secret of its integration.

Every comparison takes the same time wherever the first difference is.
"""

import base64
import binascii
import hashlib
import hmac

from werkzeug.datastructures import Headers

from app.core.clock import now_ms
from app.integrations.models import Forge

# How old a delivery that says when it was sent may be.
TOLERANCE_SECONDS = 300
# While a secret is changed, a sender may sign with both.
MAX_SIGNATURES = 10
STANDARD_PREFIX = "whsec_"
# The header of the signature, and what stands before the hexadecimal digits.
HEADERS = {
    Forge.GITHUB: (("X-Hub-Signature-256", "sha256="),),
    Forge.GITEA: (("X-Gitea-Signature", ""), ("X-Hub-Signature-256", "sha256=")),
    Forge.FORGEJO: (("X-Forgejo-Signature", ""), ("X-Gitea-Signature", "")),
}
# What stands in for the secret of an integration that is not there.
NO_SECRET = b"\x00" * 32


def is_signed(forge: Forge, secret: bytes, headers: Headers, body: bytes) -> bool:
    """Whether the headers prove knowledge of the secret, over the whole body where they sign it."""
    if forge is Forge.GITLAB:
        return _of_gitlab(secret, headers, body)
    expected = hmac.new(secret, body, hashlib.sha256).hexdigest()
    for name, prefix in HEADERS[forge]:
        presented = headers.get(name)
        if presented is not None:
            # The first header that is there decides: a wrong one is not rescued by another.
            return hmac.compare_digest(presented.encode(), f"{prefix}{expected}".encode())
    return False


def _of_gitlab(secret: bytes, headers: Headers, body: bytes) -> bool:
    """By its signature, where GitLab signs; else by the secret itself, in a header."""
    signatures = headers.get("webhook-signature")
    if signatures is None:
        presented = headers.get("X-Gitlab-Token", "").encode()
        # Of hashes, as the comparison of unequal lengths would tell the length.
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
    """The bytes of a signing token ``whsec_…``, which are written in base64."""
    if not secret.startswith(STANDARD_PREFIX.encode()):
        return secret
    try:
        return base64.b64decode(secret.removeprefix(STANDARD_PREFIX.encode()), validate=True)
    except binascii.Error:
        return secret
