"""From an HTTP request to an answer: the one path that every REST endpoint takes.

The order of checks: credentials, kind of actor, form, idempotency; then the verb checks existence,
allowlist and the rules of the domain. One unit of work spans all of it, so the credential is judged
in the transaction of the change it makes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flask import Blueprint, Request, Response, current_app
from marshmallow import Schema
from sqlalchemy import text as sqlalchemy_text

from app.audit.service import record_refusal
from app.config import Settings, settings_at_hand
from app.core import json_parsing, text
from app.core.actor import ANONYMOUS, Access, Actor
from app.core.errors import (
    DomainError,
    Forbidden,
    InvalidField,
    Unauthenticated,
    Unavailable,
    one_error,
)
from app.core.etag import matches
from app.database import idempotency
from app.database.session import reading, run_write, session
from app.http.current import PUBLIC_BYTES, current_g, current_request, read_body
from app.rest import fields
from app.rest.answers import Answer, Rendered, render, respond
from app.rest.routing import Call, Caller, Registry, Route

LARGEST_PAGE = 200
CLIENT_REQUEST_ID_LENGTH = 128


@dataclass(frozen=True, slots=True)
class Identity:
    """How the edge learns who calls, and what is to be done once the answer stands."""

    # Whether the request carries any credential at all, good or bad.
    presented: Callable[[Request], bool]
    # In a unit of work: the actor of this request; raises for credentials that are refused.
    resolve: Callable[[Request], Actor]
    # Before any unit of work: refuse what is wrong by mere presence (both credentials, cross-site).
    precheck: Callable[[Request], None]
    client: Callable[[Request], Caller]
    # Whether the browser says that another site caused the request.
    cross_site: Callable[[Request], bool]


def dispatch(route: Route, identity: Identity, **path: str) -> Response:
    """Answer one request for this route."""
    settings = settings_at_hand()
    request, noted = current_request(), current_g()
    noted.operation_id = route.operation_id
    noted.actor = ANONYMOUS
    identity.precheck(request)
    if route.access is not Access.PUBLIC and not identity.presented(request):
        raise Unauthenticated
    limit = settings.max_request_bytes
    if route.access is Access.PUBLIC:
        limit = min(limit, PUBLIC_BYTES)
    raw = read_body(request, limit) if route.writes else b""
    exchange = Exchange(route, identity, settings, request, path, raw)
    try:
        rendered = exchange.run()
    except DomainError as error:
        record_refusal(noted.actor, error, route.operation_id)
        raise
    response = respond(rendered)
    for cookie in exchange.cookies:
        noted.fresh_cookie = True
        response.set_cookie(
            cookie.name,
            cookie.value,
            max_age=cookie.max_age,
            httponly=True,
            secure=settings.cookie_secure,
            samesite="Lax",
        )
    return response


def check_credentials(identity: Identity, operation_id: str) -> None:
    """For an address that answers everybody: a wrong key is refused there too.

    The database is asked for a key alone: who has a session that is over is merely anonymous.
    Raises AmbiguousCredentials, InvalidCredentials.
    """
    request, noted = current_request(), current_g()
    noted.operation_id = operation_id
    noted.actor = ANONYMOUS
    identity.precheck(request)
    if "X-API-Key" not in request.headers:
        return
    try:
        with reading():
            noted.actor = identity.resolve(request)
    except DomainError as error:
        record_refusal(noted.actor, error, operation_id)
        raise


class Exchange:
    """One request and its answer; ``run`` may run its work anew after a collision."""

    def __init__(
        self,
        route: Route,
        identity: Identity,
        settings: Settings,
        request: Request,
        path: dict[str, str],
        raw: bytes,
    ) -> None:
        self.route = route
        self.identity = identity
        self.settings = settings
        self.request = request
        self.path = path
        self.raw = raw
        self.cookies: tuple[Any, ...] = ()

    def run(self) -> Rendered:
        """Resolve, guard, check the form and call the view, in the right unit of work."""
        if self.route.own_transactions:
            with reading():
                call = self._call()
            return self._answer(call)
        if self.route.writes:
            return run_write(self._work)
        with reading():
            return self._work()

    def _work(self) -> Rendered:
        call = self._call()
        key = self.request.headers.get("Idempotency-Key") if self.route.idempotent else None
        if key is None:
            return self._answer(call)
        claimed = idempotency.claim(
            call.actor.id,
            idempotency.check_key(key),
            idempotency.fingerprint(self.route.method, self.request.path, self._parsed()),
            self.settings.idempotency_key_ttl_hours,
        )
        if isinstance(claimed, idempotency.StoredAnswer):
            if call.actor.is_bot:
                # Its allowlist may be narrower by now.
                idempotency.judge_replay(lambda: self._answer(call))
            replayed = {**claimed.headers, "Idempotency-Replayed": "true"}
            return Rendered(claimed.status, claimed.body, replayed)
        rendered = self._answer(call)
        idempotency.keep(
            claimed, idempotency.StoredAnswer(rendered.status, rendered.body, rendered.headers)
        )
        return rendered

    def _call(self) -> Call:
        """Credentials, kind of actor, form: in this order."""
        route, request = self.route, self.request
        actor = self.identity.resolve(request)
        current_g().actor = actor
        route.calls.admit(actor)
        if actor.is_bot and request.args.get("include_deleted") == "true" and self._knows_deleted:
            raise Forbidden("humans_only")
        if route.requested_by and request.headers.get("X-Requested-By") != "web":
            raise Forbidden("missing_requested_by")
        query = fields.load(route.query, request.args, "query") if route.query else {}
        check_limit(query)
        return Call(
            actor=actor,
            path=self.path,
            body=self._body(),
            query=query,
            if_match=request.headers.get("If-Match") if route.if_match else None,
            client=self.identity.client(request),
        )

    @property
    def _knows_deleted(self) -> bool:
        query = self.route.query
        return query is not None and issubclass(query, fields.DeletedQuery)

    def _parsed(self) -> Any:
        """The JSON of the body; ``{}`` where there is none. Raises RequestInvalid."""
        if not self.raw:
            return {}
        if self.request.mimetype != "application/json":
            raise one_error(["body"], "Send Content-Type: application/json.", "content_type")
        try:
            return json_parsing.loads(self.raw)
        except json_parsing.JsonInvalid as error:
            raise one_error(["body"], str(error), "json_invalid") from error

    def _body(self) -> dict[str, Any]:
        schema: type[Schema] | None = self.route.body
        if schema is None:
            return {}
        parsed = self._parsed()
        if not isinstance(parsed, dict):
            raise one_error(["body"], "The body must be a JSON object.", "json_invalid")
        return fields.load(schema, parsed, "body")

    def _answer(self, call: Call) -> Rendered:
        """Call the view and render what it answers."""
        echoed = None
        if "client_request_id" in call.body:
            body = dict(call.body)
            echoed = body.pop("client_request_id")
            call = replace(call, body=body)
        if echoed is not None:
            text.checked(echoed, "client_request_id", CLIENT_REQUEST_ID_LENGTH)
        answer = self.route.view(call)
        self.cookies = answer.cookies
        if self._not_modified(answer):
            return Rendered(304, b"", {"ETag": answer.etag or "", **CONDITIONAL})
        shown = answer.body() if callable(answer.body) else answer.body
        if echoed is not None:
            shown = {**shown, "client_request_id": echoed}
        rendered = render(answer, self.settings.base_url, shown)
        if self.route.conditional:
            rendered.headers.update(CONDITIONAL)
        return rendered

    def _not_modified(self, answer: Answer) -> bool:
        seen = self.request.headers.get("If-None-Match")
        if not (self.route.conditional and seen and answer.etag and matches(seen, answer.etag)):
            return False
        return answer.is_current is None or answer.is_current()


CONDITIONAL = {"Cache-Control": "private, no-cache"}


def check_limit(query: dict[str, Any]) -> None:
    """A page has 1 to 200 rows; raises InvalidField."""
    limit = query.get("limit")
    if limit is not None and not 1 <= limit <= LARGEST_PAGE:
        raise InvalidField("limit", "out_of_range", "limit is 1 to 200.")


HEALTHY = Rendered(200, b'{"status":"ok"}\n')
READY = Rendered(200, b'{"status":"ready","db":"ok","settings_loaded":true}\n')

health = Blueprint("health", __name__)


@health.get("/healthz", provide_automatic_options=False)
def healthz() -> Response:
    """The process lives; touches nothing."""
    return respond(HEALTHY)


@health.get("/readyz", provide_automatic_options=False)
def readyz() -> Response:
    """The database answers and holds the schema this release needs."""
    with reading():
        found = (
            session.execute(sqlalchemy_text("SELECT version_num FROM alembic_version"))
            .scalars()
            .all()
        )
    if found != [current_app.config["SCHEMA_REVISION"]]:
        raise Unavailable
    return respond(READY)


def blueprint(registry: Registry, identity: Identity) -> Blueprint:
    """A blueprint with one rule per route and nothing else."""
    made = Blueprint("api", __name__, url_prefix="/api/v1")
    for route in registry.routes.values():
        made.add_url_rule(
            route.rule,
            endpoint=route.operation_id.replace(".", "_"),
            view_func=_view(route, identity),
            methods=[route.method],
            provide_automatic_options=False,
        )
    return made


def _view(route: Route, identity: Identity) -> Callable[..., Response]:
    def view(**path: Any) -> Response:
        return dispatch(route, identity, **path)

    return view
