"""The pages that links in mails about accounts lead to."""

from flask import Blueprint, Response

from app.accounts import mailing
from app.core.context import FAILED
from app.core.errors import NotFound
from app.database.session import reading, run_write
from app.http.current import current_request
from app.http.flask_app import SEGMENT_KEY
from app.web.guard import actor, public, write
from app.web.render import go, page

pages = Blueprint("account_mail_pages", __name__)

# The token is taken out of the address before anything sees it.
CONFIRM = "/mail/confirm/<token>"


@pages.get(CONFIRM)
@public()
def show_confirmation(token: str) -> Response:
    """Ask whether to confirm: programs that look at links in mails confirm nothing."""
    try:
        with reading():
            username, address = mailing.address_of(actor(), presented(token))
    except NotFound:
        return _over()
    return page("accounts/confirm_email.html", username=username, address=address)


@pages.post(CONFIRM)
@public()
def confirm(token: str) -> Response:
    try:
        run_write(lambda: mailing.confirm(actor(), presented(token)))
    except NotFound:
        return _over()
    return page("accounts/email_confirmed.html")


@pages.post("/profile/email/confirm")
def send_again() -> Response:
    write(mailing.send_again)
    return go("/profile?saved=asked")


def presented(token: str) -> str:
    """The token of this request's address."""
    return str(current_request().environ.get(SEGMENT_KEY, token))


def _over() -> Response:
    """A wrong token counts as a failed credential."""
    current_request().environ[FAILED] = True
    return page("accounts/mail_link_over.html", status=404)
