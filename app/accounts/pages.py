"""The pages of accounts: first-run setup, login, and one's own profile."""

from typing import Any

from flask import Blueprint, Response, g, request

from app.accounts import login, messages, passkey_login, passkeys, personal, sessions, setup, users
from app.accounts.authentication import COOKIE
from app.accounts.builders import user_json
from app.accounts.login import LoginStep
from app.accounts.models import User
from app.accounts.passkey_schemas import PasskeyLogin
from app.accounts.schemas import ChangePasswordBody, CodeBody, LoginBody, SetupBody, UserPatch
from app.accounts.sessions import OpenedSession
from app.core.errors import Forbidden, InvalidCredentials, NotFound, RateLimited
from app.database.session import reading
from app.http.current import current_settings
from app.mail import outbox
from app.web import choices
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor, peer, public, safe_next, write
from app.web.render import go, is_htmx, page, partial

pages = Blueprint("accounts_pages", __name__)

SESSIONS = "/profile/sessions"
# Holds the ``LoginStep`` while a login waits for the code of the second factor.
STEP_COOKIE = "app_login_step"


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
            setup.set_up_admin(actor(), **form.data, peer=peer(), settings=current_settings())
        ),
    )
    # The first steps (``app/sample``) follow.
    return enter(opened[0], "/start") if is_done else _show_setup(form, status=422)


def _show_setup(form: Form, status: int = 200) -> Response:
    return page("accounts/setup.html", form=form, needs_code=not peer().is_local, status=status)


def _needs_setup() -> bool:
    with reading():
        return setup.setup_status(actor())


@pages.get("/login")
@public(wants_actor=True)
def login_page() -> Response:
    """Show the form; a person who is logged in goes on, and a new installation goes to setup."""
    target = safe_next(request.args.get("next"))
    if actor().is_human:
        return go(target)
    if _needs_setup():
        return go("/setup")
    return show_login(Form(), target)


@pages.post("/login")
@public(wants_actor=True)
def log_in() -> Response:
    target = safe_next(request.form.get("next"))
    is_step = "password" not in request.form and "code" in request.form
    is_passkey = "credential_id" in request.form
    form = load_form(PasskeyLogin if is_passkey else CodeBody if is_step else LoginBody)
    headers: dict[str, str] = {}
    status, wait = 422, 0
    if not form.errors:
        try:
            return enter(_log_in_with(form, is_step=is_step), target)
        except Forbidden as error:
            form.refuse("", error.message)
            status = error.status
        except InvalidCredentials as error:
            form.refuse("", error.message)
            is_step = is_step and (error.details or {}).get("reason") != login.STEP_OVER
        except RateLimited as error:
            status, headers = error.status, error.headers
            wait = error.seconds
            form.refuse("", messages.wait_and_try_again(error.minutes))
    response = (
        _ask_code(form, target, _step_person(), status)
        if is_step
        else show_login(form, target, status, wait)
    )
    response.headers.update(headers)
    return response


def _log_in_with(form: Form, *, is_step: bool) -> OpenedSession | LoginStep:
    """Log in with a username and password, with the code after these, or with a passkey."""
    step = request.cookies.get(STEP_COOKIE, "")
    if "credential_id" in form.data:
        return passkey_login.log_in(
            actor(),
            **form.data,
            step=step if is_step else None,
            peer=peer(),
            settings=current_settings(),
        )
    if not is_step:
        return login.log_in(actor(), **form.data, peer=peer(), settings=current_settings())
    return login.finish_login(
        actor(), step=step, code=form.data["code"], peer=peer(), settings=current_settings()
    )


def _step_person() -> User | None:
    with reading():
        return login.person_of_step(request.cookies.get(STEP_COOKIE, ""))


def _ask_code(form: Form, target: str, person: User | None, status: int = 200) -> Response:
    """The form for the second factor of this person; a fragment for htmx."""
    if is_htmx():
        return partial("accounts/again_code.html", form=form, status=status)
    site = None
    if person is not None:
        with reading():
            site = passkeys.usable_at(current_settings(), person.id)
    return page("accounts/login_code.html", form=form, next=target, site=site, status=status)


def show_login(form: Form, target: str, status: int = 200, wait: int = 0) -> Response:
    """The form, disabled for ``wait`` seconds.

    A fragment for htmx, whose requests land here once a page's session has ended.
    """
    ways = ways_to_log_in()
    if is_htmx():
        return partial("accounts/again.html", form=form, status=status, **ways)
    with reading():
        site = passkeys.usable_at(current_settings())
    return page(
        "accounts/login.html",
        form=form,
        next=target,
        wait=wait,
        sends_mail=outbox.is_on(),
        site=site,
        status=status,
        **ways,
    )


def ways_to_log_in() -> dict[str, Any]:
    """Whether people can log in at a provider, and with a password."""
    settings = current_settings()
    return {"by_provider": bool(settings.oidc_issuer), "by_password": settings.password_login}


def enter(opened: OpenedSession | LoginStep, target: str) -> Response:
    """Go to ``target`` with the cookies of the session and of the person's choices.

    For a ``LoginStep``, go to the page that asks for its code.
    """
    if isinstance(opened, LoginStep):
        response = _ask_code(Form(), target, opened.user)
        set_cookie(response, STEP_COOKIE, opened.token, opened.max_age)
        return response
    with reading():
        chosen = personal.choices_of(opened.user.id)
    response = choices.carry(go(target), chosen)
    g.fresh_cookie = True
    set_cookie(response, COOKIE, opened.token, opened.max_age)
    if STEP_COOKIE in request.cookies:
        set_cookie(response, STEP_COOKIE, "", 0)
    return response


