"""One's own profile: how pages look, the name, the password, open sessions."""

from flask import Response, request

from app.accounts import sessions, users
from app.accounts.builders import user_json
from app.accounts.pages.blueprint import pages, settings
from app.accounts.schemas import ChangePasswordBody, UserPatch
from app.core.db import reading
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor
from app.web.render import KEYS_COOKIE, THEME_COOKIE, THEMES, go, page

YEAR = 365 * 24 * 3600


def _show(
    *, name_form: Form | None = None, password_form: Form | None = None, status: int = 200
) -> Response:
    with reading():
        user, _ = users.current_user(actor())
        opened = [
            {
                "user_agent": one.user_agent,
                "created_at": one.created_at,
                "last_seen_at": one.last_seen_at,
                "is_current": one.id == actor().session_id,
            }
            for one in sessions.of_user(user.id)
        ]
    return page(
        "accounts/profile.html",
        user=user_json(user),
        sessions=opened,
        name_form=name_form,
        password_form=password_form,
        saved=request.args.get("saved", ""),
        status=status,
    )


@pages.get("/profile")
def profile() -> Response:
    """Show one's own data and settings."""
    return _show()


@pages.post("/profile/preferences")
def save_preferences() -> Response:
    """Keep the theme and the shortcuts in cookies: they belong to this browser."""
    theme = request.form.get("theme", "auto")
    response = go("/profile")
    for name, value in (
        (THEME_COOKIE, theme if theme in THEMES else "auto"),
        (KEYS_COOKIE, "on" if request.form.get("keys") else "off"),
    ):
        response.set_cookie(
            name,
            value,
            max_age=YEAR,
            httponly=True,
            secure=settings().cookie_secure,
            samesite="Lax",
        )
    return response


@pages.post("/profile/name")
def save_name() -> Response:
    """Change one's own display name."""
    form = load_form(UserPatch, keep_empty=True)
    fields = {"display_name": form.data.get("display_name", "")}
    done = attempt(
        form, lambda: users.update_user(actor(), actor().id, settings=settings(), **fields)
    )
    return go("/profile?saved=name") if done else _show(name_form=form, status=422)


@pages.post("/profile/password")
def save_password() -> Response:
    """Change one's own password; this session stays."""
    form = load_form(ChangePasswordBody)
    done = attempt(form, lambda: users.change_password(actor(), **form.data, settings=settings()))
    return go("/profile?saved=password") if done else _show(password_form=form, status=422)
