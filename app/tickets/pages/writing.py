"""What helps while writing: the preview of a text, and completion of names and numbers."""

import orjson
from flask import Response, request

from app.accounts import user_refs
from app.core.text import unified
from app.database.session import reading
from app.projects.loaders import visible_by_key
from app.tickets import completion
from app.tickets.pages.blueprint import pages
from app.web.guard import actor
from app.web.render import html
from app.web.texts import laid_out

# Of what was typed; nobody's name is longer.
LENGTH = 100
NAMES = 8
NOTHING = '<p class="faint">Nothing to preview.</p>'


@pages.post("/tickets/preview")
def preview() -> Response:
    """A text as a ticket of this project would show it."""
    body = unified(request.form.get("body", ""))
    with reading():
        project = visible_by_key(actor(), request.form.get("project", ""))
        shown = laid_out({"preview": body}, project.id, project.key)["preview"]
    return html(str(shown.html) or NOTHING)


@pages.get("/tickets/complete")
def complete() -> Response:
    """Whom an ``@`` may mean (``of=people``), or which ticket a number or word."""
    typed = request.args.get("q", "")[:LENGTH]
    with reading():
        project = visible_by_key(actor(), request.args.get("project", ""))
        if request.args.get("of") == "people":
            found = [
                {"insert": f"@{row['username']}", "title": row["display_name"], "note": row["type"]}
                for row in user_refs.named_like(typed, project.id, NAMES)
            ]
        else:
            found = [
                {"insert": row["display_id"], "title": row["title"], "note": ""}
                for row in completion.tickets_like(actor(), project.id, typed)
            ]
    return Response(
        orjson.dumps(found), mimetype="application/json", headers={"Cache-Control": "no-store"}
    )
