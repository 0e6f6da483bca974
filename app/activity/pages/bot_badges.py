"""What a ticket's page and a project's settings say of bots, fetched once the page stands."""

from typing import Any

from flask import Response
from sqlalchemy import select

from app.activity.pages.blueprint import pages
from app.database.session import reading, session
from app.projects import loaders as projects
from app.tickets import loaders as tickets
from app.tickets import read, stalled_bots
from app.web.guard import actor
from app.web.render import html, render
from app.wiki.models import WikiPage

# The page with the house rules.
SLUG = "agents"


@pages.get("/tickets/<reference>/bots")
def of_ticket(reference: str) -> Response:
    """Which house rules bots read for this ticket, and whether its holder is quiet."""
    with reading():
        ticket = tickets.visible(actor(), reference)
        project = projects.visible(actor(), ticket.project_id)
        content = render(
            "bots/_at_ticket.html",
            guide=_guide(project.id, project.key),
            quiet_since=stalled_bots.silent_since(actor(), ticket.id),
            ticket=read.ticket_by_id(ticket.id),
            project=project,
        )
    return html(content)


@pages.get("/projects/<key>/bots-read")
def of_project(key: str) -> Response:
    """Which house rules bots read in this project."""
    with reading():
        project = projects.visible_by_key(actor(), key)
        guide = _guide(project.id, project.key)
    return html(render("bots/_guide.html", guide=guide, project=project))


def _guide(project_id: str, key: str) -> dict[str, Any] | None:
    """The project's page with the house rules, which tools name to bots (tools/guides.py)."""
    title = session.scalar(
        select(WikiPage.title).where(
            WikiPage.slug == SLUG,
            WikiPage.deleted_at.is_(None),
            WikiPage.project_id == project_id,
        )
    )
    return {"title": title, "href": f"/projects/{key}/wiki/{SLUG}"} if title else None
