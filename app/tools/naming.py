"""What an agent calls things: a project by key, a state by name, a user by username or ``me``.

Each also by UUID. A name that means nothing is refused with the names that would.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import bindparam, or_, select

from app.accounts.models import User, UserType
from app.core import text
from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import Prepared, session
from app.mcp.parameters import body, texts
from app.mcp.parameters import text as parameters_text
from app.projects import loaders
from app.projects.loaders import SeenProject
from app.projects.models import Label, Project, WorkflowState

TICKET = parameters_text(
    "ticket", "Ticket: display id (OPS-12) or UUID.", required=True, also="ticket_id"
)
PROJECT = parameters_text("project", "Project: key (OPS) or UUID.", also="project_id")
ASSIGNEE = parameters_text(
    "assignee",
    "Username, UUID or me; none for nobody.",
    also="assignee_user_id",
    clearable=True,
)
EXPECTED_ASSIGNEE = parameters_text(
    "expected_assignee",
    "Refuse unless the ticket is assigned so at this moment: username, UUID, me or none. "
    "To claim work: assignee me, expected_assignee none.",
    also="expected_assignee_user_id",
    clearable=True,
)
STATE = parameters_text("state", "State: name (In progress) or UUID.", also="state_id")
LABELS = texts(
    "labels", "All labels it shall have: names or UUIDs.", also="label_ids", clearable=True
)
PARENT = parameters_text(
    "parent",
    "Parent ticket: an epic for a story, a story for a subtask.",
    also="parent_ticket_id",
    clearable=True,
)
DUE_DATE_TEXT = "Date such as 2026-11-20."
COMMENT = parameters_text("comment", "The comment's UUID.", required=True, also="comment_id")
NOTE = parameters_text("sticky_note", "The note's UUID.", required=True, also="sticky_note_id")
PAGE_NAME = parameters_text("page", "Page: slug or UUID.", required=True, also="page_id")
SCOPE = parameters_text(
    "project",
    "Project key or UUID, where several projects have a page of this slug.",
    also="project_id",
)
APPEND = body("append", "Text to add at the end, instead of body.")
COLOR = parameters_text("color", "Such as #fde68a.", clearable=True)


ME = "me"
NONE = "none"
LISTED = 30

# Most calls that move a ticket name a state, and few something that is not there.
_STATE = Prepared(
    select(WorkflowState.id)
    .where(
        WorkflowState.project_id == bindparam("project_id"),
        or_(WorkflowState.name_key == bindparam("name_key"), WorkflowState.id == bindparam("id")),
    )
    .order_by(WorkflowState.position)
)
_LABELS = Prepared(
    select(Label.id, Label.name_key).where(
        Label.project_id == bindparam("project_id"),
        or_(
            Label.name_key.in_(bindparam("name_keys", expanding=True)),
            Label.id.in_(bindparam("ids", expanding=True)),
        ),
    )
)


def _without_nul(reference: str) -> str:
    """A name as the databases may be asked for it: PostgreSQL takes no NUL, and no name has one."""
    return reference.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def _key_of(reference: str) -> str:
    """The key by which states and labels of this name are found."""
    return text.same_name(_without_nul(reference).strip())


def _listed(names: Iterable[str]) -> tuple[str, list[str]]:
    """Names for a sentence, and all of them that are told."""
    shown = list(names)[:LISTED]
    return ", ".join(shown) or "none", shown


def _unknown(field: str, what: str, sent: str, names: Iterable[str]) -> InvalidField:
    sentence, shown = _listed(names)
    error = InvalidField(
        field, "not_found", f"There is no {what} {sent[:128]!r}. Valid: {sentence}."
    )
    error.details = {**(error.details or {}), "valid": shown}
    return error


def project(actor: Actor, reference: str, *, writing: bool = False) -> SeenProject:
    """The project of a key or UUID; raises NotFound with the keys that the actor can use.

    For a read a deleted one is found too. For a write it raises OutsideAllowlist and Gone.
    """
    identifier = as_uuid(reference)
    key = _without_nul(reference).upper()
    try:
        if writing:
            return loaders.writable(actor, identifier or key, by_key=identifier is None)
        if identifier is not None:
            return loaders.visible(actor, identifier, include_deleted=True)
        return loaders.visible_by_key(actor, key, include_deleted=True)
    except NotFound:
        raise _unknown_project(actor, reference) from None


def project_id(actor: Actor, reference: str) -> str:
    """The id of ``project``, for a read."""
    return project(actor, reference).id


def _unknown_project(actor: Actor, reference: str) -> NotFound:
    error = NotFound("project", reference)
    sentence, shown = _listed(_project_keys(actor))
    error.message = f"There is no project {reference[:128]!r}. Valid: {sentence}."
    error.details = {**(error.details or {}), "valid": shown}
    return error


def _project_keys(actor: Actor) -> Sequence[str]:
    statement = select(Project.key).where(Project.deleted_at.is_(None)).order_by(Project.key)
    if actor.allowlist:
        statement = statement.where(Project.id.in_(actor.allowlist))
    return session.scalars(statement.limit(LISTED)).all()


def project_named_in_body(actor: Actor, reference: str) -> SeenProject:
    """As ``project`` for a write, where REST names the project in the body (422)."""
    try:
        return project(actor, reference, writing=True)
    except NotFound as error:
        refused = InvalidField("project", "not_found", error.message)
        valid = (error.details or {}).get("valid", [])
        refused.details = {**(refused.details or {}), "valid": valid}
        raise refused from error


def state_id(project_id: str, reference: str) -> str:
    """The id of a state of this project, by name (in any case) or UUID; raises InvalidField."""
    found = _STATE.first(project_id=project_id, name_key=_key_of(reference), id=as_uuid(reference))
    if found is not None:
        return str(found.id)
    names = select(WorkflowState.name).where(WorkflowState.project_id == project_id)
    ordered = session.scalars(names.order_by(WorkflowState.position))
    raise _unknown("state", "state", reference, ordered)


def state_ids(actor: Actor, reference: str) -> list[str]:
    """The states of this name in every project that the actor can see; raises InvalidField."""
    return _everywhere(actor, WorkflowState, "state", reference)


def label_ids(project_id: str, references: Sequence[str], field: str = "labels") -> list[str]:
    """The ids of labels of this project, by name (in any case) or UUID; raises InvalidField."""
    if not references:
        return []
    keys = [as_uuid(one) or _key_of(one) for one in references]
    ids = [one for one in keys if as_uuid(one)]
    rows = _LABELS.all(project_id=project_id, name_keys=keys, ids=ids)
    known = {row.name_key: row.id for row in rows} | {row.id: row.id for row in rows}
    for reference, key in zip(references, keys, strict=True):
        if key not in known:
            names = select(Label.name).where(Label.project_id == project_id)
            ordered = session.scalars(names.order_by(Label.name_key))
            raise _unknown(field, "label", reference, ordered)
    return [known[key] for key in keys]


def labels_named(actor: Actor, reference: str) -> list[str]:
    """The labels of this name in every project that the actor can see; raises InvalidField."""
    return _everywhere(actor, Label, "label", reference)


def _everywhere(
    actor: Actor, model: type[WorkflowState] | type[Label], field: str, reference: str
) -> list[str]:
    statement = select(model.id, model.name, model.name_key).join(
        Project, Project.id == model.project_id
    )
    statement = statement.where(Project.deleted_at.is_(None))
    if actor.allowlist:
        statement = statement.where(Project.id.in_(actor.allowlist))
    identifier = as_uuid(reference)
    wanted = or_(model.name_key == _key_of(reference), model.id == identifier)
    found = [row.id for row in session.execute(statement.where(wanted))]
    if not found:
        names = session.execute(statement.order_by(model.name_key).limit(LISTED * 10)).all()
        raise _unknown(field, field, reference, dict.fromkeys(row.name for row in names))
    return found


def user_id(actor: Actor, reference: str, field: str) -> str:
    """The id of a user's username or UUID, or of ``me``; raises InvalidField."""
    if reference.lower() == ME:
        return actor.id
    identifier = as_uuid(reference)
    condition = (
        User.id == identifier if identifier else User.username == _without_nul(reference).lower()
    )
    found = session.scalars(select(User.id).where(condition)).first()
    if found is not None:
        return found
    names = session.scalars(
        select(User.username)
        .where(User.is_active)
        .order_by(User.type == UserType.BOT.value, User.username)
        .limit(LISTED)
    )
    raise _unknown(field, "user", reference, [ME, *names])


def user_id_or_none(actor: Actor, reference: str | None, field: str) -> str | None:
    """As ``user_id``; null and ``none`` mean nobody."""
    if reference is None or reference.lower() == NONE:
        return None
    return user_id(actor, reference, field)
