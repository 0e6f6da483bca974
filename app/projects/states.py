"""Verbs of workflow states, the columns of a project's board.

Positions are 0, 1, 2... without gaps: every change of a project's states locks the project first.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from app.audit.event_types import UNDONE_AT_ONCE
from app.audit.service import Target, record
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, InvalidField
from app.database.pagination import Page, page
from app.database.session import AnyRow, Prepared, session
from app.database.versions import add_versioned, apply_changes, duplicate_is_conflict
from app.projects import loaders, messages, ticket_rows
from app.projects.builders import state_json
from app.projects.loaders import SeenProject
from app.projects.models import Project, StateCategory, WorkflowState

SEEDED = (
    (messages.BACKLOG, StateCategory.BACKLOG),
    (messages.TO_DO, StateCategory.ACTIVE),
    (messages.IN_PROGRESS, StateCategory.ACTIVE),
    (messages.IN_REVIEW, StateCategory.ACTIVE),
    (messages.DONE, StateCategory.DONE),
)
# The most tickets of a state that is replaced: each move is an event, the deletion is one more, and
# one undo covers UNDONE_AT_ONCE events.
MAX_MOVED_TICKETS = UNDONE_AT_ONCE - 1
# The largest limit of tickets in one column.
MAX_WIP_LIMIT = 999
REVIEW = "review_state_id"

_OF_LIVE_PROJECTS = Prepared(
    select(WorkflowState.id, WorkflowState.category, WorkflowState.project_id)
    .join(Project, Project.id == WorkflowState.project_id)
    .where(Project.deleted_at.is_(None))
)


def of_live_projects() -> Sequence[AnyRow]:
    """The id, category and project of every state of live projects."""
    return _OF_LIVE_PROJECTS.all()


def seed(actor: Actor, project: Project) -> None:
    for position, (name, category) in enumerate(SEEDED):
        _add(actor, project, name, category, position)


def _add(
    actor: Actor,
    project: Project | SeenProject,
    name: str,
    category: str,
    position: int,
    wip_limit: int | None = None,
) -> WorkflowState:
    state = add_versioned(
        WorkflowState,
        project_id=project.id,
        name=name,
        name_key=text.name_key(name),
        position=position,
        category=str(category),
        wip_limit=wip_limit,
    )
    with duplicate_is_conflict("name", loaders.name_in_use("state", name)):
        session.flush()
    record(
        actor,
        "workflow_state.created",
        _target(state),
        state_id=state.id,
        name=name,
        category=str(category),
        position=position,
        wip_limit=wip_limit,
    )
    return state


def _target(state: WorkflowState) -> Target:
    return Target("workflow_state", state.id, project_id=state.project_id)


def ordered(project_id: str) -> Sequence[WorkflowState]:
    """The project's states by position."""
    statement = select(WorkflowState).where(WorkflowState.project_id == project_id)
    return session.scalars(statement.order_by(WorkflowState.position)).all()


def open_ones(project_id: str) -> list[WorkflowState]:
    """The project's states that are not done, by position."""
    return [state for state in ordered(project_id) if state.category != StateCategory.DONE]


def name_of(state_id: str | None) -> str:
    """The name of a state for messages."""
    state = session.get(WorkflowState, state_id) if state_id else None
    return state.name if state else messages.NONE


def for_review(project_id: str, state_id: str) -> AnyRow:
    """The state that a request names as the review state; raises InvalidField."""
    state = loaders.state_in_body(project_id, state_id, REVIEW)
    if state.category == StateCategory.DONE:
        raise InvalidField(REVIEW, "is_done", messages.REVIEW_STATE_NOT_DONE)
    return state


def _check_not_for_review(project: SeenProject, state: WorkflowState) -> None:
    if project.review_state_id == state.id:
        message = messages.is_review_state(state.name)
        raise Conflict("invariant_violation", message)


def _check_limit(wip_limit: int | None) -> None:
    if wip_limit is not None and not 1 <= wip_limit <= MAX_WIP_LIMIT:
        message = messages.limit_invalid(MAX_WIP_LIMIT)
        raise InvalidField("wip_limit", "out_of_range", message)


