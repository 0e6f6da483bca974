"""Help for writing Markdown: previews, and completion of user names and ticket numbers."""

from typing import Any

import orjson
from flask import Response, request

from app.accounts import user_refs
from app.core.errors import InvalidField
from app.core.text import normalize_newlines
from app.database.session import reading
from app.projects.loaders import visible_by_key
from app.tickets import loaders
from app.tickets.models import TicketType
from app.tickets.pages.blueprint import pages
from app.web.guard import actor
from app.web.render import html
from app.web.texts import laid_out

# The length of typed text that is used; no name is longer.
LENGTH = 100
NAMES = 8
NOTHING = '<p class="faint">Nothing to preview.</p>'


@pages.post("/tickets/preview")
def preview() -> Response:
    body = normalize_newlines(request.form.get("body", ""))
    with reading():
        project = visible_by_key(actor(), request.form.get("project", ""))
        rendered = laid_out({"preview": body}, project.id, project.key)["preview"]
    return html(str(rendered.html) or NOTHING)


@pages.get("/tickets/complete")
def complete() -> Response:
    """Completions as JSON: a user name (``of=people``), or a ticket's number or title.

    ``of=parents`` leaves out tickets that cannot have others below them.
    """
    typed = request.args.get("q", "")[:LENGTH]
    with reading():
        project = visible_by_key(actor(), request.args.get("project", ""))
        if request.args.get("of") == "people":
            completions = [
                {"insert": f"@{row['username']}", "title": row["display_name"], "note": row["type"]}
                for row in user_refs.named_like(typed, project.id, NAMES)
            ]
        elif request.args.get("of") == "parents":
            completions = [
                {"insert": row["display_id"], "title": row["title"], "note": row["type"]}
                for row in _parents(project.id, typed.strip())
            ]
        else:
            completions = [
                {"insert": row["display_id"], "title": row["title"], "note": ""}
                for row in loaders.tickets_like(actor(), project.id, typed)
            ]
    return Response(
        orjson.dumps(completions),
        mimetype="application/json",
        headers={"Cache-Control": "no-store"},
    )


def _parents(project_id: str, typed: str) -> list[dict[str, Any]]:
    """The epics and then the stories that match; needs a unit of work."""
    if not typed:
        return []
    try:
        return [
            row
            for kind in (TicketType.EPIC, TicketType.STORY)
            for row in loaders.parents_like(actor(), project_id, kind, typed)[: NAMES // 2]
        ]
    except InvalidField:
        # No title contains such characters.
        return []
