"""New tickets: the form, and quick add on the board."""

from typing import Any
from urllib.parse import urlencode

from flask import Response, request
from werkzeug.datastructures import MultiDict

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.core.ids import is_display_id
from app.database.session import reading
from app.http import current
from app.projects import states
from app.projects.loaders import SeenProject
from app.projects.pages import project_of
from app.tickets import creating, due_dates, loaders, page_queries, quick, templates
from app.tickets.board_sidebar import all_users, board_sidebar
from app.tickets.fields import UPDATED
from app.tickets.filters import PRIORITIES
from app.tickets.messages import NOBODY
from app.tickets.models import TicketType
from app.tickets.pages import messages
from app.tickets.pages.blueprint import assignable, pages, projects_shown, user_options, words
from app.tickets.pages.board import label_summaries
from app.tickets.pages.moving import shown_card
from app.tickets.schemas import TicketCreate
from app.web import choices
from app.web.forms import Form, create, load_form
from app.web.guard import actor
from app.web.render import go, html, page, partial

# Longer than a title, because a quick add line also contains fields.
LINE_LENGTH = 500


def _read(project: SeenProject, values: MultiDict[str, str]) -> quick.QuickTicket:
    line = values.get("title", "")[:LINE_LENGTH]
    with reading():
        users = assignable(all_users(), project.id)
        labels: list[Any] = list(board_sidebar(project.id, actor().id).labels)
        return quick.read(actor(), project.id, line, users=users, labels=labels)


def _create(project: SeenProject, form: Form) -> str | None:

    def work(person: Actor) -> str:
        return creating.create_ticket(person, project.id, **form.data).display_id

    return create(form, work)


@pages.get("/tickets/quick")
def understood() -> Response:
    draft = _read(project_of(request.args.get("project", "")), request.args)
    return partial("tickets/_understood.html", draft=draft)


@pages.post("/tickets/quick")
def quick_add() -> Response:
    """Create a ticket from one line, and answer with its card for the board."""
    project = project_of(request.form.get("project", ""))
    draft = _read(project, request.form)
    form = load_form(TicketCreate, title=draft.title, **draft.fields)
    reference = _create(project, form)
    if reference is None:
        return Response(next(iter(form.errors.values())), 422, mimetype="text/plain")
    with reading():
        return html(shown_card(reference), 201)


@pages.get("/tickets/due")
def due() -> Response:
    """The day that the words of a due date mean."""
    typed = request.args.get("value") or request.args.get("due_date", "")
    day = due_dates.day_meant(typed, current.today())
    return partial("tickets/_due.html", day=day, is_blank=not typed.strip())


# The fields that the address can fill in.
PREFILLED = ("title", "state_id", "assignee_user_id", "priority", "type")
# The fields that a duplicate copies, besides the parent and labels.
COPIED = ("type", *(field.name for field in UPDATED if field.is_copied))


@pages.get("/tickets/new")
def new() -> Response:
    """The form of a new ticket, or without a project the choice of one."""
    key = request.args.get("project")
    if not key:
        with reading():
            projects = projects_shown()
        keys = [project["key"] for project in projects]
        own = choices.chosen()[choices.PROJECT]
        if len(keys) == 1 or (own in keys and "choose" not in request.args):
            return go(_address(own if own in keys else keys[0]))
        return page("tickets/choose_project.html", projects=projects, address=_address)
    project = project_of(key)
    form = Form()
    for name in PREFILLED:
        if request.args.get(name):
            form.raw.add(name, request.args[name])
    parent = request.args.get("parent", "")
    if is_display_id(parent):
        form.raw.add("parent_ticket_id", parent)
    if request.args.get("copy"):
        _copy(request.args["copy"], form)
    return _show(project, form, _start(project, form))


def _start(project: SeenProject, form: Form) -> str:
    """Fill the form from the template in the address; returns its id, or ""."""
    reference = request.args.get("template", "")
    with reading():
        template = templates.find(project.id, reference) if reference else None
        if template is None:
            return ""
        fields = templates.filled(template, form.raw)
    for name in templates.FILLED:
        if name == "label_ids":
            form.raw.setlist(name, [*form.raw.getlist(name), *fields[name]])
        elif name in fields:
            form.raw[name] = fields[name]
    return template.id


def _copy(reference: str, form: Form) -> None:
    """Fill the form with the values of a ticket; raises NotFound or Gone."""
    with reading():
        ticket = page_queries.subject(actor(), reference).ticket
    for name in COPIED:
        form.raw.add(name, "" if ticket[name] is None else str(ticket[name]))
    form.raw.add("parent_ticket_id", ticket["parent"]["display_id"] if ticket["parent"] else "")
    for label in ticket["labels"]:
        form.raw.add("label_ids", label["id"])


def _address(key: str, template_id: str = "") -> str:
    """The address of the form for a project, with the prefilled fields of this request."""
    given = {name: request.args[name] for name in PREFILLED if request.args.get(name)}
    template = {"template": template_id} if template_id else {}
    return "/tickets/new?" + urlencode({"project": key, **given, **template})


def _show(project: SeenProject, form: Form, template_id: str = "") -> Response:
    with reading():
        offered = [(one.id, one.name) for one in templates.of_project(project.id)]
        ordered = states.ordered(project.id)
        labels = label_summaries(project.id)
        users = all_users()
        parent = loaders.find(form.value("parent_ticket_id"))
    kind = creating.CHILD_TYPE.get(TicketType(parent.type)) if parent else None
    return page(
        "tickets/new.html",
        project=project,
        form=form,
        kind_default=str(kind or TicketType.STORY),
        states=[(state.id, state.name) for state in ordered],
        priorities=words(PRIORITIES),
        assignees=[("", NOBODY), *user_options(users, project.id)],
        labels=labels,
        templates=[{"id": identifier, "name": name} for identifier, name in offered],
        template_id=template_id,
        address=_address,
        status=422 if form.errors else 200,
    )


def _load() -> Form:
    """The submitted form, with its parent by number and its due date in words."""
    fields: dict[str, Any] = {"due_date": None, "parent_ticket_id": None}
    refused: list[tuple[str, str]] = []
    number = request.form.get("parent_ticket_id", "").strip().upper()
    if number:
        with reading():
            parent = loaders.named_in_body(actor(), number)
        if parent is None:
            refused.append(("parent_ticket_id", messages.ticket_not_found(number)))
        else:
            fields["parent_ticket_id"] = parent.id
    try:
        fields["due_date"] = due_dates.iso_of(request.form.get("due_date", ""), "due_date")
    except InvalidField as error:
        refused.append(("due_date", error.message))
    form = load_form(TicketCreate, **fields)
    for name, message in refused:
        form.refuse(name, message)
    return form


@pages.post("/tickets/new")
def create_ticket() -> Response:
    project = project_of(request.form.get("project", ""))
    form = _load()
    reference = _create(project, form)
    return go(f"/tickets/{reference}") if reference else _show(project, form)
