"""A project's settings: general, labels, states, and deleting it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.accounts.models import User, UserType
from app.core.actor import Actor
from app.database.session import reading, session
from app.projects import labels, service, states, ticket_rows
from app.projects.loaders import SeenProject
from app.projects.pages.blueprint import pages, project_of
from app.projects.schemas import LabelCreate, LabelPatch, ProjectPatch, StateCreate, StatePatch
from app.web.forms import Form, load_form, submit
from app.web.guard import write
from app.web.render import go, is_htmx, page, with_toast, with_undo

STATES_ADDRESS = "/projects/<key>/settings/states"


@dataclass(frozen=True, slots=True)
class EditedRow:
    """The row of a list that is edited, or to which the focus returns."""

    editing: str = ""
    back: str = ""
    form: Form = field(default_factory=Form)

    @classmethod
    def of_request(cls) -> "EditedRow":
        return cls(request.args.get("edit", ""), request.args.get("back", ""))

    @property
    def shown(self) -> dict[str, Any]:
        return {"editing": self.editing, "back": self.back, "row_form": self.form}


def _show_states(
    project: SeenProject, form: Form | None = None, row: EditedRow | None = None
) -> Response:
    row = row or EditedRow()
    with reading():
        counts = ticket_rows.live_by_state(project.id)
        shown = [
            {
                "id": one.id,
                "name": one.name,
                "category": one.category,
                "wip_limit": one.wip_limit,
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
        status=422 if (form and form.errors) or row.form.errors else 200,
        **row.shown,
    )


def states_done(
    project: SeenProject, form: Form, work: Callable[[Actor], Any], *, said: str = ""
) -> Response:
    """Do it, and show the list as it is now; what was ``said`` comes with the way back."""
    address = f"/projects/{project.key}/settings/states"
    if submit(form, work) and not is_htmx():
        return go(address)
    shown = _show_states(project, form if form.errors else None)
    return with_undo(shown, said, address) if said and not form.errors else shown


@pages.get(STATES_ADDRESS)
def state_list(key: str) -> Response:
    """Show the states in their order; ``edit`` is the id of one to edit."""
    return _show_states(project_of(key), row=EditedRow.of_request())


@pages.post(STATES_ADDRESS)
def add_state(key: str) -> Response:
    """Add a state at the end."""
    project = project_of(key)
    form = load_form(StateCreate)
    return states_done(
        project, form, lambda present: states.create_state(present, project.id, **form.data)
    )


@pages.post(f"{STATES_ADDRESS}/<state_id>")
def save_state(key: str, state_id: str) -> Response:
    """Rename or recategorize a state, or change its limit."""
    project = project_of(key)
    form = _row_form(load_form(StatePatch, keep_empty=True))
    if not submit(
        form, lambda present: states.update_state(present, project.id, state_id, **form.data)
    ):
        return _show_states(project, row=EditedRow(state_id, form=form))
    if not is_htmx():
        return go(f"/projects/{project.key}/settings/states")
    return _show_states(project, row=EditedRow(back=state_id))


@pages.post(f"{STATES_ADDRESS}/<state_id>/move")
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
    return states_done(project, Form(), work, said=said)


@pages.post(f"{STATES_ADDRESS}/<state_id>/delete")
def delete_state(key: str, state_id: str) -> Response:
    """Delete a state that no ticket uses."""
    project = project_of(key)
    return states_done(
        project,
        Form(),
        lambda present: states.delete_state(present, project.id, state_id),
        said="State deleted",
    )


def _row_form(form: Form) -> Form:
    """The rows of the list have no place for messages: say them above."""
    messages = list(form.errors.values())
    form.shown = frozenset()
    form.errors = {"": messages[0]} if messages else {}
    return form


ADDRESS = "/projects/<key>/settings/labels"


def _show_labels(
    project: SeenProject, form: Form | None = None, row: EditedRow | None = None
) -> Response:
    row = row or EditedRow()
    with reading():
        counts = ticket_rows.live_by_label(project.id)
        shown = [
            {
                "id": one.id,
                "name": one.name,
                "color": one.color,
                "tickets": counts.get(one.id, 0),
            }
            for one in labels.by_name(project.id)
        ]
    return page(
        "projects/settings_labels.html",
        block="labels",
        project=project,
        labels=shown,
        choices=[("", "Choose…"), *((one["id"], one["name"]) for one in shown)],
        form=form or Form(),
        status=422 if (form and form.errors) or row.form.errors else 200,
        **row.shown,
    )


def address_of(project: SeenProject) -> str:
    """Where a project's labels are."""
    return f"/projects/{project.key}/settings/labels"


