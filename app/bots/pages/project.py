"""Which bots see a project: a page of its settings."""

from typing import Any

from flask import Response, request

from app.bots import service
from app.bots.pages.bots import SHOWN, pages
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict
from app.database.session import reading
from app.projects import loaders
from app.projects.loaders import SeenProject, visible_by_key
from app.web.forms import Form, submit
from app.web.guard import actor
from app.web.render import go, is_htmx, page


@operation(Access.HUMAN)
def let_in(actor: Actor, bot_id: str, project_id: str) -> None:
    """Add a project to a bot's allowlist; one that reaches every project stays as it is.

    Raises NotFound, Gone, and InvalidField where the list is full.
    """
    project = loaders.visible(actor, project_id)
    listed = _listed(actor, bot_id)
    if listed:
        service.update_bot(actor, bot_id, project_ids=[*listed, project.id])


@operation(Access.HUMAN)
def shut_out(actor: Actor, bot_id: str, project_id: str) -> None:
    """Take a project off a bot's allowlist; again is no error.

    An empty list admits every project, so the last one stays: raises Conflict
    ``invariant_violation``, also for a bot that has no list. Raises NotFound and Gone.
    """
    project = loaders.visible(actor, project_id)
    listed = _listed(actor, bot_id)
    left = [one for one in listed if one != project.id]
    if not left:
        raise Conflict(
            "invariant_violation",
            "Without this project its list would be empty, which means every project. "
            "Let it into another one first, or deactivate it.",
        )
    service.update_bot(actor, bot_id, project_ids=left)


def _listed(actor: Actor, bot_id: str) -> list[str]:
    """The allowlist, which nobody else changes until this is done: a change of nothing holds it."""
    return list(service.update_bot(actor, bot_id).user.project_ids or [])


ADDRESS = "/projects/<key>/settings/bots"


def _project(key: str) -> SeenProject:
    with reading():
        return visible_by_key(actor(), key)


def _show(project: SeenProject, form: Form) -> Response:
    with reading():
        every = service.list_bots(actor(), limit=SHOWN, cursor=None).data
    every.sort(key=lambda one: (not one["is_active"], one["display_name"].casefold()))
    inside = [one for one in every if _reaches(one, project.id)]
    outside = [one for one in every if one["is_active"] and one not in inside]
    return page(
        "projects/settings_bots.html",
        block="bots",
        project=project,
        bots=inside,
        others=[(one["id"], f"{one['display_name']} ({one['username']})") for one in outside],
        form=form,
        status=422 if form.errors else 200,
    )


def _reaches(bot: dict[str, Any], project_id: str) -> bool:
    return not bot["project_ids"] or project_id in bot["project_ids"]


@pages.get(ADDRESS)
def of_project(key: str) -> Response:
    """Show the bots that reach the project, and who else could be let in."""
    return _show(_project(key), Form())


@pages.post(ADDRESS)
def change_in_project(key: str) -> Response:
    """Let a bot into the project, or take the project off its list."""
    project = _project(key)
    bot_id = request.form.get("bot_id", "")
    verb = shut_out if "remove" in request.form else let_in
    form = Form(shown=frozenset({"bot_id"}))
    if not bot_id:
        form.refuse("bot_id", "Choose a bot.")

    def work(present: Actor) -> None:
        verb(present, bot_id, project.id)

    if submit(form, work) and not is_htmx():
        return go(f"/projects/{project.key}/settings/bots")
    return _show(project, form)
