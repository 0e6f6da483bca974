"""Coming in and going out: first-run setup, login, logout."""

from flask import Blueprint, Response, g, request

from app.accounts import login, preferences, setup
from app.accounts.identity import COOKIE
from app.accounts.schemas import LoginBody, SetupBody
from app.accounts.sessions import OpenedSession, Peer
from app.config import settings_at_hand
from app.core.errors import InvalidCredentials, RateLimited
from app.database.session import reading
from app.web import choices, guard
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor, public
from app.web.render import go, is_htmx, page, partial

pages = Blueprint("accounts_pages", __name__)


def peer() -> Peer:
    """The other end of this request."""
    client = guard.client()
    return Peer(client.address, client.user_agent, client.is_local)


def _needs_setup() -> bool:
    with reading():
        return setup.setup_status(actor())


def _enter(opened: OpenedSession, target: str) -> Response:
    """Give the browser its session and the person's choices, and lead it on."""
    with reading():
        chosen = preferences.of_user(opened.user.id)
    response = choices.carry(go(target), chosen)
    _set_cookie(response, opened.token, opened.max_age)
    return response


def _set_cookie(response: Response, value: str, max_age: int) -> None:
    """The session cookie, with the attributes that REST gives it."""
    g.fresh_cookie = True
    response.set_cookie(
        COOKIE,
        value,
        max_age=max_age,
        httponly=True,
        secure=settings_at_hand().cookie_secure,
        samesite="Lax",
    )


@pages.get("/setup")
@public()
def setup_page() -> Response:
    """Ask for the first account; once a human exists there is only the login."""
    if not _needs_setup():
        return go("/login")
    return page("accounts/setup.html", form=Form(), needs_code=not peer().is_local)


@pages.post("/setup")
@public()
def set_up() -> Response:
    """Make the first account, log in and go on with the first steps (``app/welcome``)."""
    if not _needs_setup():
        return go("/login")
    form = load_form(SetupBody)
    opened: list[OpenedSession] = []
    done = attempt(
        form,
        lambda: opened.append(
            setup.set_up_admin(actor(), **form.data, peer=peer(), settings=settings_at_hand())
        ),
    )
    if not done:
        needs_code = not peer().is_local
        return page("accounts/setup.html", form=form, needs_code=needs_code, status=422)
    return _enter(opened[0], "/start")


def _ask(form: Form, target: str, status: int = 200, wait: int = 0) -> Response:
    """The form, with the seconds to wait before it is of use again.

    It is a page, or in place where a script found that the session ended.
    """
    if is_htmx():
        return partial("accounts/again.html", form=form, status=status)
    return page("accounts/login.html", form=form, next=target, wait=wait, status=status)


@pages.get("/login")
@public(wants_actor=True)
def login_page() -> Response:
    """Ask who it is; whoever is logged in goes on, a new installation is set up first."""
    target = guard.safe_next(request.args.get("next"))
    if actor().is_human:
        return go(target)
    if _needs_setup():
        return go("/setup")
    return _ask(Form(), target)


@pages.post("/login")
@public(wants_actor=True)
def log_in() -> Response:
    """Open a session, or show the form again with the reason."""
    target = guard.safe_next(request.form.get("next"))
    form = load_form(LoginBody)
    headers: dict[str, str] = {}
    status, wait = 422, 0
    if not form.errors:
        try:
            opened = login.log_in(actor(), **form.data, peer=peer(), settings=settings_at_hand())
            return _enter(opened, target)
        except InvalidCredentials as error:
            form.refuse("", error.message)
        except RateLimited as error:
            status, headers = error.status, error.headers
            wait = int(headers["Retry-After"])
            minutes = -(-wait // 60)
            unit = "minute" if minutes == 1 else "minutes"
            form.refuse("", f"Too many attempts. Wait {minutes} {unit} and try again.")
    response = _ask(form, target, status, wait)
    response.headers.update(headers)
    return response


@pages.post("/logout")
@public(wants_actor=True)
def log_out() -> Response:
    """End the session; without one there is nothing left to do."""
    if actor().is_human:
        guard.write(login.log_out)
    response = go("/login")
    response.delete_cookie(
        COOKIE, httponly=True, secure=settings_at_hand().cookie_secure, samesite="Lax"
    )
    # Text kept in the browser goes too.
    response.headers["Clear-Site-Data"] = '"storage"'
    return response