@operation(Access.READ)
def list_states(actor: Actor, project_id: str, *, limit: int, cursor: str | None) -> Page:
    project = loaders.visible(actor, project_id)
    return page(
        select(WorkflowState, WorkflowState.id, WorkflowState.position).where(
            WorkflowState.project_id == project.id
        ),
        kind="workflow_state",
        sort=WorkflowState.position,
        id_column=WorkflowState.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [state_json(row.WorkflowState) for row in rows],
        ascending=True,
    )


@operation(Access.HUMAN)
def create_state(
    actor: Actor, project_id: str, *, name: str, category: str, wip_limit: int | None = None
) -> WorkflowState:
    """Add a state at the end; raises InvalidField, and Conflict ``duplicate_key``."""
    project = loaders.writable(actor, project_id, lock=True)
    name = text.line(name, "name")
    loaders.check_name_free(WorkflowState, project, name, "state")
    _check_limit(wip_limit)
    return _add(actor, project, name, category, len(ordered(project.id)), wip_limit)


@operation(Access.HUMAN)
def update_state(actor: Actor, /, project_id: str, state_id: str, **fields: Any) -> WorkflowState:
    """Change name, category or limit.

    Raises InvalidField, and Conflict ``duplicate_key`` or, if the review state would become a done
    one, ``invariant_violation``.
    """
    project = loaders.writable(actor, project_id, lock=True)
    state = loaders.part_of(WorkflowState, project, state_id, "workflow_state")
    if "name" in fields:
        fields["name"] = text.line(fields["name"], "name")
        loaders.check_name_free(WorkflowState, project, fields["name"], "state", but=state.id)
    _check_limit(fields.get("wip_limit"))
    if fields.get("category") == StateCategory.DONE:
        _check_not_for_review(project, state)
    changed = apply_changes(state, fields)
    if changed:
        state.name_key = text.name_key(state.name)
        session.flush()
        record(actor, "workflow_state.updated", _target(state), state_id=state.id, changes=changed)
    return state


def locked(state_id: str) -> AnyRow | None:
    """The id and category of the state, if it exists.

    It cannot be deleted until this transaction ends.
    """
    statement = select(WorkflowState.id, WorkflowState.category).where(WorkflowState.id == state_id)
    return session.execute(statement.with_for_update(read=True, key_share=True)).first()


@operation(Access.HUMAN)
def delete_state(actor: Actor, project_id: str, state_id: str) -> None:
    """Delete a state.

    Raises Conflict ``state_in_use``, or ``invariant_violation`` for the last or the review state.
    """
    project = loaders.writable(actor, project_id, lock=True)
    state = loaders.part_of(WorkflowState, project, state_id, "workflow_state")
    _check_not_for_review(project, state)
    # Wait for transactions that move tickets here, so that the count below includes them.
    session.execute(select(WorkflowState.id).where(WorkflowState.id == state.id).with_for_update())
    in_use = ticket_rows.live_in_state(state.id)
    if in_use:
        raise Conflict("state_in_use", messages.state_in_use(in_use), ticket_count=in_use)
    remaining = [other for other in ordered(project.id) if other.id != state.id]
    if not remaining:
        raise Conflict("invariant_violation", messages.LAST_STATE)
    session.delete(state)
    session.flush()
    _renumber(remaining)
    record(
        actor,
        "workflow_state.deleted",
        _target(state),
        state_id=state.id,
        name=state.name,
        category=state.category,
        position=state.position,
        wip_limit=state.wip_limit,
    )


def _renumber(states: Sequence[WorkflowState]) -> None:
    for position, state in enumerate(states):
        apply_changes(state, {"position": position})
    session.flush()


@operation(Access.HUMAN)
def reorder_states(actor: Actor, project_id: str, *, state_ids: list[str]) -> None:
    """Reorder the states; raises InvalidField unless ``state_ids`` names each of them once."""
    project = loaders.writable(actor, project_id, lock=True)
    states = ordered(project.id)
    current = [state.id for state in states]
    if len(state_ids) != len(current) or set(state_ids) != set(current):
        raise InvalidField("state_ids", "not_the_states", messages.STATE_IDS_INCOMPLETE)
    if state_ids == current:
        return
    by_id = {state.id: state for state in states}
    _renumber([by_id[state_id] for state_id in state_ids])
    record(
        actor,
        "workflow_state.reordered",
        loaders.target(project),
        state_ids=state_ids,
        previous_state_ids=current,
    )
