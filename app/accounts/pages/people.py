"""The people who use this installation."""

from flask import Response, request

from app.accounts import users
from app.accounts.pages.blueprint import pages, settings
from app.accounts.schemas import UserCreate
from app.core.db import reading
from app.core.errors import Conflict
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor
from app.web.render import go, page

# More people than this do not fit on one page.
SHOWN = 200


def _show(form: Form, *, refused: str = "", status: int = 200) -> Response:
    with reading():
        everyone = users.list_users(actor(), limit=SHOWN, cursor=None).data
    people = [user for user in everyone if user["type"] == "human"]
    return page("accounts/people.html", people=people, form=form, refused=refused, status=status)


@pages.get("/people")
def people() -> Response:
    """Show everyone, and a form for one more."""
    return _show(Form())


@pages.post("/people")
def add_person() -> Response:
    """Add a person."""
    form = load_form(UserCreate)
    done = attempt(form, lambda: users.create_user(actor(), **form.data, settings=settings()))
    return go("/people") if done else _show(form, status=422)


@pages.post("/people/<user_id>/active")
def set_active(user_id: str) -> Response:
    """Activate or deactivate a person; their sessions end with it."""
    wanted = request.form.get("is_active") == "true"
    try:
        users.update_user(actor(), user_id, settings=settings(), is_active=wanted)
    except Conflict as error:
        return _show(Form(), refused=error.message, status=409)
    return go("/people")
