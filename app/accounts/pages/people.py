"""The pages of the people who use this installation."""

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
# People on one page.
SHOWN = 200


@pages.get(PEOPLE)
def people() -> Response:
    return _show(Form())


@pages.post(PEOPLE)
def add_person() -> Response:
    form = load_form(UserCreate)
    is_done = attempt(
        form, lambda: users.create_user(actor(), **form.data, settings=settings_at_hand())
    )
    return go(PEOPLE) if is_done else _show(form, status=422)


@pages.post("/people/<user_id>/active")
def set_active(user_id: str) -> Response:
    is_active = request.form.get("is_active") == "true"
    try:
        users.update_user(actor(), user_id, settings=settings_at_hand(), is_active=is_active)
    except Conflict as error:
        return _show(Form(), refused=error.message, status=409)
    return go(safe_next(request.form.get("back", PEOPLE)))


def _show(form: Form, *, refused: str = "", status: int = 200) -> Response:
    cursor = request.args.get("cursor") or None
    try:
        with reading():
            listed = users.list_users(actor(), limit=SHOWN, cursor=cursor, humans_only=True)
    except InvalidField:
        # The cursor is broken: start at the first page.
        return go(PEOPLE)
    return page(
        "accounts/people.html",
        people=listed.data,
        here=f"{PEOPLE}?cursor={cursor}" if cursor else "",
        next_cursor=listed.next_cursor,
        form=form,
        refused=refused,
        status=status,
    )
