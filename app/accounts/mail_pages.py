"""The pages that links in mails about accounts lead to."""

from flask import Blueprint, Response

from app.accounts import invitations, mailing, messages
from app.accounts.schemas import ForgotPasswordBody
from app.core.errors import NotFound, RateLimited
from app.database.session import reading, run_write
from app.http.current import current_request, current_settings, token_in_address
from app.http.flask_app import FAILED
from app.mail import outbox
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor, peer, public, write
from app.web.render import go, page

pages = Blueprint("account_mail_pages", __name__)

# ``HideTokens`` takes the token out of the address before anything else sees it.
CONFIRM = "/mail/confirm/<token>"
FORGOT = "/forgot-password"


@pages.get(CONFIRM)
@public()
def show_confirmation(token: str) -> Response:
    """Ask whether to confirm: programs that look at links in mails confirm nothing."""
    try:
        with reading():
            confirmation = mailing.confirmation_of(actor(), token_in_address(token))
    except NotFound:
        return _over()
    if confirmation.is_confirmed:
        return page("accounts/email_confirmed.html", used_for=confirmation.address)
    return page(
        "accounts/confirm_email.html", username=confirmation.username, address=confirmation.address
    )


@pages.post(CONFIRM)
@public()
def confirm(token: str) -> Response:
    try:
        run_write(lambda: mailing.confirm(actor(), token_in_address(token)))
    except NotFound:
        return _over()
    return page("accounts/email_confirmed.html")


@pages.get(FORGOT)
@public()
def forgot_password() -> Response:
    return _show_forgot(Form())


@pages.post(FORGOT)
@public()
def request_reset() -> Response:
    """Answer the same whether the address is anybody's."""
    form = load_form(ForgotPasswordBody)

    def ask() -> None:
        invitations.request_reset(actor(), **form.data, peer=peer(), settings=current_settings())

    try:
        if not attempt(form, ask):
            return _show_forgot(form, 422)
    except RateLimited as error:
        form.refuse("", messages.wait_and_try_again(error.minutes))
        response = _show_forgot(form, error.status)
        response.headers.update(error.headers)
        return response
    return page("accounts/forgot_sent.html")


def _show_forgot(form: Form, status: int = 200) -> Response:
    if not (outbox.is_on() and current_settings().password_login):
        raise NotFound("page", "forgot-password")
    return page("accounts/forgot.html", form=form, status=status)


@pages.post("/profile/email/confirm")
def send_again() -> Response:
    write(mailing.send_again)
    return go("/profile?saved=asked")


def _over() -> Response:
    """The page for a link that does not work; counts as a failed credential."""
    current_request().environ[FAILED] = True
    return page("accounts/mail_link_over.html", status=404)
