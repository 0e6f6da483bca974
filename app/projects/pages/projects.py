"""The list of projects, and making one."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.db import reading
from app.projects import samples, service, ticket_rows
from app.projects.pages.blueprint import pages
from app.projects.schemas import ProjectCreate
from app.web.forms import Form, create, load_form
from app.web.guard import actor
from app.web.render import go, page, partial

SHOWN = 200
NO_TICKETS = {"backlog": 0, "active": 0, "done": 0}


def _all() -> list[dict[str, Any]]:
    return service.list_projects(actor(), limit=SHOWN, cursor=None).data


@pages.get("/projects")
def index() -> Response:
    """Show all projects, with how many tickets wait, move and are done."""
    with reading():
        projects = _all()
        counts = ticket_rows.live_by_category()
        sample = samples.live_sample(actor())
    shown = [{**one, "counts": NO_TICKETS | counts.get(one["id"], {})} for one in projects]
    removed = "removed" in request.args
    return page("projects/index.html", projects=shown, sample=sample, removed=removed)


@pages.get("/projects/switch")
def switch() -> Response:
    """The projects as entries of the menu in the header."""
    with reading():
        projects = _all()
    return partial("projects/switch.html", projects=projects)


@pages.get("/projects/new")
def new() -> Response:
    """Ask for a new project's name and key."""
    return page("projects/new.html", form=Form())


@pages.post("/projects/new")
def create_project() -> Response:
    """Create a project and open its board."""
    form = load_form(ProjectCreate)

    def work(present: Actor) -> str:
        return f"/projects/{service.create_project(present, **form.data).key}/board"

    target = create(form, work)
    return go(target) if target else page("projects/new.html", form=form, status=422)
