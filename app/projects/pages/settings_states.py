"""A project's workflow: its states, their order and categories."""

from collections.abc import Callable
from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.database.session import reading
from app.projects import states, ticket_rows
from app.projects.loaders import SeenProject
from app.projects.pages.blueprint import pages, project_of
from app.projects.schemas import StateCreate, StatePatch
from app.web.forms import Form, load_form, submit
from app.web.render import go, is_htmx, page, with_undo

ADDRESS = "/projects/<key>/settings/states"


def _show(project: SeenProject, form: Form | None = None) -> Response:
    with reading():
        counts = ticket_rows.live_by_state(project.id)
        shown = [
            {
                "id": one.id,
                "name": one.name,
                "category": one.category,
                "tickets": counts.get(one.id, 0),
            }
            for one in states.ordered(project.id)
        ]
    return page(
        "projects/settings_states.html",
        block="states",
        project=project,
        states=shown,
        most_moved=states.MOST_MOVED,
        form=form or Form(),
        status=422 if form and form.errors else 200,
    )


def done(
    project: SeenProject, form: Form, work: Callable[[Actor], Any], *, said: str = ""
) -> Response:
    """Do it, and show the list as it is now; what was ``said`` comes with the way back."""
    address = f"/projects/{project.key}/settings/states"
    if submit(form, work) and not is_htmx():
        return go(address)
    shown = _show(project, form if form.errors else None)
    return with_undo(shown, said, address) if said and not form.errors else shown


@pages.get(ADDRESS)
def state_list(key: str) -> Response:
    """Show the states in their order."""
    return _show(project_of(key))


@pages.post(ADDRESS)
def add_state(key: str) -> Response:
    """Add a state at the end."""
    project = project_of(key)
    form = load_form(StateCreate)
    return done(
        project, form, lambda present: states.create_state(present, project.id, **form.data)
    )


@pages.post(f"{ADDRESS}/<state_id>")
def save_state(key: str, state_id: str) -> Response:
    """Rename or recategorize a state."""
    project = project_of(key)
    form = _row_form(load_form(StatePatch, keep_empty=True))
    return done(
        project,
        form,
        lambda present: states.update_state(present, project.id, state_id, **form.data),
    )


@pages.post(f"{ADDRESS}/<state_id>/move")
def move_state(key: str, state_id: str) -> Response:
    """Move a state one place up or down, or ``before`` another one; before none is to the end."""
    project = project_of(key)
    before = request.form.get("before")
    by = -1 if request.form.get("to") == "up" else 1

    def work(present: Actor) -> None:
        order = [one.id for one in states.ordered(project.id)]
        if state_id not in order or (before and before not in order):
            return
        at = order.index(state_id)
        if before is None:
            at = max(0, at + by)
        elif before != state_id:
            others = [one for one in order if one != state_id]
            at = others.index(before) if before else len(others)
        order.remove(state_id)
        order.insert(at, state_id)
        states.reorder_states(present, project.id, state_ids=order)

    said = "" if before is None else "State moved"
    return done(project, Form(), work, said=said)


@pages.post(f"{ADDRESS}/<state_id>/delete")
def delete_state(key: str, state_id: str) -> Response:
    """Delete a state that no ticket uses."""
    project = project_of(key)
    return done(
        project,
        Form(),
        lambda present: states.delete_state(present, project.id, state_id),
        said="State deleted",
    )


def _row_form(form: Form) -> Form:
    """The rows of the list have no place for messages, and show what is stored: say it above."""
    form.shown = frozenset()
    form.raw.clear()
    return form
