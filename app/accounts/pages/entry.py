"""The pages of first-run setup, login and logout."""

from flask import Blueprint, Response, g, request

from app.accounts import login, personal, setup
from app.accounts.identity import COOKIE
from app.accounts.schemas import LoginBody, SetupBody
from app.accounts.sessions import OpenedSession, Peer
from app.config import settings_at_hand
from app.core.errors import InvalidCredentials, RateLimited
from app.database.session import reading
from app.web import choices, guard
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor, is_secure, public
from app.web.render import go, is_htmx, page, partial

pages = Blueprint("accounts_pages", __name__)


def peer() -> Peer:
    """The client of this request, as login verbs take it."""
    client = guard.client()
    return Peer(client.address, client.user_agent, client.is_local)


@pages.get("/setup")
@public()
def setup_page() -> Response:
    return _show_setup(Form()) if _needs_setup() else go("/login")


@pages.post("/setup")
@public()
def set_up() -> Response:
    if not _needs_setup():
        return go("/login")
    form = load_form(SetupBody)
    opened: list[OpenedSession] = []
    is_done = attempt(
        form,
        lambda: opened.append(
            setup.set_up_admin(actor(), **form.data, peer=peer(), settings=settings_at_hand())
        ),
    )
    # The first steps (``app/sample``) follow.
    return _enter(opened[0], "/start") if is_done else _show_setup(form, status=422)


def _show_setup(form: Form, status: int = 200) -> Response:
    return page("accounts/setup.html", form=form, needs_code=not peer().is_local, status=status)


def _needs_setup() -> bool:
    with reading():
        return setup.setup_status(actor())


@pages.get("/login")
@public(wants_actor=True)
def login_page() -> Response:
    """Show the form; a person who is logged in goes on, and a new installation goes to setup."""
    target = guard.safe_next(request.args.get("next"))
    if actor().is_human:
        return go(target)
    if _needs_setup():
        return go("/setup")
    return _show_login(Form(), target)


@pages.post("/login")
@public(wants_actor=True)
def log_in() -> Response:
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
    response = _show_login(form, target, status, wait)
    response.headers.update(headers)
    return response


def _show_login(form: Form, target: str, status: int = 200, wait: int = 0) -> Response:
    """The form, disabled for ``wait`` seconds.

    It is a fragment where htmx asks, which it does on a page whose session ended.
    """
    if is_htmx():
        return partial("accounts/again.html", form=form, status=status)
    return page("accounts/login.html", form=form, next=target, wait=wait, status=status)


def _enter(opened: OpenedSession, target: str) -> Response:
    """Go to ``target`` with the cookies of the session and of the person's choices."""
    with reading():
        chosen = personal.choices_of(opened.user.id)
    response = choices.carry(go(target), chosen, secure=is_secure())
    g.fresh_cookie = True
    # The attributes are those that REST sets.
    response.set_cookie(
        COOKIE,
        opened.token,
        max_age=opened.max_age,
        httponly=True,
        secure=is_secure(),
        samesite="Lax",
    )
    return response


@pages.post("/logout")
@public(wants_actor=True)
def log_out() -> Response:
    if actor().is_human:
        guard.write(login.log_out)
    response = go("/login")
    response.delete_cookie(COOKIE, httponly=True, secure=is_secure(), samesite="Lax")
    # Text that scripts keep in the browser is cleared too.
    response.headers["Clear-Site-Data"] = '"storage"'
    return response
