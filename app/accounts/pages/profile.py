"""The pages of one's own profile: choices about pages, name, password, open sessions."""

from flask import Response, request

from app.accounts import personal, sessions, users
from app.accounts.builders import user_json
from app.accounts.pages.entry import pages, peer
from app.accounts.schemas import ChangePasswordBody, UserPatch
from app.config import settings_at_hand
from app.core.errors import NotFound
from app.database.session import reading
from app.web import choices
from app.web.forms import Form, attempt, load_form
from app.web.guard import actor, is_secure, write
from app.web.render import go, page

SESSIONS = "/profile/sessions"


@pages.get("/profile")
def profile() -> Response:
    return _show()


def _show(
    *, name_form: Form | None = None, password_form: Form | None = None, status: int = 200
) -> Response:
    with reading():
        user, _ = users.current_user(actor())
        session_count = len(sessions.list_own(actor()))
    ended = request.args.get("ended", "")
    return page(
        "accounts/profile.html",
        user=user_json(user),
        session_count=session_count,
        name_form=name_form,
        password_form=password_form,
        saved=request.args.get("saved", ""),
        ended=int(ended) if ended.isascii() and ended.isdigit() and len(ended) < 5 else 0,
        status=status,
    )


@pages.post("/profile/preferences")
def save_preferences() -> Response:
    """Store the choices for the person, and set them as cookies of this browser."""
    # Other pages change these two, so the form keeps them.
    kept = {name: choices.chosen()[name] for name in (choices.PROJECT, choices.HIDDEN)}
    sent = {"keys": "off"} | kept | request.form.to_dict()
    if "forget_project" in sent:
        sent[choices.PROJECT] = ""
    chosen = choices.DEFAULTS | choices.cleaned(sent)
    write(lambda person: personal.choose(person, chosen))
    return choices.carry(go("/profile"), chosen, secure=is_secure())


@pages.post("/profile/name")
def save_name() -> Response:
    form = load_form(UserPatch, keep_empty=True)
    fields = {"display_name": form.data.get("display_name", "")}
    is_done = attempt(
        form, lambda: users.update_user(actor(), actor().id, settings=settings_at_hand(), **fields)
    )
    return go("/profile?saved=name") if is_done else _show(name_form=form, status=422)


@pages.get("/profile/password")
def password() -> Response:
    """Go to the profile, which has the form; a reload after a refusal requests this address."""
    return go("/profile")


@pages.post("/profile/password")
def save_password() -> Response:
    form = load_form(ChangePasswordBody)
    ended: list[int] = []
    is_done = attempt(
        form,
        lambda: ended.append(
            users.change_password(actor(), **form.data, peer=peer(), settings=settings_at_hand())
        ),
    )
    if not is_done:
        return _show(password_form=form, status=422)
    return go(f"/profile?saved=password&ended={ended[0]}")


@pages.get(SESSIONS)
def session_list() -> Response:
    with reading():
        own = sessions.list_own(actor())
    shown = [
        {
            "id": row.id,
            "user_agent": row.user_agent,
            "created_at": row.created_at,
            "last_seen_at": row.last_seen_at,
            "is_current": row.id == actor().session_id,
        }
        for row in own
    ]
    shown.sort(key=lambda row: not row["is_current"])
    return page("accounts/sessions.html", sessions=shown, ended="ended" in request.args)


@pages.post(f"{SESSIONS}/end-others")
def end_others() -> Response:
    write(sessions.end_others)
    return go(f"{SESSIONS}?ended")


@pages.post(f"{SESSIONS}/<session_id>/end")
def end(session_id: str) -> Response:
    """End one session; a session that is gone already is no error."""
    try:
        write(lambda person: sessions.end_own(person, session_id))
    except NotFound:
        return go(SESSIONS)
    return go(f"{SESSIONS}?ended")
