"""The list of projects, and making one."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.database.session import reading
from app.projects import samples, service, ticket_rows
from app.projects.pages.blueprint import pages
from app.projects.schemas import ProjectCreate
from app.web.forms import Form, create, load_form
from app.web.guard import actor
from app.web.render import go, is_htmx, page, partial

SHOWN = 200
# In the menu of the header, without a line to find one by.
AT_A_GLANCE = 6
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
    """The projects as entries of the menu in the header, or those that fit what is typed there.

    Sent as a form is, by Enter, it leads to the first that fits.
    """
    typed = request.args.get("q")
    with reading():
        projects = _all()
    if typed is None:
        is_long = len(projects) > AT_A_GLANCE
        return partial("projects/switch.html", projects=projects, is_long=is_long)
    found = _fitting(projects, typed)
    if is_htmx():
        return partial("projects/_switch_rows.html", projects=found)
    is_one_meant = bool(found and typed.strip())
    return go(f"/projects/{found[0]['key']}/board" if is_one_meant else "/projects")


def _fitting(projects: list[dict[str, Any]], typed: str) -> list[dict[str, Any]]:
    """The projects with this in their key or name; those that begin with it come first."""
    wanted = typed.strip().casefold()
    if not wanted:
        return projects

    def rank(one: dict[str, Any]) -> tuple[bool, bool, bool, str]:
        key, name = one["key"].casefold(), one["name"].casefold()
        return key != wanted, not key.startswith(wanted), not name.startswith(wanted), name

    fitting = [
        one for one in projects if any(wanted in one[of].casefold() for of in ("key", "name"))
    ]
    return sorted(fitting, key=rank)


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
