"""The guard in front of every page: it finds the actor, checks the request, and sets headers.

Pages are for people. A request without a session goes to the login page, which leads back.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar
from urllib.parse import quote

from flask import Request, Response, current_app, g, request
from sqlalchemy.exc import DBAPIError

from app.audit.service import record_refusal
from app.core.actor import ANONYMOUS, Actor, Peer
from app.core.errors import DomainError, Forbidden, InvalidField, NotFound, Unauthenticated
from app.database.session import reading, run_write
from app.http.current import (
    PUBLIC_BYTES,
    SAFE_METHODS,
    current_authentication,
    current_g,
    current_request,
)
from app.http.flask_app import add_missing
from app.http.multipart import is_upload
from app.web.compression import accepts_gzip, compress

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def admit() -> None:
    """Find the actor of the requested page, and refuse requests that pages do not accept."""
    request, state = current_request(), current_g()
    authentication = current_authentication()
    state.operation_id = request.endpoint
    view = current_app.view_functions[request.endpoint or ""]
    is_public = getattr(view, "is_public", False)
    if is_public:
        request.max_content_length = request.max_form_memory_size = PUBLIC_BYTES
    _refuse_nul(request)
    authentication.precheck(request)
    if request.method not in SAFE_METHODS and authentication.cross_site(request):
        raise Forbidden("cross_site_request")
    if is_public and not getattr(view, "wants_actor", False):
        return
    try:
        with reading():
            state.actor = authentication.resolve(request)
    except DomainError as error:
        record_refusal(actor(), error, request.endpoint or "")
        raise
    if not state.actor.is_human and not is_public:
        raise Unauthenticated


def with_page_headers(response: Response) -> Response:
    """An HTML response with the security policy of pages, compressed if that is safe."""
    if current_g().get("shows_secret"):
        # A compressing proxy would reveal the secret through the length.
        response.headers["Cache-Control"] = "no-store, no-transform"
    add_missing(response, PAGE_HEADERS)
    if _may_compress(response):
        compress(response)
    return response


def _refuse_nul(request: Request) -> None:
    """Raise NotFound or InvalidField for a NUL, which the databases cannot store."""
    if "\x00" in request.path:
        raise NotFound("route", request.path)
    sent = []
    # For most requests, the parameters need not be parsed.
    if b"%00" in request.query_string or b"\x00" in request.query_string:
        sent.append(request.args)
    if request.method not in SAFE_METHODS and not is_upload(request.environ):
        # The view itself reads a form with a file.
        sent.append(request.form)
    for values in sent:
        for name, value in values.items(multi=True):
            if "\x00" in value:
                raise InvalidField(name, "nul_character")


def _may_compress(response: Response) -> bool:
    """Whether the page has status 200 and no secret beside text that an attacker could choose."""
    is_fit = response.status_code == 200 and not current_g().get("shows_secret")
    return is_fit and accepts_gzip(current_request().headers.get("Accept-Encoding", ""))


def public(
    *, wants_actor: bool = False
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Mark a page that needs no login; with ``wants_actor`` it still gets the actor."""

    def mark(view: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        view.is_public = True  # type: ignore[attr-defined]  # a mark on the function itself
        view.wants_actor = wants_actor  # type: ignore[attr-defined]  # as above
        return view

    return mark


def actor() -> Actor:
    """The actor of this request."""
    current: Actor = current_g().get("actor", ANONYMOUS)
    return current


def find_reader() -> None:
    """Find the reader of an error page, if no page did; a stranger or an outage is ignored."""
    state = current_g()
    if state.actor.user_id is not None:
        return
    authentication = current_authentication()
    with suppress(DomainError, DBAPIError), reading():
        found = authentication.resolve(request)
        state.actor = found if found.is_human else state.actor


def peer() -> Peer:
    return current_authentication().peer(request)


def write(work: Callable[[Actor], Result]) -> Result:
    """Run ``work`` in a transaction that checks the session again, as REST does.

    A refusal is recorded after the rollback and raised again. Raises Unauthenticated if the session
    has ended.
    """
    authentication = current_authentication()

    def authenticated_work() -> Result:
        current = authentication.resolve(request)
        if not current.is_human:
            raise Unauthenticated
        return work(current)

    try:
        return run_write(authenticated_work)
    except DomainError as error:
        record_refusal(actor(), error, g.operation_id)
        raise


def safe_next(target: str | None) -> str:
    """A relative URL of this site to go to after login, or ``/``."""
    if not target or not target.startswith("/") or target.startswith("//"):
        return "/"
    if "\\" in target or not target.isprintable():
        return "/"
    return target


def login_address() -> str:
    """The URL of the login page that leads back here."""
    if request.method != "GET":
        return "/login"
    here = request.full_path if request.query_string else request.path
    return "/login" if here == "/" else f"/login?next={quote(here, safe='/')}"
