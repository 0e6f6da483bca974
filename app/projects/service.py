"""Verbs of projects."""

import re
from typing import Any

from sqlalchemy import select

from app.accounts import user_refs
from app.audit.service import record
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, InvalidField
from app.database.pagination import Page, page
from app.database.session import session
from app.database.versions import add_versioned, apply_changes, duplicate_is_conflict, touch
from app.projects import messages, states
from app.projects.builders import project_json
from app.projects.loaders import SeenProject, target, visible, within_allowlist, writable
from app.projects.models import Project

# The largest limit of tickets, comments and files of one bot in ten minutes.
MAX_CREATION_LIMIT = 10_000
KEY_PATTERN = re.compile(r"[A-Z][A-Z0-9]{1,9}")


@operation(Access.READ)
def list_projects(
    actor: Actor, *, limit: int, cursor: str | None, include_deleted: bool = False
) -> Page:
    """The projects that the actor can see, newest first."""
    statement = select(Project, Project.id, Project.created_at)
    statement = within_allowlist(actor, statement, Project.id)
    if not include_deleted:
        statement = statement.where(Project.deleted_at.is_(None))
    return page(
        statement,
        kind="project",
        sort=Project.created_at,
        id_column=Project.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [project_json(row.Project) for row in rows],
    )


@operation(Access.READ)
def get_project(actor: Actor, project_id: str, *, include_deleted: bool = False) -> SeenProject:
    """One project; raises NotFound or Gone."""
    return visible(actor, project_id, include_deleted=include_deleted)


@operation(Access.HUMAN)
def create_project(
    actor: Actor,
    *,
    key: str,
    name: str,
    description: str = "",
    owner_user_id: str | None = None,
) -> Project:
    """Create a project with the default workflow states.

    Raises InvalidField, and Conflict ``duplicate_key``; deleted projects keep their keys.
    """
    hint = messages.KEY_INVALID
    text.matching(key, "key", KEY_PATTERN, hint)
    name = text.line(name, "name")
    description = text.body(description, "description", text.DESCRIPTION_LENGTH)
    owner = user_refs.active_human(owner_user_id or actor.id, "owner_user_id")
    in_use = messages.key_taken(key)
    if session.scalar(select(Project.id).where(Project.key == key)) is not None:
        raise Conflict("duplicate_key", in_use, field="key")
    project = add_versioned(
        Project,
        key=key,
        name=name,
        description=description,
        owner_user_id=owner.id,
        ticket_counter=0,
    )
    with duplicate_is_conflict("key", in_use):
        session.flush()
    record(
        actor,
        "project.created",
        target(project),
        key=key,
        name=name,
        description=description,
        owner_user_id=owner.id,
    )
    states.seed(actor, project)
    return project


def _lock_project(actor: Actor, project_id: str) -> Project:
    """The project, locked for a change; raises NotFound, OutsideAllowlist or Gone."""
    return session.get_one(Project, writable(actor, project_id, lock=True).id)


@operation(Access.HUMAN)
def update_project(actor: Actor, /, project_id: str, **fields: Any) -> Project:
    """Change name, description, owner, sign-off or limit; raises InvalidField."""
    project = _lock_project(actor, project_id)
    if "name" in fields:
        fields["name"] = text.line(fields["name"], "name")
    if "description" in fields:
        text.body(fields["description"], "description", text.DESCRIPTION_LENGTH)
    if "owner_user_id" in fields:
        user_refs.active_human(fields["owner_user_id"], "owner_user_id")
    if fields.get("review_state_id") is not None:
        fields["review_state_id"] = states.for_review(project.id, fields["review_state_id"]).id
    if not 0 <= fields.get("bot_creation_limit", 0) <= MAX_CREATION_LIMIT:
        message = messages.creation_limit_invalid(MAX_CREATION_LIMIT)
        raise InvalidField("bot_creation_limit", "out_of_range", message)
    changed = apply_changes(project, fields)
    if changed:
        session.flush()
        record(actor, "project.updated", target(project), changes=changed)
    return project


@operation(Access.HUMAN)
def delete_project(actor: Actor, project_id: str) -> None:
    """Soft-delete a project; requests for its content get 410, and its key stays reserved."""
    project = _lock_project(actor, project_id)
    touch(project)
    project.deleted_at = project.updated_at
    session.flush()
    record(actor, "project.deleted", target(project), key=project.key, name=project.name)
