"""Code that verifies the signature of a delivery, for pages and documentation."""

PYTHON = '''\
import hashlib
import hmac
import time


def is_genuine(secret: str, headers, body: bytes) -> bool:
    """Whether Docket sent this body, the raw bytes of the request, within five minutes."""
    timestamp = headers["X-Webhook-Timestamp"]
    signed = timestamp.encode() + b"." + body
    expected = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, headers["X-Webhook-Signature"]):
        return False
    return abs(time.time() - int(timestamp)) <= 300
'''

NODE = """\
import { createHmac, timingSafeEqual } from "node:crypto";

// Whether Docket sent this body, a Buffer of the raw request, within five minutes.
export function isGenuine(secret, headers, body) {
  const timestamp = headers["x-webhook-timestamp"];
  const made = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
  const expected = Buffer.from(`sha256=${made}`);
  const given = Buffer.from(headers["x-webhook-signature"] ?? "");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
  return Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;
}
"""
