"""Finding projects: everything in a project goes through these three loaders.

``visible`` and ``visible_by_key`` say what an actor can see (404, 410), ``writable`` what it may
write in (403 too).
"""

from dataclasses import dataclass, fields

from sqlalchemy import bindparam, select

from app.audit.service import Target
from app.core.actor import Actor
from app.core.errors import Gone, NotFound, OutsideAllowlist
from app.core.ids import as_uuid
from app.database.session import Prepared
from app.projects.models import Project


@dataclass(frozen=True, slots=True)
class SeenProject:
    """A project as it was read."""

    id: str
    key: str
    name: str
    description: str
    owner_user_id: str
    created_at: int
    updated_at: int
    deleted_at: int | None = None


_PROJECTS = select(*(Project.__table__.c[one.name] for one in fields(SeenProject)))
_OF_ID = _PROJECTS.where(Project.id == bindparam("project_id"))
_BY_ID = Prepared(_OF_ID)
_BY_KEY = Prepared(_PROJECTS.where(Project.key == bindparam("key")))
_BY_ID_LOCKED = Prepared(_OF_ID.with_for_update(key_share=True))


def _by_id(project_id: str, *, lock: bool = False) -> SeenProject | None:
    canonical = as_uuid(project_id)
    if canonical is None:
        return None
    row = (_BY_ID_LOCKED if lock else _BY_ID).first(project_id=canonical)
    return SeenProject(*row) if row is not None else None


def _by_key(key: str) -> SeenProject | None:
    row = _BY_KEY.first(key=key)
    return SeenProject(*row) if row is not None else None


def _checked(
    actor: Actor, project: SeenProject | None, reference: str, *, include_deleted: bool
) -> SeenProject:
    if project is None or not actor.sees_project(project.id):
        raise NotFound("project", reference)
    if project.deleted_at is not None and not include_deleted:
        raise Gone("project", reference)
    return project


def visible(actor: Actor, project_id: str, *, include_deleted: bool = False) -> SeenProject:
    """The project of an id, if the actor can see it; raises NotFound or Gone."""
    found = _by_id(project_id)
    return _checked(actor, found, project_id, include_deleted=include_deleted)


def visible_by_key(actor: Actor, key: str, *, include_deleted: bool = False) -> SeenProject:
    """The project of a key, as pages name it; raises NotFound or Gone."""
    return _checked(actor, _by_key(key), key, include_deleted=include_deleted)


def writable(
    actor: Actor, reference: str | SeenProject, *, by_key: bool = False, lock: bool = False
) -> SeenProject:
    """The project of an id or key, if the actor may write in it; ``lock`` keeps others off it.

    One that was read in this unit of work is judged as it is. Raises NotFound, OutsideAllowlist or
    Gone.
    """
    if isinstance(reference, SeenProject):
        project = reference
    else:
        found = _by_key(reference) if by_key else _by_id(reference, lock=lock)
        if found is None:
            raise NotFound("project", reference)
        project = found
    if not actor.sees_project(project.id):
        raise OutsideAllowlist(project.id)
    if project.deleted_at is not None:
        raise Gone("project", project.id)
    return project


def target(project: SeenProject | Project) -> Target:
    """The project as an event's target."""
    return Target("project", project.id, project_id=project.id)
