"""The pages of integrations: the list, the form for a new one, and one with its deliveries."""

from typing import Any

from flask import Blueprint, Response, g, request
from sqlalchemy import select

from app.bots.service import locked
from app.core.actor import Actor
from app.core.ids import as_uuid
from app.database.session import reading, session
from app.http.current import current_settings
from app.integrations import messages, service
from app.integrations.models import Forge
from app.integrations.schemas import IntegrationCreate, IntegrationPatch
from app.integrations.service import FORGE_NAMES, OpenedIntegration
from app.projects.loaders import projects_in_words
from app.projects.models import Project, WorkflowState
from app.projects.pages import offered_projects
from app.web.forms import Form, Words, load_form, remember_originals, submit, submit_edits
from app.web.guard import actor, write
from app.web.render import go, page

pages = Blueprint("integrations_pages", __name__)

INTEGRATION = "/integrations/<integration_id>"
DELIVERIES_SHOWN = 50
# The prefix of the form's field for each project.
MOVE = "on_merge:"


@pages.get("/integrations")
def index() -> Response:
    with reading():
        found = service.list_integrations(
            actor(),
            base_url=current_settings().base_url,
            limit=service.MAX_INTEGRATIONS,
            cursor=None,
        ).data
    listed = [{**one, "forge_name": FORGE_NAMES[Forge(one["forge"])]} for one in found]
    return page("integrations/index.html", integrations=listed)


def _choices() -> dict[str, Any]:
    """The projects that a form offers, with their states; needs a unit of work."""
    projects = offered_projects()
    rows = session.execute(
        select(WorkflowState.project_id, WorkflowState.id, WorkflowState.name)
        .where(WorkflowState.project_id.in_([one["id"] for one in projects]))
        .order_by(WorkflowState.position)
    ).all()
    states: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        states.setdefault(row.project_id, []).append((row.id, row.name))
    return {"projects": projects, "states": states, "forges": FORGE_NAMES.items()}


@pages.get("/integrations/new")
def new() -> Response:
    service.create_integration.admit(actor())
    return _new_page(Form())


def _new_page(form: Form, status: int = 200) -> Response:
    with reading():
        choices = _choices()
    return page("integrations/new.html", form=form, integration=None, status=status, **choices)


def _moves(project_ids: list[str]) -> list[dict[str, str]]:
    """The selected states of these projects; of all projects if empty."""
    offered = (name.removeprefix(MOVE) for name in request.form if name.startswith(MOVE))
    chosen = ((one, request.form.get(f"{MOVE}{one}", "")) for one in project_ids or offered)
    return [
        {"project_id": project_id, "state_id": state_id}
        for project_id, state_id in chosen
        if as_uuid(state_id)
    ]


@pages.post("/integrations")
def create() -> Response:
    """Connect a code host and show the secret, in this answer only."""
    form = load_form(IntegrationCreate)
    if not request.form.getlist("project_ids"):
        form.errors.pop("project_ids", None)
        form.refuse("project_ids", messages.SELECT_A_PROJECT)
    made: list[OpenedIntegration] = []

    def work(person: Actor) -> None:
        fields = {name: form.data[name] for name in ("name", "forge", "project_ids")}
        if form.data.get("secret"):
            fields["secret"] = form.data["secret"]
        moves = _moves(fields["project_ids"])
        settings = current_settings()
        made[:] = [service.create_integration(person, **fields, on_merge=moves, settings=settings)]

    if not submit(form, work):
        return _new_page(form, 422)
    return _show(made[0].integration.id, secret=made[0].secret)


@pages.get(INTEGRATION)
def show(integration_id: str) -> Response:
    return _show(integration_id)


def _show(
    integration_id: str, *, secret: str = "", form: Form | None = None, status: int = 200
) -> Response:
    form = form or Form()
    if secret:
        g.shows_secret = True
    with reading():
        integration = service.get_integration(actor(), integration_id)
        shown = service.described(integration, current_settings().base_url)
        deliveries = service.newest_deliveries(actor(), integration.id, DELIVERIES_SHOWN)
        choices = _choices()
    remember_originals(form, _editable_values(shown))
    return page(
        "integrations/show.html",
        integration=shown,
        forge_name=FORGE_NAMES[Forge(integration.forge)],
        moves=integration.on_merge,
        deliveries=deliveries,
        secret=secret,
        form=form,
        status=status,
        **choices,
    )


@pages.post(INTEGRATION)
def change(integration_id: str) -> Response:
    """Change the name, the projects and the moves; or give it a new secret."""
    if request.form.get("action") == "rotate":
        opened = write(lambda person: service.rotate_secret(person, integration_id))
        return _show(integration_id, secret=opened.secret)
    form = load_form(IntegrationPatch)
    # Browsers do not send unticked boxes.
    projects = form.data.setdefault("project_ids", [])
    form.data["on_merge"] = _moves(projects)

    def stored(_: Actor) -> dict[str, Any]:
        integration = service.find(integration_id, lock=True)
        # The projects are those of the bot.
        locked(integration.bot_user_id)
        return _editable_values(service.described(integration, current_settings().base_url))

    def work(person: Actor, edited: dict[str, Any]) -> None:
        service.update_integration(person, integration_id, **edited)

    words: Words = {"project_ids": projects_in_words, "on_merge": _moves_in_words}
    if submit_edits(form, stored, work, words):
        return go(f"/integrations/{integration_id}")
    return _show(integration_id, form=form, status=422)


def _moves_in_words(moves: list[dict[str, str]]) -> str:
    """The state of each project, such as "OPS: Done"; needs a unit of work."""
    rows = session.execute(
        select(Project.key, WorkflowState.name)
        .join(WorkflowState, WorkflowState.project_id == Project.id)
        .where(WorkflowState.id.in_([move["state_id"] for move in moves]))
        .order_by(Project.key)
    )
    return ", ".join(f"{row.key}: {row.name}" for row in rows)


def _editable_values(integration: dict[str, Any]) -> dict[str, Any]:
    return {name: integration[name] for name in ("name", "project_ids", "on_merge")}


@pages.get(f"{INTEGRATION}/delete")
def ask_to_delete(integration_id: str) -> Response:
    with reading():
        integration = service.get_integration(actor(), integration_id)
    return page("integrations/delete.html", block="sheet", integration=integration)


@pages.post(f"{INTEGRATION}/delete")
def delete(integration_id: str) -> Response:
    write(lambda person: service.delete_integration(person, integration_id))
    return go("/integrations")
