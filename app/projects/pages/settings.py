"""A project's general settings, and deleting it."""

from flask import Response, request
from sqlalchemy import select

from app.accounts.models import User, UserType
from app.database.session import reading, session
from app.projects import service
from app.projects.loaders import SeenProject
from app.projects.pages.blueprint import pages, project_of
from app.projects.schemas import ProjectPatch
from app.web.forms import Form, load_form, submit
from app.web.guard import write
from app.web.render import go, page


def _show(
    project: SeenProject, form: Form, *, delete_form: Form | None = None, status: int = 200
) -> Response:
    with reading():
        people = session.execute(
            select(User.id, User.display_name, User.is_active)
            .where(User.type == UserType.HUMAN)
            .order_by(User.display_name)
        ).all()
    owners = [
        (row.id, row.display_name)
        for row in people
        if row.is_active or row.id == project.owner_user_id
    ]
    return page(
        "projects/settings_general.html",
        project=project,
        owners=owners,
        form=form,
        delete_form=delete_form,
        saved="saved" in request.args,
        status=status,
    )


@pages.get("/projects/<key>/settings")
def settings(key: str) -> Response:
    """Settings open on their first page."""
    return go(f"/projects/{key}/settings/general")


@pages.get("/projects/<key>/settings/general")
def general(key: str) -> Response:
    """Show name, owner and description."""
    return _show(project_of(key), Form())


@pages.post("/projects/<key>/settings/general")
def save_general(key: str) -> Response:
    """Change name, owner and description."""
    project = project_of(key)
    form = load_form(ProjectPatch, keep_empty=True)
    if submit(form, lambda present: service.update_project(present, project.id, **form.data)):
        return go(f"/projects/{key}/settings/general?saved")
    return _show(project, form, status=422)


@pages.post("/projects/<key>/settings/delete")
def delete(key: str) -> Response:
    """Delete the project, if its key was typed to confirm."""
    project = project_of(key)
    typed = request.form.get("confirm", "").strip()
    if typed.upper() != project.key:
        refused = Form(shown=frozenset({"confirm"}))
        refused.refuse("confirm", f"Type {project.key} to delete this project.")
        return _show(project, Form(), delete_form=refused, status=422)
    write(lambda present: service.delete_project(present, project.id))
    return go("/projects")
