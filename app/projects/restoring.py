"""Undoing the deletion of a project: a command's business alone."""

from sqlalchemy import select

from app.audit.service import record
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, NotFound
from app.database.session import session
from app.database.versions import touch
from app.projects.loaders import target
from app.projects.models import Project


@operation(Access.HUMAN)
def restore_project(actor: Actor, key: str) -> Project:
    """Bring a deleted project back with all that lies in it; raises NotFound and Conflict."""
    project = session.scalars(select(Project).where(Project.key == key).with_for_update()).first()
    if project is None:
        raise NotFound("project", key)
    if not project.is_deleted:
        raise Conflict("invariant_violation", f"The project {key} is not deleted.")
    project.deleted_at = None
    touch(project)
    session.flush()
    record(actor, "project.restored", target(project), key=project.key, name=project.name)
    return project
