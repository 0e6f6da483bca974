"""A project's labels: names and colours."""

from collections.abc import Callable
from typing import Any

from flask import Response

from app.core.actor import Actor
from app.database.session import reading
from app.projects import labels, ticket_rows
from app.projects.loaders import SeenProject
from app.projects.pages.blueprint import pages, project_of
from app.projects.schemas import LabelCreate, LabelPatch
from app.web.forms import Form, load_form, submit
from app.web.guard import write
from app.web.render import go, is_htmx, page, with_toast, with_undo

ADDRESS = "/projects/<key>/settings/labels"


def _show(project: SeenProject, form: Form | None = None) -> Response:
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
        status=422 if form and form.errors else 200,
    )


def address_of(project: SeenProject) -> str:
    """Where a project's labels are."""
    return f"/projects/{project.key}/settings/labels"


def done(
    project: SeenProject, form: Form, work: Callable[[Actor], Any], *, said: str = ""
) -> Response:
    """Do it, and show the list as it is now; what was ``said`` comes with the way back."""
    if submit(form, work) and not is_htmx():
        return go(address_of(project))
    shown = _show(project, form if form.errors else None)
    return with_undo(shown, said, address_of(project)) if said and not form.errors else shown


@pages.get(ADDRESS)
def label_list(key: str) -> Response:
    """Show the labels by name."""
    return _show(project_of(key))


@pages.post(ADDRESS)
def add_label(key: str) -> Response:
    """Add a label."""
    project = project_of(key)
    form = load_form(LabelCreate)
    return done(
        project, form, lambda present: labels.create_label(present, project.id, **form.data)
    )


@pages.post(f"{ADDRESS}/<label_id>")
def save_label(key: str, label_id: str) -> Response:
    """Rename or recolour a label."""
    project = project_of(key)
    form = load_form(LabelPatch, keep_empty=True)
    form.shown = frozenset()
    form.raw.clear()
    return done(
        project,
        form,
        lambda present: labels.update_label(present, project.id, label_id, **form.data),
    )


@pages.post(f"{ADDRESS}/<label_id>/delete")
def delete_label(key: str, label_id: str) -> Response:
    """Delete a label; it comes off its tickets."""
    project = project_of(key)
    undoable = write(lambda present: labels.delete_label(present, project.id, label_id))
    if not is_htmx():
        return go(address_of(project))
    if undoable:
        return with_undo(_show(project), "Label deleted", address_of(project))
    many = f"Label deleted, from more than {labels.MOST_NAMED} tickets: too many to undo that."
    return with_toast(_show(project), many)
