"""Deleting a state that holds tickets, on the page of a project's settings with its states."""

from flask import Response, request

from app.core.actor import Actor
from app.projects.pages.blueprint import project_of
from app.projects.pages.settings_states import ADDRESS, done
from app.tickets.emptying_states import replace_state as replace
from app.tickets.pages.blueprint import pages
from app.web.forms import Form


@pages.post(f"{ADDRESS}/<state_id>/replace")
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

    return done(project, form, work, said="Tickets moved, state deleted")
