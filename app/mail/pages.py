"""The log of mail."""

from flask import Blueprint, Response, request

from app.core.errors import InvalidField
from app.database.session import reading
from app.mail import messages, outbox
from app.web.guard import actor
from app.web.render import go, page

pages = Blueprint("mail_pages", __name__)

LOG = "/mail"
PAGE_SIZE = 50
KINDS = {
    "confirm": messages.CONFIRM_ADDRESS,
    "changed": messages.ADDRESS_CHANGED,
    "reset": messages.PASSWORD_RESET,
    "invitation": messages.INVITATION,
    "notice": messages.NOTICE,
    "digest": messages.DAILY_DIGEST,
}


@pages.get(LOG)
def log() -> Response:
    cursor = request.args.get("cursor") or None
    try:
        with reading():
            listed = outbox.list_mails(actor(), limit=PAGE_SIZE, cursor=cursor)
    except InvalidField:
        # The cursor is broken: start at the first page.
        return go(LOG)
    return page(
        "mail/log.html",
        mails=listed.data,
        kinds=KINDS,
        is_on=outbox.is_on(),
        is_continued=cursor is not None,
        next_cursor=listed.next_cursor,
    )
