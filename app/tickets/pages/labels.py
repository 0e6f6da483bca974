"""Merging labels, on the page of a project's settings that lists them."""

from flask import Response, request

from app.core.actor import Actor
from app.projects.pages.blueprint import project_of
from app.projects.pages.settings_labels import ADDRESS, done
from app.tickets.merging_labels import merge_label
from app.tickets.pages.blueprint import pages
from app.web.forms import Form

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

    return done(project, form, work, said="Labels merged")
