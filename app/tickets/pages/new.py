"""New tickets: the full form, and quick add on the board."""

from typing import Any
from urllib.parse import urlencode

from flask import Response, request

from app.core.actor import Actor
from app.core.ids import is_display_id
from app.database.session import reading
from app.projects import service as projects
from app.projects import states
from app.projects.loaders import SeenProject, visible_by_key
from app.tickets import creating, loaders, page_queries, quick
from app.tickets.board_sidebar import all_users, board_sidebar
from app.tickets.fields import UPDATED
from app.tickets.filters import PRIORITIES
from app.tickets.models import TicketType
from app.tickets.pages.blueprint import may_be_assigned, pages, user_options, words
from app.tickets.pages.board import label_summaries
from app.tickets.pages.moving import shown_card
from app.tickets.schemas import TicketCreate
from app.web import choices
from app.web.forms import Form, create, load_form
from app.web.guard import actor
from app.web.render import go, html, page, render

# Longer than any title, so that what is said of a ticket fits beside one.
LINE_LENGTH = 500


def _project_of(sent: Any) -> SeenProject:
    with reading():
        return visible_by_key(actor(), sent.get("project", ""))


def _read(present: Actor, project: SeenProject, line: str) -> quick.QuickTicket:
    """What the line says; needs a unit of work."""
    users = [one for one in all_users() if may_be_assigned(one, project.id)]
    labels: list[Any] = list(board_sidebar(project.id, present.id).labels)
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
    reference = create(form, lambda present: _create_quick(present, project, form))
    if reference is None:
        return Response(next(iter(form.errors.values())), 422, mimetype="text/plain")
    with reading():
        return html(shown_card(reference), 201)


def _create_quick(present: Actor, project: SeenProject, form: Form) -> str:
    return creating.create_ticket(present, project.id, **form.data).display_id


PROJECTS = 200
# What the address may fill in.
PREFILLED = ("title", "state_id", "assignee_user_id", "priority", "type")
# What a duplicate has of the ticket it is made from, beside its parent and labels.
COPIED = ("type", *(one.name for one in UPDATED if one.is_copied))
BELOW = {TicketType.EPIC: TicketType.STORY, TicketType.STORY: TicketType.SUBTASK}


@pages.get("/tickets/new")
def new() -> Response:
    """Ask for a new ticket; without a project, ask for that first."""
    key = request.args.get("project")
    if not key:
        with reading():
            found = projects.list_projects(actor(), limit=PROJECTS, cursor=None).data
        keys = [one["key"] for one in found]
        own = choices.chosen()[choices.PROJECT]
        if len(keys) == 1 or (own in keys and "choose" not in request.args):
            return go(_address(own if own in keys else keys[0]))
        return page("tickets/choose_project.html", projects=found, address=_address)
    with reading():
        project = visible_by_key(actor(), key)
    form = Form()
    for name in PREFILLED:
        if request.args.get(name):
            form.raw.add(name, request.args[name])
    parent = request.args.get("parent", "")
    if is_display_id(parent):
        form.raw.add("parent_ticket_id", parent)
    if request.args.get("copy"):
        _copy(request.args["copy"], form)
    return _show(project, form)


def _copy(reference: str, form: Form) -> None:
    """Fill the form with what a ticket has, but for its state; raises NotFound or Gone."""
    with reading():
        ticket = page_queries.subject(actor(), reference).ticket
    for name in COPIED:
        form.raw.add(name, "" if ticket[name] is None else str(ticket[name]))
    form.raw.add("parent_ticket_id", ticket["parent"]["display_id"] if ticket["parent"] else "")
    for label in ticket["labels"]:
        form.raw.add("label_ids", label["id"])


def _address(key: str) -> str:
    """Where a ticket of this project is made, with what the address at hand fills in."""
    given = {name: request.args[name] for name in PREFILLED if request.args.get(name)}
    return "/tickets/new?" + urlencode({"project": key, **given})


def _show(project: SeenProject, form: Form) -> Response:
    with reading():
        ordered = states.ordered(project.id)
        labels = label_summaries(project.id)
        users = all_users()
        above = loaders.find(form.value("parent_ticket_id"))
    kind = BELOW.get(TicketType(above.type)) if above else None
    return page(
        "tickets/new.html",
        project=project,
        form=form,
        kind_default=str(kind or TicketType.STORY),
        states=[(one.id, one.name) for one in ordered],
        priorities=words(PRIORITIES),
        assignees=[("", "Nobody"), *user_options(users, project.id)],
        labels=labels,
        status=422 if form.errors else 200,
    )


def _project_of_form() -> SeenProject:
    with reading():
        return visible_by_key(actor(), request.form.get("project", ""))


def _load() -> Form:
    """The form, with a parent named by its number turned into its id."""
    number = request.form.get("parent_ticket_id", "").strip().upper()
    if not number:
        return load_form(TicketCreate)
    with reading():
        parent = loaders.named_in_body(actor(), number)
    form = load_form(TicketCreate, parent_ticket_id=parent.id if parent else None)
    if parent is None:
        form.refuse("parent_ticket_id", f"There is no ticket {number}.")
    return form


@pages.post("/tickets/new")
def create_ticket() -> Response:
    """Create a ticket and show it."""
    project = _project_of_form()
    form = _load()
    target = create(form, lambda present: _create(present, project, form.data))
    return go(f"/tickets/{target}") if target else _show(project, form)


def _create(present: Actor, project: SeenProject, data: dict[str, Any]) -> str:
    return creating.create_ticket(present, project.id, **data).display_id
