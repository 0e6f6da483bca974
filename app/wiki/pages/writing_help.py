"""What helps while writing: the preview, and completion of links."""

import orjson
from flask import Response, request

from app.core.text import unified
from app.database.session import reading
from app.tickets.completion import tickets_like
from app.web.guard import actor
from app.web.render import html
from app.wiki import completion
from app.wiki.pages import rendering
from app.wiki.pages.blueprint import both, scope_of

LENGTH = 100
TICKET = "ticket:"


@both("/preview", "POST")
def preview(key: str | None = None) -> Response:
    """The text of the form as a page would show it."""
    with reading():
        scope = scope_of(key)
        body = unified(request.form.get("body", ""))
        shown = rendering.rendered(scope, body)
    return html(str(shown.html))


@both("/complete")
def complete(key: str | None = None) -> Response:
    """What may stand behind ``[[``: pages by slug or title, or tickets behind ``ticket:``."""
    typed = request.args.get("q", "")[:LENGTH]
    with reading():
        scope = scope_of(key)
        if typed.startswith(TICKET):
            found = [
                {"insert": TICKET + row["display_id"], "title": row["title"], "note": "ticket"}
                for row in tickets_like(actor(), scope.id, typed[len(TICKET) :])
            ]
        else:
            found = [
                {
                    "insert": row["slug"],
                    "title": row["title"],
                    "note": "" if row["project_id"] == scope.id else "global",
                }
                for row in completion.pages_like(actor(), scope.id, typed)
            ]
    return Response(
        orjson.dumps(found), mimetype="application/json", headers={"Cache-Control": "no-store"}
    )
