"""``POST /integrations/<id>/events``: signed deliveries of code hosts, without a credential.

A wrong signature and a missing integration get the same response, and count as failed
credentials.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import orjson
from flask import Blueprint, Request, Response

from app.accounts import authentication, failure_windows, throttle
from app.audit.service import record_refusal
from app.core.actor import ANONYMOUS
from app.core.errors import DomainError, NotFound, one_error
from app.core.ids import as_uuid
from app.database.session import reading, run_write, session
from app.http.current import current_g, current_request, current_settings, read_body
from app.http.flask_app import FAILED
from app.integrations import messages, receiving, service, signatures
from app.integrations.models import Forge, Integration
from app.rest.routing import Rendered, as_json, respond

events = Blueprint("integration_events", __name__)

MAX_BODY_BYTES = 1024 * 1024
OPERATION = "integrations.receive"
_EVENT_LENGTH = 64
_EVENT_HEADERS = {
    Forge.GITHUB: ("X-GitHub-Event",),
    Forge.GITLAB: ("X-Gitlab-Event",),
    Forge.GITEA: ("X-Gitea-Event",),
    Forge.FORGEJO: ("X-Forgejo-Event", "X-Gitea-Event"),
}


@events.post("/integrations/<connection_id>/events", provide_automatic_options=False)
def receive(connection_id: str) -> Response:
    """Take a delivery, and answer what it did."""
    state, request = current_g(), current_request()
    state.operation_id = OPERATION
    body = read_body(request, min(MAX_BODY_BYTES, current_settings().max_request_bytes))
    try:
        with reading():
            forge = Forge(_signed(connection_id, request, body).forge)
        event, content = _event(forge, request), _content(request, body)

        def work() -> str:
            # Check again, as the secret, the bot or its projects may have changed.
            integration = _signed(connection_id, request, body)
            state.actor = authentication.acting_bot(integration.bot_user_id)
            return receiving.receive(state.actor, integration, event, body, content)

        outcome = run_write(work)
    except DomainError as error:
        record_refusal(state.actor, error, OPERATION)
        raise
    return respond(Rendered(200, as_json({"outcome": outcome})))


def _signed(integration_id: str, request: Request, body: bytes) -> Integration:
    """The integration, if the delivery is signed with its secret; raises NotFound."""
    canonical = as_uuid(integration_id)
    integration = session.get(Integration, canonical) if canonical else None
    secret = service.SECRETS.decrypt(integration) if integration else None
    # Verify even without an integration, so that the response takes equally long.
    forge = Forge(integration.forge) if integration else Forge.GITHUB
    is_signed = signatures.is_signed(forge, secret or signatures.NO_SECRET, request.headers, body)
    if integration is None or secret is None or not is_signed:
        raise _refusal(integration_id)
    return integration


def _refusal(integration_id: str) -> NotFound:
    error = NotFound("integration", integration_id)
    request = current_request()
    request.environ[FAILED] = True
    current_g().actor = ANONYMOUS
    network = throttle.network_of(authentication.peer(request).address)
    error.audit_if = failure_windows.claim_of(network, None)
    if error.audit_if is not None:
        error.audit_event = failure_windows.EVENT
        error.audit_payload = {"token_prefix": None}
    return error


def _event(forge: Forge, request: Request) -> str:
    found = (request.headers.get(name) for name in _EVENT_HEADERS[forge])
    name = next(filter(None, found), "")
    return "".join(one for one in name if one.isprintable())[:_EVENT_LENGTH]


def _content(request: Request, body: bytes) -> Mapping[str, Any]:
    """The payload: JSON, or JSON in the field ``payload`` of a form; raises RequestInvalid."""
    raw: str | bytes = body
    try:
        if request.mimetype == "application/x-www-form-urlencoded":
            raw = parse_qs(body.decode(), max_num_fields=10).get("payload", [""])[0]
        content = orjson.loads(raw)
    except ValueError as error:
        raise one_error(["body"], messages.NOT_JSON, "json_invalid") from error
    if not isinstance(content, dict):
        raise one_error(["body"], messages.NOT_AN_OBJECT, "json_invalid")
    return content
