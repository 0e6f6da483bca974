"""Which columns a person's lists of tickets show."""

from flask import Response, request

from app.accounts import preferences
from app.tickets.pages.blueprint import pages
from app.web import choices
from app.web.guard import is_secure, safe_next, write
from app.web.render import go


@pages.post("/tickets/columns")
def choose_columns() -> Response:
    """Keep the choice for the person, let this browser carry it, and go back to the list."""
    shown = request.form.getlist("shown")
    kept = {choices.HIDDEN: choices.hiding(one for one in choices.COLUMNS if one not in shown)}
    write(lambda present: preferences.choose(present, kept))
    back, query = request.form.get("back", ""), request.form.get("query", "")
    back = safe_next(f"{back}?{query}" if query else back)
    return choices.carry(go(back), kept, secure=is_secure())
