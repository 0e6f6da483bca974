"""One note: shown, edited in its place, deleted for good."""

from flask import Response

from app.database.session import reading
from app.sticky_notes import page_queries, service
from app.sticky_notes.pages.blueprint import choices, coloured, pages, shown, wall_of
from app.sticky_notes.schemas import StickyNotePatch
from app.web.forms import Form, load_form, submit
from app.web.guard import actor, write
from app.web.render import go, html, is_htmx, page, partial, toast, undo_toast


@pages.get("/sticky-notes/<note_id>")
def show(note_id: str) -> Response:
    """The note where htmx asks; else its place on its wall."""
    with reading():
        note, project = page_queries.find(actor(), note_id)
    if is_htmx():
        return partial("sticky_notes/_note.html", note=shown(note))
    return go(f"{wall_of(project)}#note-{note['id']}")


def _editor(note_id: str, form: Form) -> Response:
    with reading():
        note, project = page_queries.find(actor(), note_id)
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
        note, project = page_queries.find(actor(), note_id)
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
        note, project = page_queries.find(actor(), note_id)
    write(lambda present: service.delete_note(present, note["id"]))
    if not is_htmx():
        return go(wall_of(project))
    gone = f'<li id="note-{note["id"]}" hx-swap-oob="delete"></li>'
    told = "Note deleted"
    # What a personal note held is not written down.
    return html(gone + (undo_toast(told, wall_of(project)) if project else toast(told)))
