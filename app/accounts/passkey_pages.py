"""The pages of passkeys: adding, naming and removing one's own."""

from flask import Blueprint, Response, request

from app.accounts import ceremonies, passkeys, second_factor
from app.accounts.passkey_schemas import PasskeyCreate, PasskeyPatch
from app.accounts.schemas import CurrentPasswordBody
from app.database.session import reading
from app.http.current import current_settings
from app.web.forms import Form, attempt, load_form, submit
from app.web.guard import actor, peer
from app.web.render import go, page

pages = Blueprint("passkey_pages", __name__)

PASSKEYS = "/profile/passkeys"
ONE = f"{PASSKEYS}/<passkey_id>"


@pages.get(PASSKEYS)
def index() -> Response:
    return _show(Form())


def _show(form: Form, status: int = 200) -> Response:
    settings = current_settings()
    with reading():
        own = passkeys.list_own(actor(), limit=passkeys.MAX_PASSKEYS, cursor=None).data
        asks_code = second_factor.is_enabled(actor().id)
    return page(
        "accounts/passkeys.html",
        passkeys=own,
        limit=passkeys.MAX_PASSKEYS,
        site=ceremonies.site_of(settings),
        by_password=settings.password_login,
        asks_code=asks_code,
        form=form,
        saved=request.args.get("saved", ""),
        status=status,
    )


@pages.post(PASSKEYS)
def add() -> Response:
    """Add what the script sends, after it asked the browser for a passkey."""
    form = load_form(PasskeyCreate)
    # The page shows only this field; problems of other fields appear above the form.
    form.shown = frozenset({"name"})
    settings = current_settings()
    is_done = attempt(form, lambda: passkeys.add(actor(), **form.data, settings=settings))
    return go(f"{PASSKEYS}?saved=added") if is_done else _show(form, 422)


@pages.get(ONE)
def show(passkey_id: str) -> Response:
    return _edit(passkey_id)


def _edit(
    passkey_id: str,
    status: int = 200,
    *,
    name_form: Form | None = None,
    password_form: Form | None = None,
) -> Response:
    with reading():
        passkey = passkeys.get_own(actor(), passkey_id)
    return page(
        "accounts/passkey.html",
        passkey=passkey,
        name_form=name_form,
        password_form=password_form,
        status=status,
    )


@pages.post(f"{ONE}/name")
def rename(passkey_id: str) -> Response:
    form = load_form(PasskeyPatch)
    is_done = submit(form, lambda person: passkeys.rename(person, passkey_id, **form.data))
    return go(f"{PASSKEYS}?saved=renamed") if is_done else _edit(passkey_id, 422, name_form=form)


@pages.post(f"{ONE}/remove")
def remove(passkey_id: str) -> Response:
    form = load_form(CurrentPasswordBody)
    settings = current_settings()
    is_done = attempt(
        form,
        lambda: passkeys.remove(actor(), passkey_id, **form.data, peer=peer(), settings=settings),
    )
    return (
        go(f"{PASSKEYS}?saved=removed") if is_done else _edit(passkey_id, 422, password_form=form)
    )
