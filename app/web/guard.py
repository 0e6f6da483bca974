"""What stands in front of every page: who is asking, from where, and what the browser may do.

Pages are for people: whoever has no session is sent to the login page and comes back afterwards.
"""

from collections.abc import Callable, Set
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar
from urllib.parse import quote

from flask import Flask, Request, Response, current_app, g, request

from app.audit.service import record_refusal
from app.config import settings_at_hand
from app.core.actor import ANONYMOUS, Actor
from app.core.errors import DomainError, Forbidden, InvalidField, NotFound, Unauthenticated
from app.database.session import reading, run_write
from app.http.current import PUBLIC_BYTES, current_g, current_request
from app.http.responses import add_missing
from app.web.compression import accepts_gzip, compress

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
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


class Client(Protocol):
    """What is known of the peer."""

    @property
    def address(self) -> str:
        """Its address behind the trusted proxies."""

    @property
    def user_agent(self) -> str:
        """What it calls itself."""

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, with nothing in between."""


class Who(Protocol):
    """How pages learn who calls; passed in by ``create_app``."""

    @property
    def precheck(self) -> Callable[[Request], None]:
        """Refuse what is wrong by mere presence."""

    @property
    def cross_site(self) -> Callable[[Request], bool]:
        """Whether another site caused the request."""

    @property
    def resolve(self) -> Callable[[Request], Actor]:
        """The actor, in a unit of work."""

    @property
    def client(self) -> Callable[[Request], Client]:
        """The peer of the request."""


def install(app: Flask, who: Who, pages: Set[str]) -> None:
    """Guard the pages of these blueprints and put the policy on every HTML answer."""
    app.extensions["docket_who"] = who

    @app.before_request
    def guard() -> Response | None:
        request, noted = current_request(), current_g()
        if request.blueprint not in pages:
            return None
        noted.operation_id = request.endpoint
        view = app.view_functions[request.endpoint or ""]
        is_public = getattr(view, "is_public", False)
        if is_public:
            request.max_content_length = request.max_form_memory_size = PUBLIC_BYTES
        _refuse_nul(request)
        who.precheck(request)
        if request.method not in SAFE_METHODS and who.cross_site(request):
            raise Forbidden("cross_site_request")
        if is_public and not getattr(view, "wants_actor", False):
            return None
        try:
            with reading():
                noted.actor = who.resolve(request)
        except DomainError as error:
            record_refusal(actor(), error, request.endpoint or "")
            raise
        if not noted.actor.is_human and not is_public:
            raise Unauthenticated
        return None

    @app.after_request
    def headers(response: Response) -> Response:
        if response.mimetype == "text/html":
            if current_g().get("shows_secret"):
                # Compressed on the way, its length would tell of the secret.
                response.headers["Cache-Control"] = "no-store, no-transform"
            add_missing(response, PAGE_HEADERS)
            if _may_compress(response):
                compress(response)
        return response


def _refuse_nul(request: Request) -> None:
    """No database stores NUL and no browser sends it; raises NotFound and InvalidField."""
    if "\x00" in request.path:
        raise NotFound("route", request.path)
    sent = []
    # Of most requests the parameters need not be read for this.
    if b"%00" in request.query_string or b"\x00" in request.query_string:
        sent.append(request.args)
    # What is only read has no form.
    if request.method not in SAFE_METHODS:
        sent.append(request.form)
    for values in sent:
        for name, value in values.items(multi=True):
            if "\x00" in value:
                raise InvalidField(name, "nul_character")


def _may_compress(response: Response) -> bool:
    """Not where the page shows a secret beside what an attacker could choose."""
    is_fit = response.status_code == 200 and not current_g().get("shows_secret")
    return is_fit and accepts_gzip(current_request().headers.get("Accept-Encoding", ""))


def public(
    *, wants_actor: bool = False
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Mark a page that needs no login; with ``wants_actor`` it may still look who is there."""

    def mark(view: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(view)
        def marked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            return view(*args, **kwargs)

        marked.is_public = True  # type: ignore[attr-defined]  # a mark on the function itself
        marked.wants_actor = wants_actor  # type: ignore[attr-defined]  # as above
        return marked

    return mark


def actor() -> Actor:
    """Who asks for this page."""
    found: Actor = current_g().get("actor", ANONYMOUS)
    return found


def client() -> Client:
    """The peer of this request."""
    who: Who = current_app.extensions["docket_who"]
    return who.client(request)


def is_secure() -> bool:
    """Whether cookies go over HTTPS alone."""
    return settings_at_hand().cookie_secure


def write(work: Callable[[Actor], Result]) -> Result:
    """Run ``work`` in a transaction that also judges the session, as REST does.

    A refusal is audited after its rollback and raised on. Raises Unauthenticated where the session
    ended meanwhile.
    """
    who: Who = current_app.extensions["docket_who"]

    def judged() -> Any:
        present = who.resolve(request)
        if not present.is_human:
            raise Unauthenticated
        return work(present)

    try:
        done: Result = run_write(judged)
    except DomainError as error:
        record_refusal(actor(), error, g.operation_id)
        raise
    return done


def safe_next(target: str | None) -> str:
    """Where to go after login: an address of this site, written relatively, or home."""
    if not target or not target.startswith("/") or target.startswith("//"):
        return "/"
    if "\\" in target or not target.isprintable():
        return "/"
    return target


def login_address() -> str:
    """The login page that leads back here."""
    if request.method != "GET":
        return "/login"
    here = request.full_path if request.query_string else request.path
    return "/login" if here == "/" else f"/login?next={quote(here, safe='/')}"
