"""From an HTTP request to a response: the path of every REST endpoint.

The order of checks: credentials, kind of actor, form, idempotency; then the verb checks existence,
allowlist and the rules of the domain. One unit of work spans all of it, so the credential is
checked in the transaction of the change.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from flask import Blueprint, Request, Response, current_app

from app.audit.service import record_refusal
from app.config import Settings
from app.core import json_parsing, text
from app.core.actor import ANONYMOUS, Access
from app.core.errors import (
    DomainError,
    Forbidden,
    InvalidField,
    Unauthenticated,
    Unavailable,
    one_error,
)
from app.core.etag import matches
from app.core.lanes import Lane, require
from app.core.messages import send_content_type
from app.database import idempotency, schema
from app.database.session import reading, run_write, session
from app.http.current import (
    PUBLIC_BYTES,
    Authentication,
    current_g,
    current_request,
    current_settings,
    read_body,
)
from app.http.multipart import receive_form
from app.http.sending import Download, send
from app.rest import fields, messages
from app.rest.routing import (
    Answer,
    Call,
    Cookie,
    Registry,
    Rendered,
    Route,
    render,
    respond,
)

MAX_PAGE_SIZE = 200
CLIENT_REQUEST_ID_LENGTH = 128
CONDITIONAL = {"Cache-Control": "private, no-cache"}
HEALTHY = Rendered(200, b'{"status":"ok"}\n')
READY = Rendered(200, b'{"status":"ready","db":"ok","settings_loaded":true}\n')


def dispatch(route: Route, authentication: Authentication, **path: str) -> Response:
    """Respond to one request for this route."""
    settings, request, context = current_settings(), current_request(), current_g()
    _begin(authentication, route.operation_id)
    if route.access is not Access.PUBLIC and not authentication.presented(request):
        raise Unauthenticated
    limit = settings.max_request_bytes
    if route.access is Access.PUBLIC:
        limit = min(limit, PUBLIC_BYTES)
    has_raw = route.writes and not route.takes_file
    raw = read_body(request, limit) if has_raw else b""
    exchange = Exchange(route, authentication, settings, request, path, raw)
    try:
        if route.downloads:
            return send(request, exchange.download())
        rendered = exchange.run()
    except DomainError as error:
        record_refusal(context.actor, error, route.operation_id)
        raise
    response = respond(rendered)
    for cookie in exchange.cookies:
        context.fresh_cookie = True
        response.set_cookie(
            cookie.name,
            cookie.value,
            max_age=cookie.max_age,
            httponly=True,
            secure=settings.cookie_secure,
            samesite="Lax",
        )
    return response


def _begin(authentication: Authentication, operation_id: str) -> None:
    context = current_g()
    context.operation_id = operation_id
    context.actor = ANONYMOUS
    authentication.precheck(current_request())


def check_credentials(authentication: Authentication, operation_id: str) -> None:
    """Refuse an invalid API key at a public address.

    A session is not looked up: an expired one counts as anonymous. Raises AmbiguousCredentials and
    InvalidCredentials.
    """
    request, context = current_request(), current_g()
    _begin(authentication, operation_id)
    if "X-API-Key" not in request.headers:
        return
    try:
        with reading():
            context.actor = authentication.resolve(request)
    except DomainError as error:
        record_refusal(context.actor, error, operation_id)
        raise


@dataclass(slots=True)
class Exchange:
    """One request and its response; ``run`` may repeat its work after a transaction conflict."""

    route: Route
    authentication: Authentication
    settings: Settings
    request: Request
    path: dict[str, str]
    raw: bytes
    cookies: tuple[Cookie, ...] = ()
    # For a multipart form: its values, their representation in the fingerprint, and what the route
    # prepared from the file.
    form: dict[str, Any] = field(default_factory=dict)
    form_fingerprint: Any = None
    prepared: Any = None

    def download(self) -> Download:
        """The download; the unit of work ends before it is sent."""
        # Files can be on a slow disk or on another server.
        require(Lane.LONG)
        with reading():
            answer = self.route.view(self._call())
        return cast("Download", answer.body)

    def _receive_file(self) -> Rendered:
        """Receive a multipart form, prepare its file, and do the work."""
        require(Lane.LONG)
        with reading():
            self._call(is_whole=False)
        settings = self.settings
        folder, max_bytes = settings.incoming_dir, settings.files_max_bytes
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with receive_form(self.request, folder, max_bytes) as form:
            self.form, self.form_fingerprint = form.values, form.fingerprint
            with reading():
                call = self._call()
            if self.route.prepares is not None:
                self.prepared = self.route.prepares(call)
            return run_write(self._work)

    def run(self) -> Rendered:
        """Check the request and call the view, in the unit of work that the route needs."""
        if self.route.takes_file:
            return self._receive_file()
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
            idempotency.check_key(key, "Idempotency-Key"),
            idempotency.fingerprint(self.route.method, self.request.path, self._fingerprinted()),
            self.settings.idempotency_key_ttl_hours,
        )
        if isinstance(claimed, idempotency.StoredAnswer):
            if call.actor.is_bot:
                # The allowlist may have become narrower.
                idempotency.judge_replay(lambda: self._answer(call))
            replayed = {**claimed.headers, "Idempotency-Replayed": "true"}
            return Rendered(claimed.status, claimed.body, replayed)
        rendered = self._answer(call)
        idempotency.keep(
            claimed, idempotency.StoredAnswer(rendered.status, rendered.body, rendered.headers)
        )
        return rendered

    def _call(self, *, is_whole: bool = True) -> Call:
        """Check credentials, kind of actor and form, in this order; ``is_whole``: with the body."""
        route, request = self.route, self.request
        actor = current_g().actor = self.authentication.resolve(request)
        route.calls.admit(actor)
        takes_deleted = route.query is not None and issubclass(route.query, fields.DeletedQuery)
        if actor.is_bot and takes_deleted and request.args.get("include_deleted") == "true":
            raise Forbidden("humans_only")
        if route.requested_by and request.headers.get("X-Requested-By") != "web":
            raise Forbidden("missing_requested_by")
        query = fields.load(route.query, request.args, "query") if route.query else {}
        check_limit(query)
        return Call(
            actor=actor,
            path=self.path,
            body=self._body() if is_whole else {},
            query=query,
            if_match=request.headers.get("If-Match") if route.if_match else None,
            peer=self.authentication.peer(request),
            prepared=self.prepared,
        )

    def _parsed(self) -> Any:
        """The JSON of the body; ``{}`` if there is none. Raises RequestInvalid."""
        if not self.raw:
            return {}
        if self.request.mimetype != "application/json":
            raise one_error(["body"], send_content_type("application/json"), "content_type")
        try:
            return json_parsing.loads(self.raw)
        except json_parsing.JsonInvalid as error:
            raise one_error(["body"], str(error), "json_invalid") from error

    def _fingerprinted(self) -> Any:
        return self._parsed() if self.form_fingerprint is None else self.form_fingerprint

    def _body(self) -> dict[str, Any]:
        if self.route.body is None:
            return {}
        if self.route.takes_file:
            return fields.load(self.route.body, self.form, "body")
        parsed = self._parsed()
        if not isinstance(parsed, dict):
            raise one_error(["body"], messages.NOT_AN_OBJECT, "json_invalid")
        return fields.load(self.route.body, parsed, "body")

    def _answer(self, call: Call) -> Rendered:
        """Call the view and render its answer."""
        echo = None
        if "client_request_id" in call.body:
            body = dict(call.body)
            echo = body.pop("client_request_id")
            call = replace(call, body=body)
        if echo is not None:
            text.checked(echo, "client_request_id", CLIENT_REQUEST_ID_LENGTH)
        answer = self.route.view(call)
        self.cookies = answer.cookies
        if answer.shows is not None and call.actor.is_bot and self.request.method != "HEAD":
            current_g().bot_reads = (call.actor.id, answer.shows())
        if self._not_modified(answer):
            return Rendered(304, b"", {"ETag": answer.etag or "", **CONDITIONAL})
        content = answer.body() if callable(answer.body) else answer.body
        if echo is not None:
            content = {**content, "client_request_id": echo}
        rendered = render(answer, self.settings.base_url, content)
        if self.route.conditional:
            rendered.headers.update(CONDITIONAL)
        return rendered

    def _not_modified(self, answer: Answer) -> bool:
        tags = self.request.headers.get("If-None-Match")
        if not (self.route.conditional and tags and answer.etag and matches(tags, answer.etag)):
            return False
        return answer.is_current is None or answer.is_current()


def check_limit(query: dict[str, Any]) -> None:
    limit = query.get("limit")
    if limit is not None and not 1 <= limit <= MAX_PAGE_SIZE:
        raise InvalidField("limit", "out_of_range", messages.LIMIT_OUT_OF_RANGE)


health = Blueprint("health", __name__)


@health.get("/healthz", provide_automatic_options=False)
def healthz() -> Response:
    """Liveness: the process answers, without the database."""
    return respond(HEALTHY)


@health.get("/readyz", provide_automatic_options=False)
def readyz() -> Response:
    """Readiness: the database answers, takes writes and has the schema of this release."""
    if schema.current_revision() != current_app.config["SCHEMA_REVISION"]:
        raise Unavailable
    with reading():
        is_read_only = schema.is_read_only(session.connection())
    if is_read_only:
        raise Unavailable
    return respond(READY)


def blueprint(registry: Registry, authentication: Authentication) -> Blueprint:
    """One rule per route."""
    api = Blueprint("api", __name__, url_prefix="/api/v1")
    for route in registry.routes.values():
        api.add_url_rule(
            route.rule,
            endpoint=route.operation_id.replace(".", "_"),
            view_func=partial(dispatch, route, authentication),
            methods=[route.method],
            provide_automatic_options=False,
        )
    return api
