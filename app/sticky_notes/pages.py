"""The walls of sticky notes, the pages of one note, and the dialog that converts a note."""

from typing import Any

from flask import Blueprint, Response, request

from app.accounts import user_refs
from app.core.actor import Access, Actor, operation
from app.core.errors import Gone, InvalidField, NotFound
from app.database.session import by_id, reading
from app.markdown import Profile, nowhere
from app.markdown import render as render_markdown
from app.projects import loaders as projects_loaders
from app.projects.builders import project_json
from app.projects.loaders import SeenProject, visible_by_key
from app.projects.pages import offered_projects
from app.sticky_notes import messages, service
from app.sticky_notes.conversion import convert_note, default_title
from app.sticky_notes.models import StickyNote
from app.sticky_notes.schemas import StickyNoteConversion, StickyNoteCreate, StickyNotePatch
from app.sticky_notes.service import note_json
from app.tickets import loaders as tickets
from app.tickets.board_sidebar import all_users
from app.tickets.filters import KINDS, PRIORITIES
from app.tickets.pages.blueprint import user_options, words
from app.tickets.stream_queries import names_of
from app.web.forms import Form, create, load_form, remember_originals, submit_edits
from app.web.guard import actor, write
from app.web.render import (
    go,
    html,
    is_htmx,
    oob,
    page,
    partial,
    render,
    render_block,
    toast,
    undo_toast,
)

pages = Blueprint("sticky_notes_pages", __name__)

PAGE_SIZE = 100
# The colors that people choose from; a bot may set any other.
COLORS = (
    ("#facc15", messages.YELLOW),
    ("#fb923c", messages.ORANGE),
    ("#f472b6", messages.PINK),
    ("#a78bfa", messages.VIOLET),
    ("#60a5fa", messages.BLUE),
    ("#2dd4bf", messages.TEAL),
    ("#4ade80", messages.GREEN),
    ("#94a3b8", messages.GREY),
)
# Longer notes scroll.
LONG_LINES = 14
LONG_TEXT = 500


@pages.get("/sticky-notes")
@pages.get("/projects/<key>/sticky-notes")
def wall(key: str | None = None) -> Response:
    return _wall(key, Form())


def _wall(key: str | None, form: Form) -> Response:
    cursor = request.args.get("cursor") or None
    try:
        with reading():
            project = visible_by_key(actor(), key) if key else None
            if project:
                listed = service.list_of_project(
                    actor(), project.id, limit=PAGE_SIZE, cursor=cursor
                )
            else:
                listed = service.list_personal(actor(), limit=PAGE_SIZE, cursor=cursor)
            notes = [_with_text(note) for note in _with_names(listed.data)]
    except InvalidField:
        # The cursor is broken: start at the first page.
        return go(request.path)
    return page(
        "sticky_notes/wall.html",
        project=project,
        notes=notes,
        colored=_colored(notes),
        authors=sorted({note["author"]["display_name"] for note in notes}, key=str.casefold),
        address=_wall_of(project),
        next_cursor=listed.next_cursor,
        form=form,
        choices=_color_options(None),
        status=422 if form.errors else 200,
    )


@pages.post("/sticky-notes")
@pages.post("/projects/<key>/sticky-notes")
def add_note(key: str | None = None) -> Response:
    """Add a note; the response has the note for the wall, and an empty form."""
    with reading():
        project = visible_by_key(actor(), key) if key else None
    form = load_form(StickyNoteCreate)

    def work(person: Actor) -> str:
        if project:
            return service.create_in_project(person, project.id, **form.data).id
        return service.create_personal(person, **form.data).id

    note_id = create(form, work)
    address = _wall_of(project)
    if not is_htmx():
        return go(f"{address}#note-{note_id}") if note_id else _wall(key, form)
    content = render_block(
        "sticky_notes/wall.html",
        "composer",
        project=project,
        address=address,
        form=form if form.errors else Form(),
        choices=_color_options(None),
        chosen=form.value("color"),
    )
    if note_id:
        note, _ = _read(note_id)
        content += oob(
            render("sticky_notes/_note.html", note=_with_text(note)), "#notes", "afterbegin"
        )
    return html(content, 200 if note_id else 422)


@pages.get("/sticky-notes/<note_id>")
def show(note_id: str) -> Response:
    """The note as a fragment for htmx; otherwise go to its place on its wall."""
    note, project = _read(note_id)
    if is_htmx():
        return partial("sticky_notes/_note.html", note=_with_text(note))
    return go(f"{_wall_of(project)}#note-{note['id']}")


@pages.get("/sticky-notes/<note_id>/edit")
def edit(note_id: str) -> Response:
    return _editor(note_id, Form())


@pages.post("/sticky-notes/<note_id>/edit")
def save(note_id: str) -> Response:
    form = load_form(StickyNotePatch, keep_empty=True)

    def stored(person: Actor) -> dict[str, Any]:
        return _editable_values(note_json(service.writable(person, note_id)))

    def work(person: Actor, edited: dict[str, Any]) -> None:
        service.update_note(person, note_id, **edited)

    try:
        is_saved = submit_edits(form, stored, work, {"color": _color_name})
    except NotFound as error:
        # An editor on the wall was opened while the note was there.
        is_gone = is_htmx() and (error.details or {})["resource"] == "sticky_note"
        raise (Gone("note", note_id) if is_gone else error) from None
    return show(note_id) if is_saved else _editor(note_id, form)


def _editable_values(note: dict[str, Any]) -> dict[str, Any]:
    return {name: note[name] for name in ("body", "color")}


