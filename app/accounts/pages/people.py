"""The people who use this installation."""

from flask import Response, request

from app.accounts import users
from app.accounts.pages.entry import pages
from app.accounts.schemas import UserCreate
from app.config import settings_at_hand
from app.core.errors import Conflict, InvalidField
from app.database.session import reading
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor, safe_next
from app.web.render import go, page

PEOPLE = "/people"
# On a page; the newest come first.
SHOWN = 200


def _show(form: Form, *, refused: str = "", status: int = 200) -> Response:
    cursor = request.args.get("cursor") or None
    try:
        with reading():
            found = users.list_users(actor(), limit=SHOWN, cursor=cursor, humans_only=True)
    except InvalidField:
        # A cursor that was cut off on its way: start at the top.
        return go(PEOPLE)
    return page(
        "accounts/people.html",
        people=found.data,
        here=f"{PEOPLE}?cursor={cursor}" if cursor else "",
        next_cursor=found.next_cursor,
        form=form,
        refused=refused,
        status=status,
    )


@pages.get(PEOPLE)
def people() -> Response:
    """Show everyone, and a form for one more."""
    return _show(Form())


@pages.post(PEOPLE)
def add_person() -> Response:
    """Add a person."""
    form = load_form(UserCreate)
    done = attempt(
        form, lambda: users.create_user(actor(), **form.data, settings=settings_at_hand())
    )
    return go(PEOPLE) if done else _show(form, status=422)


@pages.post("/people/<user_id>/active")
def set_active(user_id: str) -> Response:
    """Activate or deactivate a person; their sessions end with it."""
    wanted = request.form.get("is_active") == "true"
    try:
        users.update_user(actor(), user_id, settings=settings_at_hand(), is_active=wanted)
    except Conflict as error:
        return _show(Form(), refused=error.message, status=409)
    return go(safe_next(request.form.get("back", PEOPLE)))
