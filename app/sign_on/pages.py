"""Pages of single sign-on: to the provider and back, linked accounts, logout by the provider."""

from typing import Any

from flask import Blueprint, Response, jsonify, request

from app.accounts import second_factor
from app.accounts.confirming import has_password
from app.accounts.messages import wait_and_try_again
from app.accounts.pages import enter, set_cookie, show_login
from app.accounts.schemas import ConfirmationBody
from app.accounts.sessions import OpenedSession
from app.config import Settings
from app.core.errors import Conflict, DomainError, NotFound, RateLimited
from app.database.session import reading
from app.http.current import current_request, current_settings
from app.http.flask_app import FAILED
from app.sign_on import flow, identities, logout, service
from app.sign_on.requests import ProviderFailure
from app.sign_on.service import CallbackParams, LoginRedirect, SignOnRefused
from app.sign_on.tokens import TokenRefused
from app.web.forms import Form, explain, load_form
from app.web.guard import actor, peer, public, safe_next, write
from app.web.render import go, page

pages = Blueprint("sign_on_pages", __name__)

# Each login has a cookie of its own, so several tabs can log in at a time; the oldest goes, as a
# browser sends only so much.
COOKIE = "app_oidc_"
MAX_LOGINS = 4
LINKED = "/profile/sign-on"


def _settings() -> Settings:
    """The settings; raises NotFound if single sign-on is off."""
    settings = current_settings()
    if not settings.oidc_issuer:
        raise NotFound("route", request.path)
    return settings


@pages.get("/login/oidc")
@public(wants_actor=True)
def begin() -> Response:
    """Send the browser to the provider."""
    settings = _settings()
    target = safe_next(request.args.get("next"))
    if actor().is_human:
        return go(target)
    try:
        return _redirect(service.begin(actor(), target=target, settings=settings))
    except SignOnRefused as refusal:
        return _refused(refusal.message, target)


def _redirect(begun: LoginRedirect) -> Response:
    response = go(begun.address)
    # Browsers send the oldest cookie first.
    earlier = [name for name in request.cookies if name.startswith(COOKIE)]
    for name in earlier[: 1 - MAX_LOGINS]:
        set_cookie(response, name, "", 0)
    set_cookie(response, _cookie_of(begun.state), begun.cookie, flow.LIFETIME_MS // 1000)
    return response


def _cookie_of(state: str) -> str:
    return f"{COOKIE}{state[:16]}"


@pages.get(service.CALLBACK)
@public(wants_actor=True)
def finish() -> Response:
    """Log in, or ask whether to link the account."""
    settings = _settings()
    state = request.args.get("state", "")
    cookie = _cookie_of(state)
    response = _finish(state, request.cookies.get(cookie, ""), settings)
    if cookie in request.cookies:
        set_cookie(response, cookie, "", 0)
    return response


def _finish(state: str, cookie: str, settings: Settings) -> Response:
    callback = CallbackParams(
        cookie=cookie,
        state=state,
        code=request.args.get("code", ""),
        issuer=request.args.get("iss"),
        error=request.args.get("error", ""),
    )
    try:
        found, target = service.finish(actor(), callback=callback, peer=peer(), settings=settings)
    except SignOnRefused as refusal:
        # Repeated failures get ever slower responses.
        current_request().environ[FAILED] = True
        return _refused(refusal.message, "/")
    except RateLimited as error:
        response = _refused(wait_and_try_again(error.minutes), "/", error.status)
        response.headers.update(error.headers)
        return response
    if isinstance(found, OpenedSession):
        return enter(found, target)
    return _ask(found.name, flow.sealed(found), Form())


def _ask(name: str, candidate: str, form: Form, status: int = 200) -> Response:
    """Ask whether to link the account of this name, which the form carries as ``candidate``."""
    with reading():
        asks_password = has_password(actor())
        asks_code = second_factor.is_enabled(actor().id)
    return page(
        "accounts/sign_on_link.html",
        name=name,
        candidate=candidate,
        form=form,
        asks_password=asks_password,
        asks_code=asks_code,
        status=status,
    )


def _refused(message: str, target: str, status: int = 422) -> Response:
    """Show the message on the login page, or in the profile of a person who is logged in."""
    if actor().is_human:
        return _show(refused=message, status=status)
    form = Form()
    form.refuse("", message)
    return show_login(form, target, status)


@pages.get(LINKED)
def show() -> Response:
    return _show()


def _show(refused: str = "", status: int = 200) -> Response:
    _settings()
    with reading():
        linked = identities.list_own(actor())
    return page("accounts/sign_on.html", linked=linked, refused=refused, status=status)


@pages.get(f"{LINKED}/begin")
def begin_linking() -> Response:
    """Send the browser to the provider, to link the account."""
    settings = _settings()
    try:
        return _redirect(service.begin_linking(actor(), settings=settings))
    except SignOnRefused as refusal:
        return _show(refusal.message, 422)


@pages.post(LINKED)
def link() -> Response:
    """Link the account that the form shows."""
    settings = _settings()
    candidate = request.form.get("candidate", "")
    form = load_form(ConfirmationBody)
    name = ""
    try:
        name = identities.candidate_of(actor(), candidate).name
        identities.link(actor(), candidate=candidate, **form.data, peer=peer(), settings=settings)
    except Conflict as error:
        return _show(error.message, 409)
    except DomainError as error:
        if not explain(form, error):
            raise
        return _ask(name, candidate, form, 422)
    return go(LINKED)


@pages.post(f"{LINKED}/<identity_id>/remove")
def unlink(identity_id: str) -> Response:
    settings = _settings()
    try:
        write(lambda person: identities.unlink(person, identity_id, settings=settings))
    except Conflict as error:
        return _show(error.message, 409)
    return go(LINKED)


@pages.post("/people/<user_id>/linked-logins/remove")
def unlink_all_of(user_id: str) -> Response:
    write(lambda person: identities.remove_of(person, user_id))
    return go(safe_next(request.form.get("back", "/people")))


@pages.post("/auth/oidc/backchannel-logout")
@public()
def log_out_by_provider() -> Response:
    """End the sessions that the provider's logout token names (Back-Channel Logout 1.0)."""
    settings = _settings()
    token = request.form.get("logout_token", "")
    try:
        logout.log_out_by_provider(actor(), token=token, settings=settings)
    except TokenRefused as error:
        return _said({"error": "invalid_request", "error_description": str(error)}, 400)
    except ProviderFailure:
        return _said({"error": "temporarily_unavailable"}, 503)
    return _said({}, 200)


def _said(body: dict[str, Any], status: int) -> Response:
    response = jsonify(body)
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    return response