def labels_done(
    project: SeenProject, form: Form, work: Callable[[Actor], Any], *, said: str = ""
) -> Response:
    """Do it, and show the list as it is now; what was ``said`` comes with the way back."""
    if submit(form, work) and not is_htmx():
        return go(address_of(project))
    shown = _show_labels(project, form if form.errors else None)
    return with_undo(shown, said, address_of(project)) if said and not form.errors else shown


@pages.get(ADDRESS)
def label_list(key: str) -> Response:
    """Show the labels by name; ``edit`` is the id of one to edit."""
    return _show_labels(project_of(key), row=EditedRow.of_request())


@pages.post(ADDRESS)
def add_label(key: str) -> Response:
    """Add a label."""
    project = project_of(key)
    form = load_form(LabelCreate)
    return labels_done(
        project, form, lambda present: labels.create_label(present, project.id, **form.data)
    )


@pages.post(f"{ADDRESS}/<label_id>")
def save_label(key: str, label_id: str) -> Response:
    """Rename or recolour a label."""
    project = project_of(key)
    form = _row_form(load_form(LabelPatch, keep_empty=True))
    if not submit(
        form, lambda present: labels.update_label(present, project.id, label_id, **form.data)
    ):
        return _show_labels(project, row=EditedRow(label_id, form=form))
    if not is_htmx():
        return go(address_of(project))
    return _show_labels(project, row=EditedRow(back=label_id))


@pages.post(f"{ADDRESS}/<label_id>/delete")
def delete_label(key: str, label_id: str) -> Response:
    """Delete a label; it comes off its tickets."""
    project = project_of(key)
    undoable = write(lambda present: labels.delete_label(present, project.id, label_id))
    if not is_htmx():
        return go(address_of(project))
    if undoable:
        return with_undo(_show_labels(project), "Label deleted", address_of(project))
    many = f"Label deleted, from more than {labels.MOST_NAMED} tickets: too many to undo that."
    return with_toast(_show_labels(project), many)


def _show(
    project: SeenProject, form: Form, *, delete_form: Form | None = None, status: int = 200
) -> Response:
    with reading():
        people = session.execute(
            select(User.id, User.display_name, User.is_active)
            .where(User.type == UserType.HUMAN)
            .order_by(User.display_name)
        ).all()
    owners = [
        (row.id, row.display_name)
        for row in people
        if row.is_active or row.id == project.owner_user_id
    ]
    return page(
        "projects/settings_general.html",
        project=project,
        owners=owners,
        form=form,
        delete_form=delete_form,
        saved="saved" in request.args,
        status=status,
    )


@pages.get("/projects/<key>/settings")
def settings(key: str) -> Response:
    """Settings open on their first page."""
    return go(f"/projects/{key}/settings/general")


@pages.get("/projects/<key>/settings/general")
def general(key: str) -> Response:
    """Show name, owner and description."""
    return _show(project_of(key), Form())


@pages.post("/projects/<key>/settings/general")
def save_general(key: str) -> Response:
    """Change name, owner and description."""
    project = project_of(key)
    form = load_form(ProjectPatch, keep_empty=True)
    if submit(form, lambda present: service.update_project(present, project.id, **form.data)):
        return go(f"/projects/{key}/settings/general?saved")
    return _show(project, form, status=422)


@pages.post("/projects/<key>/settings/delete")
def delete(key: str) -> Response:
    """Delete the project, if its key was typed to confirm."""
    project = project_of(key)
    typed = request.form.get("confirm", "").strip()
    if typed.upper() != project.key:
        refused = Form(shown=frozenset({"confirm"}))
        refused.refuse("confirm", f"Type {project.key} to delete this project.")
        return _show(project, Form(), delete_form=refused, status=422)
    write(lambda present: service.delete_project(present, project.id))
    return go("/projects")
