"""The pages of the second factor: turning it on and off, recovery codes, the login code."""

import segno
from flask import Blueprint, Response, g
from markupsafe import Markup

from app.accounts import second_factor
from app.accounts.schemas import CodeBody, CurrentPasswordBody, PasswordAndCodeBody
from app.accounts.second_factor import NewFactor
from app.core.errors import Conflict
from app.database.session import reading
from app.http.current import current_settings
from app.web.forms import Form, attempt, load_form, submit
from app.web.guard import actor, peer
from app.web.render import go, page

pages = Blueprint("second_factor_pages", __name__)

TWO_FACTOR = "/profile/two-factor"
# Modules of white around a QR code.
QR_BORDER = 4


@pages.get(TWO_FACTOR)
def show() -> Response:
    return _show()


def _show(form: Form | None = None, status: int = 200) -> Response:
    with reading():
        factor = second_factor.get_status(actor())
    return page("accounts/two_factor.html", factor=factor, form=form or Form(), status=status)


@pages.post(TWO_FACTOR)
def set_up() -> Response:
    form = load_form(CurrentPasswordBody)
    made: list[NewFactor] = []
    settings = current_settings()
    is_done = attempt(
        form,
        lambda: made.append(
            second_factor.set_up(actor(), **form.data, peer=peer(), settings=settings)
        ),
    )
    return _ask(made[0], Form()) if is_done else _show(form, 422)


def _ask(made: NewFactor, form: Form, status: int = 200) -> Response:
    """Show the secret and ask for its first code."""
    g.shows_secret = True
    picture = segno.make(made.address, micro=False).svg_inline(
        border=QR_BORDER, omitsize=True, light="#fff", dark="#000", svgclass="qr", lineclass=None
    )
    return page(
        "accounts/two_factor_confirm.html",
        picture=Markup(picture),  # noqa: S704 - made of numbers by the library
        secret=" ".join(made.secret[at : at + 4] for at in range(0, len(made.secret), 4)),
        form=form,
        status=status,
    )


@pages.get(f"{TWO_FACTOR}/confirm")
def confirming() -> Response:
    """Go to the start; a reload after a refusal requests this address."""
    return go(TWO_FACTOR)


@pages.post(f"{TWO_FACTOR}/confirm")
def confirm() -> Response:
    form = load_form(CodeBody)
    codes: list[str] = []
    try:
        is_done = submit(
            form, lambda person: codes.extend(second_factor.confirm(person, **form.data))
        )
    except Conflict:
        return go(TWO_FACTOR)
    if is_done:
        return _codes(codes, is_new=True)
    with reading():
        waiting = second_factor.pending(actor(), settings=current_settings())
    return _ask(waiting, form, 422) if waiting is not None else go(TWO_FACTOR)


def _codes(codes: list[str], *, is_new: bool) -> Response:
    """The recovery codes; only this response shows them."""
    g.shows_secret = True
    return page("accounts/recovery_codes.html", codes=codes, is_new=is_new)


@pages.post(f"{TWO_FACTOR}/recovery-codes")
def make_recovery_codes() -> Response:
    form = load_form(PasswordAndCodeBody)
    codes: list[str] = []
    settings = current_settings()
    is_done = attempt(
        form,
        lambda: codes.extend(
            second_factor.make_recovery_codes(actor(), **form.data, peer=peer(), settings=settings)
        ),
    )
    return _codes(codes, is_new=False) if is_done else _show(form, 422)


@pages.post(f"{TWO_FACTOR}/disable")
def disable() -> Response:
    form = load_form(PasswordAndCodeBody)
    settings = current_settings()
    is_done = attempt(
        form,
        lambda: second_factor.disable(actor(), **form.data, peer=peer(), settings=settings),
    )
    return go(TWO_FACTOR) if is_done else _show(form, 422)
