"""The general settings of a project, and its deletion."""

from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import func, select

from app.accounts import user_refs
from app.accounts.models import User, UserType
from app.core.actor import Actor
from app.database.session import reading, session
from app.projects import loaders, messages, service, states
from app.projects.loaders import SeenProject
from app.projects.pages import project_of
from app.projects.schemas import ProjectPatch
from app.projects.states import REVIEW
from app.web.forms import Form, load_form, remember_originals, submit_edits
from app.web.guard import write
from app.web.render import go, page

pages = Blueprint("project_settings_pages", __name__)


@pages.get("/projects/<key>/settings")
def settings(key: str) -> Response:
    return go(f"/projects/{key}/settings/general")


@pages.get("/projects/<key>/settings/general")
def general(key: str) -> Response:
    return _show_general(project_of(key), Form())


@pages.post("/projects/<key>/settings/general")
def save_general(key: str) -> Response:
    project = project_of(key)
    form = load_form(ProjectPatch, keep_empty=True)

    def stored(person: Actor) -> dict[str, Any]:
        locked = loaders.writable(person, project.id, lock=True)
        values = _shown_values(locked)
        # Nobody else changed a suggestion.
        return values | {REVIEW: form.data.get(REVIEW)} if _suggestion(locked) else values

    def work(person: Actor, edited: dict[str, Any]) -> None:
        suggested = _suggestion(loaders.writable(person, project.id))
        if suggested and edited.get("sign_off"):
            edited[REVIEW] = form.data.get(REVIEW)
        elif suggested and edited.get(REVIEW) == suggested and REVIEW not in form.originals:
            # Nothing tells whether the person chose it.
            del edited[REVIEW]
        service.update_project(person, project.id, **edited)

    words = {"owner_user_id": user_refs.name_of, REVIEW: states.name_of}
    if submit_edits(form, stored, work, words):
        return go(f"/projects/{key}/settings/general?saved")
    return _show_general(project, form, status=422)


@pages.post("/projects/<key>/settings/delete")
def delete(key: str) -> Response:
    """Delete the project, if its key was typed to confirm."""
    project = project_of(key)
    typed = request.form.get("confirm", "").strip()
    if typed.upper() != project.key:
        refused = Form(shown=frozenset({"confirm"}))
        refused.refuse("confirm", messages.type_to_delete(project.key))
        return _show_general(project, Form(), delete_form=refused, status=422)
    write(lambda person: service.delete_project(person, project.id))
    return go("/projects")


def _suggestion(project: SeenProject) -> str | None:
    """The review state that the form suggests; it is stored once sign-off is switched on."""
    if project.sign_off or project.review_state_id is not None:
        return None
    # The last state before done is where work usually waits.
    return next((state.id for state in reversed(states.open_ones(project.id))), None)


def _shown_values(project: SeenProject) -> dict[str, Any]:
    """The values that the form shows."""
    values = {name: getattr(project, name) for name in ProjectPatch().fields}
    return values | {REVIEW: values[REVIEW] or _suggestion(project)}


def _show_general(
    project: SeenProject, form: Form, *, delete_form: Form | None = None, status: int = 200
) -> Response:
    with reading():
        people = session.execute(
            select(User.id, User.display_name, User.is_active)
            .where(User.type == UserType.HUMAN)
            .order_by(func.lower(User.display_name), User.id)
        ).all()
        open_states = states.open_ones(project.id)
        values = _shown_values(project)
    remember_originals(form, values)
    review_states = [("", messages.NONE), *((state.id, state.name) for state in open_states)]
    owners = [
        (row.id, row.display_name)
        for row in people
        if row.is_active or row.id == project.owner_user_id
    ]
    return page(
        "projects/settings_general.html",
        project=project,
        owners=owners,
        review_states=review_states,
        review_state_id=values[REVIEW] or "",
        form=form,
        delete_form=delete_form,
        saved="saved" in request.args,
        status=status,
    )
