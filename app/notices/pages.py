"""The pages of notices: a person's settings, and unsubscribing from a mail (RFC 8058)."""

from flask import Blueprint, Response, request

from app.accounts import users
from app.accounts.builders import user_json
from app.core.errors import InvalidField, NotFound
from app.database.session import reading, run_write
from app.http.current import current_request, token_in_address
from app.http.flask_app import FAILED
from app.mail import outbox
from app.notices import service
from app.web.guard import actor, public, write
from app.web.render import go, page

pages = Blueprint("notices_pages", __name__)

CHOICE = "/profile/mail"
UNSUBSCRIBE = "/mail/unsubscribe/<token>"


@pages.get(CHOICE)
def show() -> Response:
    return _show()


def _show(refused: str = "", status: int = 200) -> Response:
    with reading():
        frequency, zone = service.choice_of(actor())
        user, _ = users.current_user(actor())
    return page(
        "notices/choice.html",
        frequency=request.form.get("frequency", frequency),
        zone=request.form.get("zone", zone),
        user=user_json(user),
        sends_mail=outbox.is_on(),
        saved="saved" in request.args,
        refused=refused,
        status=status,
    )


@pages.post(CHOICE)
def choose() -> Response:
    frequency, zone = request.form.get("frequency", ""), request.form.get("zone", "")
    try:
        write(lambda person: service.choose(person, frequency=frequency, zone=zone))
    except InvalidField as error:
        return _show(error.message, 422)
    return go(f"{CHOICE}?saved")


@pages.get(UNSUBSCRIBE)
@public()
def ask(token: str) -> Response:
    """Ask first: programs that look at links in mails end nothing."""
    try:
        with reading():
            user = service.subscriber(actor(), token_in_address(token))
            address = user.email
    except NotFound:
        return _over()
    return page("notices/unsubscribe.html", address=address)


@pages.post(UNSUBSCRIBE)
@public()
def unsubscribe(token: str) -> Response:
    """One click, without a login: mail programs send this for their readers."""
    try:
        run_write(lambda: service.unsubscribe(actor(), token_in_address(token)))
    except NotFound:
        return _over()
    return page("notices/unsubscribed.html")


def _over() -> Response:
    """A wrong token counts as a failed credential."""
    current_request().environ[FAILED] = True
    return page("notices/over.html", status=404)