def _editor(note_id: str, form: Form) -> Response:
    note, project = _read(note_id)
    remember_originals(form, _editable_values(note))
    return page(
        "sticky_notes/edit.html",
        block="editor",
        project=project,
        note=note,
        form=form,
        choices=_color_options(note["color"]),
        colored=_colored([note]),
        address=_wall_of(project),
        status=422 if form.errors else 200,
    )


@pages.get("/sticky-notes/<note_id>/delete")
def confirm_delete(note_id: str) -> Response:
    note, project = _read(note_id)
    return page(
        "sticky_notes/delete.html",
        block="sheet",
        project=project,
        note=note,
        address=_wall_of(project),
    )


@pages.post("/sticky-notes/<note_id>/delete")
def delete(note_id: str) -> Response:
    note, project = _read(note_id)
    write(lambda person: service.delete_note(person, note["id"]))
    if not is_htmx():
        return go(_wall_of(project))
    removal = f'<li id="note-{note["id"]}" hx-swap-oob="delete"></li>'
    text = messages.NOTE_DELETED
    # Events hold no text of personal notes, so their deletion cannot be undone.
    return html(removal + (undo_toast(text, _wall_of(project)) if project else toast(text)))


@pages.get("/sticky-notes/<note_id>/convert")
def ask(note_id: str) -> Response:
    return _conversion(note_id, Form())


@pages.post("/sticky-notes/<note_id>/convert")
def convert(note_id: str) -> Response:
    """Create the ticket; the response has the note, which links to it."""
    form = _load_conversion()

    def work(person: Actor) -> str:
        return f"/tickets/{convert_note(person, note_id, **form.data).display_id}"

    target = create(form, work)
    if target is None:
        return _conversion(note_id, form)
    if not is_htmx():
        return go(target)
    note, project = _read(note_id)
    message = undo_toast(
        messages.ticket_created(note["ticket"]),
        _wall_of(project),
        href=target,
        action=messages.OPEN,
    )
    response = html(render("sticky_notes/_note.html", note=_with_text(note)) + message)
    response.headers["HX-Retarget"] = f"#note-{note['id']}"
    response.headers["HX-Reswap"] = "outerHTML"
    return response


def _load_conversion() -> Form:
    """The form, with the parent's display id replaced by its id."""
    display_id = request.form.get("parent_ticket_id", "").strip().upper()
    if not display_id:
        return load_form(StickyNoteConversion)
    with reading():
        parent = tickets.named_in_body(actor(), display_id)
    form = load_form(StickyNoteConversion, parent_ticket_id=parent.id if parent else None)
    if parent is None:
        form.refuse("parent_ticket_id", messages.ticket_not_found(display_id))
    return form


def _conversion(note_id: str, form: Form) -> Response:
    with reading():
        note, project = find(actor(), note_id)
        if note["ticket"]:
            return go(f"/tickets/{note['ticket']}")
        targets = [project_json(project)] if project else offered_projects()
        users = all_users()
    assignees: dict[str, str] = {}
    for target in targets:
        assignees |= dict(user_options(users, target["id"]))
    return page(
        "sticky_notes/convert.html",
        block="sheet",
        project=project,
        note=note,
        form=form,
        title=default_title(note["body"]),
        projects=[(target["id"], f"{target['name']} ({target['key']})") for target in targets],
        kinds=words(KINDS),
        priorities=words(PRIORITIES),
        # The verb checks that the assignee may see the chosen project.
        assignees=[("", messages.NOBODY), *assignees.items()],
        address=_wall_of(project),
        status=422 if form.errors else 200,
    )


@operation(Access.READ)
def find(actor: Actor, note_id: str) -> tuple[dict[str, Any], SeenProject | None]:
    """A note that the actor can see, and its project; raises NotFound or Gone."""
    note = by_id(StickyNote, note_id)
    if note is None or (note.is_personal and note.created_by_user_id != actor.user_id):
        raise NotFound("sticky_note", note_id)
    project = projects_loaders.visible(actor, note.project_id) if note.project_id else None
    return _with_names([note_json(note)])[0], project


def _read(note_id: str) -> tuple[dict[str, Any], SeenProject | None]:
    with reading():
        return find(actor(), note_id)


def _with_names(notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add each note's author, and the display id of the ticket that it was converted to."""
    authors = user_refs.summaries(note["created_by_user_id"] for note in notes)
    ticket_ids = {note["converted_to_ticket_id"] for note in notes} - {None}
    display_ids = names_of(ticket_ids)
    return [
        {
            **note,
            "author": authors[note["created_by_user_id"]],
            "ticket": display_ids.get(note["converted_to_ticket_id"]),
        }
        for note in notes
    ]


def _with_text(note: dict[str, Any]) -> dict[str, Any]:
    """Add the note's text as HTML, and the name of its color."""
    body = note["body"]
    return {
        **note,
        "html": render_markdown(body, Profile.RESTRICTED, nowhere).html,
        "is_long": len(body) > LONG_TEXT or body.count("\n") >= LONG_LINES,
        "color_name": _color_name(note["color"]),
    }


def _color_name(color: str | None) -> str:
    if not color:
        return messages.NO_COLOR
    return dict(COLORS).get(color.lower(), messages.OTHER_COLOR)


def _color_options(current: str | None) -> list[tuple[str, str]]:
    """The colors to choose from, with the note's own one."""
    options = [("", messages.NO_COLOR), *COLORS]
    if current and current.lower() not in dict(COLORS):
        options.append((current, messages.OTHER_COLOR))
    return options


def _colored(notes: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The colors that a wall needs in its color sheet."""
    used = [{"color": color} for color, _ in COLORS]
    return used + [{"color": note["color"]} for note in notes if note["color"]]


def _wall_of(project: SeenProject | None) -> str:
    return f"/projects/{project.key}/sticky-notes" if project else "/sticky-notes"
