"""Finding projects and their parts: access to all content of a project goes through these.

``visible`` and ``visible_by_key`` check what an actor may see (404, 410), ``writable`` what it may
write in (also 403).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from sqlalchemy import bindparam, select
from sqlalchemy.orm import InstrumentedAttribute

from app.audit import receipts
from app.audit.service import Target
from app.core import text
from app.core.actor import Actor
from app.core.errors import Conflict, Gone, InvalidField, NotFound, OutsideAllowlist
from app.core.ids import as_uuid
from app.database.session import AnyRow, AnySelect, Prepared, by_id, session
from app.projects import messages
from app.projects.models import Label, Project, WorkflowState

# The most projects in the list of a bot or webhook.
MAX_PROJECTS = 500

Part = TypeVar("Part", WorkflowState, Label)
Statement = TypeVar("Statement", bound=AnySelect)


@dataclass(frozen=True, slots=True)
class SeenProject:
    """A project as a read-only value."""

    id: str
    key: str
    name: str
    description: str
    owner_user_id: str
    created_at: int
    updated_at: int
    deleted_at: int | None = None
    sign_off: bool = False
    review_state_id: str | None = None
    bot_creation_limit: int = 0


# The columns that a statement selects to build one.
SEEN = tuple(Project.__table__.c[field.name] for field in fields(SeenProject))
_PROJECTS = select(*SEEN)
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
    return _checked(actor, _by_id(project_id), project_id, include_deleted=include_deleted)


def visible_by_key(actor: Actor, key: str, *, include_deleted: bool = False) -> SeenProject:
    """The project of a key, if the actor can see it; raises NotFound or Gone."""
    return _checked(actor, _by_key(key), key, include_deleted=include_deleted)


def writable(
    actor: Actor, reference: str | SeenProject, *, by_key: bool = False, lock: bool = False
) -> SeenProject:
    """The project of an id or key, if the actor may write in it; ``lock`` locks its row.

    A project that this unit of work has already read is not read again. Raises NotFound,
    OutsideAllowlist or Gone.
    """
    if isinstance(reference, SeenProject):
        project: SeenProject | None = reference
    elif by_key:
        project = receipts.begin_in(actor, key=reference) or _by_key(reference)
    else:
        kept = None if lock else receipts.begin_in(actor, project_id=as_uuid(reference))
        project = kept or _by_id(reference, lock=lock)
    if project is None:
        raise NotFound("project", str(reference))
    if not actor.sees_project(project.id):
        raise OutsideAllowlist(project.id)
    if project.deleted_at is not None:
        raise Gone("project", project.id)
    return project


def within_allowlist(
    actor: Actor, statement: Statement, project_id: InstrumentedAttribute[str]
) -> Statement:
    """The statement with only the rows of projects that the actor may see."""
    return statement.where(project_id.in_(actor.allowlist)) if actor.allowlist else statement


def target(project: SeenProject | Project) -> Target:
    return Target("project", project.id, project_id=project.id)


def part_of(model: type[Part], project: SeenProject, identifier: str, kind: str) -> Part:
    """The state or label of a project that an address names; raises NotFound."""
    row = by_id(model, identifier)
    if row is None or row.project_id != project.id:
        raise NotFound(kind, identifier)
    return row


_FIRST_STATE = Prepared(
    select(WorkflowState.id, WorkflowState.category).where(
        WorkflowState.project_id == bindparam("project_id"), WorkflowState.position == 0
    )
)


def first_state(project_id: str) -> AnyRow:
    """The id and category of the state in which new tickets start."""
    row: AnyRow = _FIRST_STATE.all(project_id=project_id)[0]
    return row


_STATES = Prepared(
    select(
        WorkflowState.id, WorkflowState.project_id, WorkflowState.name, WorkflowState.category
    ).where(WorkflowState.id.in_(bindparam("ids", expanding=True))),
    planned_once=True,
)


def states_of_move(
    project_id: str, before_id: str | None, state_id: str, field: str = "state_id"
) -> tuple[AnyRow | None, AnyRow]:
    """The state with this id, and the one that ``state_in_body`` would find, in one statement."""
    after_id = as_uuid(state_id)
    rows = _STATES.all(ids=[one for one in (before_id, after_id) if one is not None])
    found = {row.id: row for row in rows}
    after = found.get(after_id)
    if after is None or after.project_id != project_id:
        raise InvalidField(field, "not_found", messages.not_a_state_of_project(field))
    return found.get(before_id), after


def state_in_body(project_id: str, state_id: str, field: str = "state_id") -> AnyRow:
    """The state of this project that a request names in ``field``; raises InvalidField."""
    return states_of_move(project_id, None, state_id, field)[1]


def check_name_free(
    model: type[Part], project: SeenProject, name: str, noun: str, *, but: str | None = None
) -> None:
    """Raise Conflict ``duplicate_key`` if another part has this name, in any case."""
    taken = session.scalar(
        select(model.id).where(
            model.project_id == project.id, model.name_key == text.name_key(name)
        )
    )
    if taken is not None and taken != but:
        raise Conflict("duplicate_key", name_in_use(noun, name), field="name")


def name_in_use(noun: str, name: str) -> str:
    """The message that refuses the name of a state or label."""
    return messages.already_exists(noun, name)


def listed_keys(project_ids: Collection[str]) -> list[str]:
    """The keys of these projects, deleted ones too."""
    statement = select(Project.key).where(Project.id.in_(project_ids)).order_by(Project.key)
    return list(session.scalars(statement)) if project_ids else []


def projects_in_words(project_ids: Collection[str]) -> str:
    """The keys of a list of projects for messages; an empty one means all."""
    return ", ".join(listed_keys(project_ids)) or messages.ALL_PROJECTS


def listed_projects(project_ids: list[str], *, already: Sequence[str] = ()) -> list[str]:
    """The projects of a list, each once; raises InvalidField if one does not exist.

    A deleted project counts as missing unless it is ``already`` listed: a list keeps those, as a
    deletion must not empty it.
    """
    unique = text.unique(project_ids)
    if len(unique) > MAX_PROJECTS:
        raise InvalidField("project_ids", "too_long", messages.too_many_projects(MAX_PROJECTS))
    if not unique:
        return []
    live = session.scalars(
        select(Project.id).where(Project.id.in_(unique), Project.deleted_at.is_(None))
    )
    if set(unique) - set(live) - set(already):
        raise InvalidField("project_ids", "not_found", messages.UNKNOWN_PROJECT)
    return unique
