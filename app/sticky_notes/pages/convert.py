"""The dialog that makes a ticket of a note."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.database.session import reading
from app.projects import service as projects
from app.projects.loaders import SeenProject
from app.sticky_notes.conversion import convert_note, default_title
from app.sticky_notes.pages import blueprint
from app.sticky_notes.pages.blueprint import pages, shown, wall_of
from app.sticky_notes.schemas import StickyNoteConversion
from app.tickets import loaders as tickets
from app.tickets.board_sidebar import all_users
from app.tickets.filters import KINDS, PRIORITIES
from app.tickets.pages.blueprint import user_options, words
from app.web.forms import Form, create, load_form
from app.web.guard import actor
from app.web.render import go, html, is_htmx, page, render, undo_toast

PROJECTS = 200


def _sheet(note_id: str, form: Form) -> Response:
    with reading():
        note, project = blueprint.find(actor(), note_id)
        if note["ticket"]:
            return go(f"/tickets/{note['ticket']}")
        found = _projects(project)
        users = all_users()
    return page(
        "sticky_notes/convert.html",
        block="sheet",
        project=project,
        note=note,
        form=form,
        title=default_title(note["body"]),
        projects=[(one["id"], f"{one['name']} ({one['key']})") for one in found],
        kinds=words(KINDS),
        priorities=words(PRIORITIES),
        assignees=[("", "Nobody"), *_assignees(users, found)],
        address=wall_of(project),
        status=422 if form.errors else 200,
    )


def _projects(project: SeenProject | None) -> list[dict[str, Any]]:
    """Where the ticket may go: a project's note stays in its project."""
    if project:
        return [{"id": project.id, "name": project.name, "key": project.key}]
    return projects.list_projects(actor(), limit=PROJECTS, cursor=None).data


def _assignees(users: Any, found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Everyone who can have a ticket in one of these projects; the verb judges the choice."""
    options: dict[str, str] = {}
    for one in found:
        options |= dict(user_options(users, one["id"]))
    return list(options.items())


@pages.get("/sticky-notes/<note_id>/convert")
def ask(note_id: str) -> Response:
    """Propose a title, and ask where the ticket goes."""
    return _sheet(note_id, Form())


def _load() -> Form:
    """The form, with a parent named by its number turned into its id."""
    number = request.form.get("parent_ticket_id", "").strip().upper()
    if not number:
        return load_form(StickyNoteConversion)
    with reading():
        parent = tickets.named_in_body(actor(), number)
    form = load_form(StickyNoteConversion, parent_ticket_id=parent.id if parent else None)
    if parent is None:
        form.refuse("parent_ticket_id", f"There is no ticket {number}.")
    return form


@pages.post("/sticky-notes/<note_id>/convert")
def convert(note_id: str) -> Response:
    """Make the ticket; the note stays and leads to it."""
    form = _load()

    def work(present: Actor) -> str:
        return f"/tickets/{convert_note(present, note_id, **form.data).display_id}"

    target = create(form, work)
    if target is None:
        return _sheet(note_id, form)
    if not is_htmx():
        return go(target)
    with reading():
        note, project = blueprint.find(actor(), note_id)
    said = undo_toast(f"{note['ticket']} created", wall_of(project), href=target, action="Open")
    answer = html(render("sticky_notes/_note.html", note=shown(note)) + said)
    answer.headers["HX-Retarget"] = f"#note-{note['id']}"
    answer.headers["HX-Reswap"] = "outerHTML"
    return answer
