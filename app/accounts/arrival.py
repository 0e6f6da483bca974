"""Reports to ``flask doctor`` how its request arrived through the proxies.

The request is signed and valid for a minute, so nobody else learns addresses and proxies.
"""

import hashlib
import hmac

import orjson
from flask import Request, Response

from app.accounts import authentication
from app.config import Settings
from app.core.clock import MINUTE_MS, now_ms
from app.http.current import current_settings

PROBE = "X-Docket-Probe"
ARRIVED = "X-Docket-Arrived"


def signed(settings: Settings) -> str:
    """The value of the header PROBE: the current time and its signature."""
    moment = now_ms()
    return f"{moment}.{_signature(settings, moment)}"


def _signature(settings: Settings, moment: int) -> str:
    message = f"arrival:{moment}".encode()
    return hmac.new(settings.secret_key.encode(), message, hashlib.sha256).hexdigest()


def report(request: Request, response: Response) -> None:
    """Describe the request in the header ARRIVED, if it carries a valid PROBE."""
    probe = request.headers.get(PROBE)
    if probe is None:
        return
    settings = current_settings()
    moment, _, signature = probe.partition(".")
    if not (moment.isascii() and moment.isdecimal() and len(moment) <= 15):
        return
    if not hmac.compare_digest(signature.encode(), _signature(settings, int(moment)).encode()):
        return
    if abs(now_ms() - int(moment)) > MINUTE_MS:
        return
    forwarded = ",".join(request.headers.getlist("X-Forwarded-For"))
    response.headers[ARRIVED] = orjson.dumps(
        {
            "client": authentication.peer(request).address,
            "forwarded": [hop.strip() for hop in forwarded.split(",") if hop.strip()],
            "trusted": settings.trusted_proxies,
        }
    ).decode("ascii", "replace")
