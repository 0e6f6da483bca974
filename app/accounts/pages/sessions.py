"""Where one is logged in, and logging out from afar."""

from flask import Response, request

from app.accounts import own_sessions
from app.accounts.pages.blueprint import pages
from app.core.errors import NotFound
from app.database.session import reading
from app.web.guard import actor, write
from app.web.render import go, page

HERE = "/profile/sessions"


@pages.get(HERE)
def session_list() -> Response:
    """Show one's sessions; the address says how many were ended just now."""
    with reading():
        found = own_sessions.list_own(actor())
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
    write(own_sessions.end_others)
    return go(f"{HERE}?ended")


@pages.post("/profile/sessions/<session_id>/end")
def end(session_id: str) -> Response:
    """End one session; where it is gone already, that is what was wanted."""
    try:
        write(lambda present: own_sessions.end_own(present, session_id))
    except NotFound:
        return go(HERE)
    return go(f"{HERE}?ended")
