"""The two walls: one's own, which nobody else sees, and a project's."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.database.pagination import Page
from app.database.session import reading
from app.projects.loaders import SeenProject, visible_by_key
from app.sticky_notes import page_queries, service
from app.sticky_notes.pages.blueprint import choices, coloured, pages, shown, wall_of
from app.sticky_notes.schemas import StickyNoteCreate
from app.web.forms import Form, create, load_form
from app.web.guard import actor
from app.web.render import go, html, is_htmx, oob, page, render, render_block

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
            notes = [shown(one) for one in page_queries.with_names(found.data)]
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
            note, _ = page_queries.find(actor(), made)
        answer += oob(render("sticky_notes/_note.html", note=shown(note)), "#notes", "afterbegin")
    return html(answer, 200 if made else 422)


def _create(present: Actor, project: SeenProject | None, data: dict[str, Any]) -> str:
    if project:
        return service.create_in_project(present, project.id, **data).id
    return service.create_personal(present, **data).id