def set_cookie(response: Response, name: str, value: str, max_age: int) -> None:
    """Set a cookie with the attributes that REST sets."""
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        httponly=True,
        secure=current_settings().cookie_secure,
        samesite="Lax",
    )


@pages.post("/logout")
@public(wants_actor=True)
def log_out() -> Response:
    if actor().is_human:
        write(login.log_out)
    response = go("/login")
    response.delete_cookie(
        COOKIE, httponly=True, secure=current_settings().cookie_secure, samesite="Lax"
    )
    # Also clear text that scripts keep in the browser.
    response.headers["Clear-Site-Data"] = '"storage"'
    return response


@pages.get("/profile")
def profile() -> Response:
    return _show_profile()


def _show_profile(
    *,
    name_form: Form | None = None,
    email_form: Form | None = None,
    password_form: Form | None = None,
    status: int = 200,
) -> Response:
    with reading():
        user, _ = users.current_user(actor())
        session_count = len(sessions.list_own(actor(), current_settings()))
        has_passkeys = passkeys.usable_at(current_settings(), actor().id) is not None
        is_notified = personal.choices_of(actor().id).get(personal.TAKING_PART) != "off"
    ended = request.args.get("ended", "")
    return page(
        "accounts/profile.html",
        user=user_json(user),
        session_count=session_count,
        has_passkeys=has_passkeys,
        is_notified=is_notified,
        name_form=name_form,
        email_form=email_form,
        sends_mail=outbox.is_on(),
        password_form=password_form,
        by_provider=bool(current_settings().oidc_issuer),
        saved=request.args.get("saved", ""),
        ended=int(ended) if ended.isascii() and ended.isdigit() and len(ended) < 5 else 0,
        status=status,
    )


@pages.post("/profile/preferences")
def save_preferences() -> Response:
    """Store the choices for the person, and set them as cookies of this browser."""
    # Other pages change these two, so keep their values.
    kept = {name: choices.chosen()[name] for name in (choices.PROJECT, choices.HIDDEN)}
    sent = {"keys": "off"} | kept | request.form.to_dict()
    if "forget_project" in sent:
        sent[choices.PROJECT] = ""
    chosen = choices.DEFAULTS | choices.cleaned(sent)
    write(lambda person: personal.choose(person, chosen))
    return choices.carry(go("/profile"), chosen)


@pages.post("/profile/inbox")
def save_inbox() -> Response:
    chosen = {personal.TAKING_PART: "on" if request.form.get("taking_part") else "off"}
    write(lambda person: personal.choose(person, chosen))
    return go("/profile")


@pages.post("/profile/name")
def save_name() -> Response:
    form = load_form(UserPatch, keep_empty=True)
    fields = {"display_name": form.data.get("display_name", "")}
    is_done = attempt(
        form, lambda: users.update_user(actor(), actor().id, settings=current_settings(), **fields)
    )
    return go("/profile?saved=name") if is_done else _show_profile(name_form=form, status=422)


@pages.post("/profile/email")
def save_email() -> Response:
    form = load_form(UserPatch, keep_empty=True)
    email = form.data.get("email") or None
    is_done = attempt(
        form,
        lambda: users.update_user(actor(), actor().id, settings=current_settings(), email=email),
    )
    return go("/profile?saved=email") if is_done else _show_profile(email_form=form, status=422)


@pages.get("/profile/password")
def password() -> Response:
    """Go to the profile, which has the form; a reload after a refusal requests this address."""
    return go("/profile")


@pages.post("/profile/password")
def save_password() -> Response:
    form = load_form(ChangePasswordBody)
    ended: list[int] = []
    is_done = attempt(
        form,
        lambda: ended.append(
            users.change_password(actor(), **form.data, peer=peer(), settings=current_settings())
        ),
    )
    if not is_done:
        return _show_profile(password_form=form, status=422)
    return go(f"/profile?saved=password&ended={ended[0]}")


@pages.get(SESSIONS)
def session_list() -> Response:
    with reading():
        own = sessions.list_own(actor(), current_settings())
        has_passkeys = passkeys.usable_at(current_settings(), actor().id) is not None
    shown = [
        {
            "id": row.id,
            "user_agent": row.user_agent,
            "created_at": row.created_at,
            "last_seen_at": row.last_seen_at,
            "is_current": row.id == actor().session_id,
        }
        for row in own
    ]
    shown.sort(key=lambda row: not row["is_current"])
    return page(
        "accounts/sessions.html",
        sessions=shown,
        has_passkeys=has_passkeys,
        ended="ended" in request.args,
    )


@pages.post(f"{SESSIONS}/end-others")
def end_others() -> Response:
    write(sessions.end_others)
    return go(f"{SESSIONS}?ended")


@pages.post(f"{SESSIONS}/<session_id>/end")
def end(session_id: str) -> Response:
    """End one session, which may have ended already."""
    try:
        write(lambda person: sessions.end_own(person, session_id))
    except NotFound:
        return go(SESSIONS)
    return go(f"{SESSIONS}?ended")
