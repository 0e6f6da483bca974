"""Merging labels and deleting states that hold tickets, in a project's settings."""

from flask import Response, request

from app.core.actor import Actor
from app.projects.pages.blueprint import project_of
from app.projects.pages.settings import ADDRESS, STATES_ADDRESS, labels_done, states_done
from app.tickets.bulk import merge_label
from app.tickets.bulk import replace_state as replace
from app.tickets.pages.blueprint import pages
from app.web.forms import Form


@pages.post(f"{STATES_ADDRESS}/<state_id>/replace")
def replace_state(key: str, state_id: str) -> Response:
    """Move the tickets of a state to another one, delete it, and show those that are left."""
    project = project_of(key)
    # The rows of the list have no place for messages: what is wrong is said above it.
    form = Form()
    into = request.form.get("into_state_id", "")
    if not into:
        form.refuse("into_state_id", "Choose a state for the tickets.")

    def work(present: Actor) -> None:
        replace(present, project.id, state_id, into_state_id=into)

    return states_done(project, form, work, said="Tickets moved, state deleted")


FIELDS = ("label_id", "into_label_id")


@pages.post(f"{ADDRESS}/merge")
def merge_labels(key: str) -> Response:
    """Merge one label into another, and show those that are left."""
    project = project_of(key)
    form = Form(raw=request.form.copy(), shown=frozenset(FIELDS))
    for name in FIELDS:
        if not form.value(name):
            form.refuse(name, "Choose a label.")

    def work(present: Actor) -> None:
        merge_label(
            present,
            project.id,
            form.value("label_id"),
            into_label_id=form.value("into_label_id"),
        )

    return labels_done(project, form, work, said="Labels merged")
