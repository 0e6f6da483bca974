"""How a request arrives, told to ``flask doctor``, which asks through the proxies.

What is asked is signed and good for a minute, so nobody else learns of addresses and proxies.
"""

import hashlib
import hmac

import orjson
from flask import Request, Response

from app.accounts import identity
from app.config import Settings, settings_at_hand
from app.core.clock import MINUTE_MS, now_ms

ASKED = "X-Docket-Probe"
TOLD = "X-Docket-Arrived"


def signed(settings: Settings) -> str:
    """The value of ASKED, as of now."""
    at = now_ms()
    return f"{at}.{_signature(settings, at)}"


def _signature(settings: Settings, at: int) -> str:
    message = f"arrival:{at}".encode()
    return hmac.new(settings.secret_key.encode(), message, hashlib.sha256).hexdigest()


def tell(request: Request, response: Response) -> None:
    """Say in TOLD how this request arrived, if it asks for that."""
    asked = request.headers.get(ASKED)
    if asked is None:
        return
    settings = settings_at_hand()
    at, _, signature = asked.partition(".")
    if not (at.isascii() and at.isdecimal() and len(at) <= 15):
        return
    if not hmac.compare_digest(signature.encode(), _signature(settings, int(at)).encode()):
        return
    if abs(now_ms() - int(at)) > MINUTE_MS:
        return
    forwarded = ",".join(request.headers.getlist("X-Forwarded-For"))
    response.headers[TOLD] = orjson.dumps(
        {
            "client": identity.client(request).address,
            "forwarded": [hop.strip() for hop in forwarded.split(",") if hop.strip()],
            "trusted": settings.trusted_proxies,
        }
    ).decode("ascii", "replace")
