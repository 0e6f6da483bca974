"""Changes in steps, one request each: their events carry the request id of the first step."""

import hashlib
import hmac
from typing import Any

from app.core.actor import Actor
from app.core.ids import request_id
from app.http.current import current_g, current_settings

_ID_LENGTH = 36


def join_run(actor: Actor, name: str) -> None:
    """Continue under the request id of the run with this name, which ``run_fields`` gave the actor.

    With any other name, the current request begins a new run.
    """
    identifier = name[:_ID_LENGTH]
    if hmac.compare_digest(name.encode(), _name(actor, identifier).encode()):
        current_g().request_id = identifier
        request_id.set(identifier)


def run_fields(actor: Actor) -> dict[str, Any]:
    """The field ``run`` for the next step, and the id by which the whole run can be undone."""
    identifier = request_id.get() or ""
    return {"run": _name(actor, identifier), "request_id": identifier}


def _name(actor: Actor, identifier: str) -> str:
    message = f"run:{actor.id}:{identifier}".encode()
    key = current_settings().secret_key.encode()
    return identifier + hmac.new(key, message, hashlib.sha256).hexdigest()
