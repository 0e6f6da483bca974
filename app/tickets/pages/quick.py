"""Quick add on the board: a line that becomes a ticket, shown as understood while it is typed."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.database.session import reading
from app.projects.loaders import SeenProject, visible_by_key
from app.tickets import creating, quick
from app.tickets.board_sidebar import all_users, furniture
from app.tickets.pages.blueprint import may_be_assigned, pages
from app.tickets.pages.moving import shown_card
from app.tickets.schemas import TicketCreate
from app.web.forms import Form, create, load_form
from app.web.guard import actor
from app.web.render import html, render

# Longer than any title, so that what is said of a ticket fits beside one.
LINE_LENGTH = 500


def _project_of(sent: Any) -> SeenProject:
    with reading():
        return visible_by_key(actor(), sent.get("project", ""))


def _read(present: Actor, project: SeenProject, line: str) -> quick.Draft:
    """What the line says; needs a unit of work."""
    users = [one for one in all_users() if may_be_assigned(one, project.id)]
    labels: list[Any] = list(furniture(project.id, present.id).labels)
    return quick.read(present, project.id, line[:LINE_LENGTH], users=users, labels=labels)


@pages.get("/tickets/quick")
def understood() -> Response:
    """What of a line is understood, as chips."""
    project = _project_of(request.args)
    with reading():
        draft = _read(actor(), project, request.args.get("title", ""))
    return html(render("tickets/_understood.html", draft=draft))


@pages.post("/tickets/quick")
def quick_add() -> Response:
    """Create a ticket from one line; the board puts the card that this answers."""
    project = _project_of(request.form)
    with reading():
        draft = _read(actor(), project, request.form.get("title", ""))
    form = load_form(TicketCreate, title=draft.title, **draft.fields)
    reference = create(form, lambda present: _create(present, project, form))
    if reference is None:
        return Response(next(iter(form.errors.values())), 422, mimetype="text/plain")
    with reading():
        return html(shown_card(reference), 201)


def _create(present: Actor, project: SeenProject, form: Form) -> str:
    return creating.create_ticket(present, project.id, **form.data).display_id
