"""Saved views: plain forms beside the filters of boards and lists."""

from flask import Response, request

from app.core.actor import Actor
from app.database.session import reading
from app.projects.loaders import SeenProject, visible_by_key
from app.tickets import views
from app.tickets.pages.blueprint import pages
from app.web.forms import Form, submit
from app.web.guard import actor, safe_next, write
from app.web.render import go, page


@pages.post("/views")
def save_view() -> Response:
    """Save what the reader looks at, and show it."""
    key = request.form.get("project")
    project: SeenProject | None = None
    if key:
        with reading():
            project = visible_by_key(actor(), key)
    form = Form(raw=request.form.copy(), shown=frozenset({"name"}))
    saved: list[str] = []

    def work(present: Actor) -> None:
        view = views.save_view(present, project, name=form.value("name"), query=form.value("query"))
        saved[:] = [view.query]

    back = safe_next(form.value("back")).partition("?")[0]
    if submit(form, work):
        return go(f"{back}?{saved[0]}" if saved[0] else back)
    return page("tickets/view.html", project=project, form=form, back=back, status=422)


@pages.post("/views/<view_id>/delete")
def delete_view(view_id: str) -> Response:
    """Delete one of one's own views."""
    write(lambda present: views.delete_view(present, view_id))
    return go(safe_next(request.form.get("back")))
