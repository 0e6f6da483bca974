"""The walls, a personal one and one per project, and the pages of one note."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.database.pagination import Page
from app.database.session import reading
from app.projects.loaders import SeenProject, visible_by_key
from app.sticky_notes import service
from app.sticky_notes.pages import blueprint
from app.sticky_notes.pages.blueprint import choices, coloured, pages, shown, wall_of
from app.sticky_notes.schemas import StickyNoteCreate, StickyNotePatch
from app.web.forms import Form, create, load_form, submit
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


@pages.get("/sticky-notes/<note_id>")
def show(note_id: str) -> Response:
    """The note where htmx asks; else its place on its wall."""
    with reading():
        note, project = blueprint.find(actor(), note_id)
    if is_htmx():
        return partial("sticky_notes/_note.html", note=shown(note))
    return go(f"{wall_of(project)}#note-{note['id']}")


def _editor(note_id: str, form: Form) -> Response:
    with reading():
        note, project = blueprint.find(actor(), note_id)
    return page(
        "sticky_notes/edit.html",
        block="editor",
        project=project,
        note=note,
        form=form,
        choices=choices(note["color"]),
        coloured=coloured([note]),
        address=wall_of(project),
        status=422 if form.errors else 200,
    )


@pages.get("/sticky-notes/<note_id>/edit")
def edit(note_id: str) -> Response:
    """Ask for the new text and colour."""
    return _editor(note_id, Form())


@pages.post("/sticky-notes/<note_id>/edit")
def save(note_id: str) -> Response:
    """Change text and colour."""
    form = load_form(StickyNotePatch, keep_empty=True)
    if submit(form, lambda present: service.update_note(present, note_id, **form.data)):
        return show(note_id)
    return _editor(note_id, form)


@pages.get("/sticky-notes/<note_id>/delete")
def confirm_delete(note_id: str) -> Response:
    """Ask before deleting, which cannot be undone."""
    with reading():
        note, project = blueprint.find(actor(), note_id)
    return page(
        "sticky_notes/delete.html",
        block="sheet",
        project=project,
        note=note,
        address=wall_of(project),
    )


@pages.post("/sticky-notes/<note_id>/delete")
def delete(note_id: str) -> Response:
    """Delete the note."""
    with reading():
        note, project = blueprint.find(actor(), note_id)
    write(lambda present: service.delete_note(present, note["id"]))
    if not is_htmx():
        return go(wall_of(project))
    gone = f'<li id="note-{note["id"]}" hx-swap-oob="delete"></li>'
    told = "Note deleted"
    # What a personal note held is not written down.
    return html(gone + (undo_toast(told, wall_of(project)) if project else toast(told)))


SHOWN = 100


def _notes(project: SeenProject | None, cursor: str | None) -> Page:
    if project:
        return service.list_of_project(actor(), project.id, limit=SHOWN, cursor=cursor)
    return service.list_personal(actor(), limit=SHOWN, cursor=cursor)


def _wall(key: str | None, form: Form) -> Response:
    try:
        with reading():
            project = visible_by_key(actor(), key) if key else None
            found = _notes(project, request.args.get("cursor") or None)
            notes = [shown(one) for one in blueprint.with_names(found.data)]
    except InvalidField:
        return go(request.path)
    return page(
        "sticky_notes/wall.html",
        project=project,
        notes=notes,
        coloured=coloured(notes),
        authors=sorted({one["author"]["display_name"] for one in notes}),
        address=wall_of(project),
        next_cursor=found.next_cursor,
        form=form,
        choices=choices(None),
        status=422 if form.errors else 200,
    )


@pages.get("/sticky-notes")
@pages.get("/projects/<key>/sticky-notes")
def wall(key: str | None = None) -> Response:
    """Show the notes, newest first."""
    return _wall(key, Form())


@pages.post("/sticky-notes")
@pages.post("/projects/<key>/sticky-notes")
def add_note(key: str | None = None) -> Response:
    """Add a note; the wall gets it, and the form is empty again."""
    with reading():
        project = visible_by_key(actor(), key) if key else None
    form = load_form(StickyNoteCreate)
    made = create(form, lambda present: _create(present, project, form.data))
    address = wall_of(project)
    if not is_htmx():
        return go(f"{address}#note-{made}") if made else _wall(key, form)
    answer = render_block(
        "sticky_notes/wall.html",
        "composer",
        project=project,
        address=address,
        form=form if form.errors else Form(),
        choices=choices(None),
        chosen=form.value("color"),
    )
    if made:
        with reading():
            note, _ = blueprint.find(actor(), made)
        answer += oob(render("sticky_notes/_note.html", note=shown(note)), "#notes", "afterbegin")
    return html(answer, 200 if made else 422)


def _create(present: Actor, project: SeenProject | None, data: dict[str, Any]) -> str:
    if project:
        return service.create_in_project(present, project.id, **data).id
    return service.create_personal(present, **data).id
