"""Finding projects: everything in a project goes through these two loaders.

``visible`` says what an actor can see (404, 410); ``writable`` what it may touch (403 too).
"""

from dataclasses import dataclass, fields

from sqlalchemy import bindparam, select

from app.audit.service import Target
from app.core.actor import Actor
from app.core.db import Prepared, session
from app.core.errors import Gone, NotFound, OutsideAllowlist
from app.core.ids import as_uuid
from app.projects.models import Project

# Made once: making a statement costs more than running it.
_BY_ID = select(Project).where(Project.id == bindparam("project_id"))
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
    select(Project.id, Project.key, Project.deleted_at).where(Project.id == bindparam("project_id"))
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


@dataclass(frozen=True, slots=True)
class OpenProject:
    """A project that may be written in, as far as what is new in it needs it."""

    id: str
    key: str


def open_for(actor: Actor, project_id: str) -> OpenProject:
    """As ``writable``, for what does not change the project itself."""
    canonical = as_uuid(project_id)
    row = _STANDING.first(project_id=canonical) if canonical is not None else None
    if row is None:
        raise NotFound("project", project_id)
    if not actor.sees_project(row.id):
        raise OutsideAllowlist(row.id)
    if row.deleted_at is not None:
        raise Gone("project", row.id)
    return OpenProject(row.id, row.key)


def check_writable(actor: Actor, project: Project) -> None:
    """Raise OutsideAllowlist, or Gone for a deleted project."""
    if not actor.sees_project(project.id):
        raise OutsideAllowlist(project.id)
    if project.is_deleted:
        raise Gone("project", project.id)


@dataclass(frozen=True, slots=True)
class SeenProject:
    """A project as its pages show it."""

    id: str
    key: str
    name: str
    description: str
    owner_user_id: str
    created_at: int
    updated_at: int


_SHOWN = [Project.__table__.c[one.name] for one in fields(SeenProject)]
_BY_KEY = Prepared(select(*_SHOWN, Project.deleted_at).where(Project.key == bindparam("key")))


def visible_by_key(actor: Actor, key: str) -> SeenProject:
    """The project of this key, as pages name it; raises NotFound or Gone."""
    row = _BY_KEY.first(key=key)
    if row is None or not actor.sees_project(row.id):
        raise NotFound("project", key)
    *shown, deleted_at = row
    if deleted_at is not None:
        raise Gone("project", key)
    return SeenProject(*shown)


def target(project: Project) -> Target:
    """The project as an event's target."""
    return Target("project", project.id, project_id=project.id)
