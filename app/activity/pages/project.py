"""The first page of a project, and all that happened in it."""

from flask import Response, request

from app.accounts import preferences
from app.activity import service
from app.activity.overview import overview
from app.activity.pages.blueprint import ROWS, address, pages
from app.activity.pages.log import rows
from app.core.actor import Actor
from app.core.errors import InvalidField
from app.database.session import reading
from app.projects.loaders import visible_by_key
from app.web import choices
from app.web.guard import actor, is_secure, write
from app.web.render import go, page
from app.web.texts import laid_out


@pages.get("/projects/<key>")
def show_project(key: str) -> Response:
    """Show how the project stands, who of the bots reaches it, and what happened last."""
    with reading():
        project = visible_by_key(actor(), key)
        found = overview(actor(), project)
        events = rows(found.events)
        description = laid_out({"description": project.description}, project.id, project.key)
    return page(
        "projects/show.html",
        project=project,
        overview=found,
        events=events,
        description=description["description"].html,
        sample=project if found.is_sample else None,
        is_default=choices.chosen()[choices.PROJECT] == project.key,
    )


@pages.get("/projects/<key>/activity")
def activity(key: str) -> Response:
    """Show what happened in the project, the newest first."""
    here = f"/projects/{key}/activity"
    cursor = request.args.get("cursor") or None
    with reading():
        project = visible_by_key(actor(), key)
        try:
            found = service.list_project_activity(actor(), project.id, limit=ROWS, cursor=cursor)
        except InvalidField:
            # A cursor that was cut off on its way: start at the top.
            return go(here)
        events = rows(found.data)
    next_url = address(here, {}, cursor=found.next_cursor) if found.next_cursor else ""
    return page(
        "projects/activity.html",
        project=project,
        events=events,
        first_url=here if cursor else "",
        next_url=next_url,
    )


@pages.post("/projects/<key>/default")
def make_default(key: str) -> Response:
    """Make it the project that new tickets and keys go to outside of any."""

    def work(present: Actor) -> None:
        project = visible_by_key(present, key)
        preferences.choose(present, {choices.PROJECT: project.key})

    write(work)
    return choices.carry(go(f"/projects/{key}"), {choices.PROJECT: key}, secure=is_secure())
