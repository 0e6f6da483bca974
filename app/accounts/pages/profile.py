"""One's own profile: how pages look, the name, the password, open sessions."""

from flask import Response, request

from app.accounts import preferences, sessions, users
from app.accounts.builders import user_json
from app.accounts.pages.entry import pages, peer
from app.accounts.schemas import ChangePasswordBody, UserPatch
from app.config import settings_at_hand
from app.core.errors import NotFound
from app.database.session import reading
from app.web import choices
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor, write
from app.web.render import go, page

HERE = "/profile/sessions"


@pages.get(HERE)
def session_list() -> Response:
    """Show one's sessions; the address says how many were ended just now."""
    with reading():
        found = sessions.list_own(actor())
    shown = [
        {
            "id": one.id,
            "user_agent": one.user_agent,
            "created_at": one.created_at,
            "last_seen_at": one.last_seen_at,
            "is_current": one.id == actor().session_id,
        }
        for one in found
    ]
    shown.sort(key=lambda one: not one["is_current"])
    return page("accounts/sessions.html", sessions=shown, ended="ended" in request.args)


@pages.post("/profile/sessions/end-others")
def end_others() -> Response:
    """End all sessions but this one."""
    write(sessions.end_others)
    return go(f"{HERE}?ended")


@pages.post("/profile/sessions/<session_id>/end")
def end(session_id: str) -> Response:
    """End one session; where it is gone already, that is what was wanted."""
    try:
        write(lambda present: sessions.end_own(present, session_id))
    except NotFound:
        return go(HERE)
    return go(f"{HERE}?ended")


def _show(
    *, name_form: Form | None = None, password_form: Form | None = None, status: int = 200
) -> Response:
    with reading():
        user, _ = users.current_user(actor())
        many = len(sessions.list_own(actor()))
    ended = request.args.get("ended", "")
    return page(
        "accounts/profile.html",
        user=user_json(user),
        session_count=many,
        name_form=name_form,
        password_form=password_form,
        saved=request.args.get("saved", ""),
        ended=int(ended) if ended.isascii() and ended.isdigit() and len(ended) < 5 else 0,
        status=status,
    )


@pages.get("/profile")
def profile() -> Response:
    """Show one's own data and settings."""
    return _show()


@pages.post("/profile/preferences")
def save_preferences() -> Response:
    """Keep the choices for the person, and let this browser carry them."""
    # What is chosen elsewhere stays.
    own = {name: choices.chosen()[name] for name in (choices.PROJECT, choices.HIDDEN)}
    wanted = {"keys": "off"} | own | request.form.to_dict()
    if "forget_project" in wanted:
        wanted[choices.PROJECT] = ""
    kept = choices.DEFAULTS | choices.cleaned(wanted)
    write(lambda present: preferences.choose(present, kept))
    return choices.carry(go("/profile"), kept)


@pages.post("/profile/name")
def save_name() -> Response:
    """Change one's own display name."""
    form = load_form(UserPatch, keep_empty=True)
    fields = {"display_name": form.data.get("display_name", "")}
    done = attempt(
        form, lambda: users.update_user(actor(), actor().id, settings=settings_at_hand(), **fields)
    )
    return go("/profile?saved=name") if done else _show(name_form=form, status=422)


@pages.get("/profile/password")
def password() -> Response:
    """The form stands on the profile; a reload after a refusal asks for this address."""
    return go("/profile")


@pages.post("/profile/password")
def save_password() -> Response:
    """Change one's own password; this session stays."""
    form = load_form(ChangePasswordBody)
    ended: list[int] = []
    done = attempt(
        form,
        lambda: ended.append(
            users.change_password(actor(), **form.data, peer=peer(), settings=settings_at_hand())
        ),
    )
    if not done:
        return _show(password_form=form, status=422)
    return go(f"/profile?saved=password&ended={ended[0]}")
