"""Finding projects: everything in a project goes through these two loaders.

``visible`` says what an actor can see (404, 410); ``writable`` what it may touch (403 too).
"""

from sqlalchemy import bindparam, select

from app.audit.service import Target
from app.core.actor import Actor
from app.core.db import Prepared, session
from app.core.errors import Gone, NotFound, OutsideAllowlist
from app.core.ids import as_uuid
from app.projects.models import Project

# Made once: making a statement costs more than running it.
_BY_ID = select(Project).where(Project.id == bindparam("project_id"))
_BY_KEY = select(Project).where(Project.key == bindparam("key"))
_LOCKED_BY_ID = _BY_ID.with_for_update(key_share=True)


def find(project_id: str, *, lock: bool = False) -> Project | None:
    """The project of this id, deleted or not; ``lock`` keeps others from changing it."""
    canonical = as_uuid(project_id)
    if canonical is None:
        return None
    statement = _LOCKED_BY_ID if lock else _BY_ID
    return session.scalars(statement, {"project_id": canonical}).first()


def visible(actor: Actor, project_id: str, *, include_deleted: bool = False) -> Project:
    """The project, if the actor can see it; raises NotFound or Gone."""
    project = find(project_id)
    if project is None or not actor.sees_project(project.id):
        raise NotFound("project", project_id)
    if project.is_deleted and not include_deleted:
        raise Gone("project", project_id)
    return project


_STANDING = Prepared(
    select(Project.id, Project.deleted_at).where(Project.id == bindparam("project_id"))
)


def seen(actor: Actor, project_id: str, *, include_deleted: bool = False) -> str:
    """The id of a project that the actor can see, for lists in it; raises NotFound or Gone."""
    canonical = as_uuid(project_id)
    row = _STANDING.first(project_id=canonical) if canonical is not None else None
    if row is None or not actor.sees_project(row.id):
        raise NotFound("project", project_id)
    if row.deleted_at is not None and not include_deleted:
        raise Gone("project", project_id)
    return str(row.id)


def writable(actor: Actor, project_id: str, *, lock: bool = False) -> Project:
    """The project, if the actor may write in it; raises NotFound, OutsideAllowlist or Gone."""
    project = find(project_id, lock=lock)
    if project is None:
        raise NotFound("project", project_id)
    check_writable(actor, project)
    return project


def check_writable(actor: Actor, project: Project) -> None:
    """Raise OutsideAllowlist, or Gone for a deleted project."""
    if not actor.sees_project(project.id):
        raise OutsideAllowlist(project.id)
    if project.is_deleted:
        raise Gone("project", project.id)


def visible_by_key(actor: Actor, key: str) -> Project:
    """The project of this key, as pages name it; raises NotFound or Gone."""
    project = session.scalars(_BY_KEY, {"key": key}).first()
    if project is None or not actor.sees_project(project.id):
        raise NotFound("project", key)
    if project.is_deleted:
        raise Gone("project", key)
    return project


def target(project: Project) -> Target:
    """The project as an event's target."""
    return Target("project", project.id, project_id=project.id)
