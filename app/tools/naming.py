"""What an agent calls things: a project by key, a state by name, a user by username or ``me``.

Each also by UUID. A name that means nothing is refused with the names that would.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import bindparam, or_, select

from app.accounts.models import User, UserType
from app.core import text
from app.core.actor import Actor
from app.core.db import Prepared, session
from app.core.errors import InvalidField, NotFound
from app.core.ids import as_uuid
from app.projects import loaders as projects
from app.projects.models import Label, Project, WorkflowState

ME = "me"
NONE = "none"
LISTED = 30

# Most calls name a project.
_PROJECT_BY_ID = Prepared(select(Project.id).where(Project.id == bindparam("reference")))
_PROJECT_BY_KEY = Prepared(select(Project.id).where(Project.key == bindparam("reference")))


def _asked(reference: str) -> str:
    """A name as the databases may be asked for it: PostgreSQL takes no NUL, and no name has one."""
    return reference.replace("\x00", "\N{REPLACEMENT CHARACTER}")


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


def project_id(actor: Actor, reference: str, *, writing: bool = False) -> str:
    """The id of a project's key or UUID; raises NotFound with the keys that the actor can use.

    For a write, a project outside the allowlist is found too: the verb refuses it as such.
    """
    identifier = as_uuid(reference)
    if identifier is not None:
        row = _PROJECT_BY_ID.first(reference=identifier)
    else:
        row = _PROJECT_BY_KEY.first(reference=_asked(reference).upper())
    if row is not None and (writing or actor.sees_project(row.id)):
        return str(row.id)
    error = NotFound("project", reference)
    sentence, shown = _listed(_project_keys(actor))
    error.message = f"There is no project {reference[:128]!r}. Valid: {sentence}."
    error.details = {**(error.details or {}), "valid": shown}
    raise error


def _project_keys(actor: Actor) -> Sequence[str]:
    statement = select(Project.key).where(Project.deleted_at.is_(None)).order_by(Project.key)
    if actor.allowlist:
        statement = statement.where(Project.id.in_(actor.allowlist))
    return session.scalars(statement.limit(LISTED)).all()


def project_named_in_body(actor: Actor, reference: str) -> str:
    """As ``project_id``, where the request of REST names the project in its body (422)."""
    try:
        return project_id(actor, reference, writing=True)
    except NotFound as error:
        refused = InvalidField("project", "not_found", error.message)
        valid = (error.details or {}).get("valid", [])
        refused.details = {**(refused.details or {}), "valid": valid}
        raise refused from error


def state_id(project: str, reference: str) -> str:
    """The id of a state of this project, by name (in any case) or UUID; raises InvalidField."""
    states = session.scalars(
        select(WorkflowState)
        .where(WorkflowState.project_id == project)
        .order_by(WorkflowState.position)
    ).all()
    for state in states:
        if state.id == as_uuid(reference) or state.name_key == text.same_name(reference.strip()):
            return state.id
    raise _unknown("state", "state", reference, (state.name for state in states))


def state_ids(actor: Actor, reference: str) -> list[str]:
    """The states of this name in every project that the actor can see; raises InvalidField."""
    return _everywhere(actor, WorkflowState, "state", reference)


def label_ids(project: str, references: Sequence[str], field: str = "labels") -> list[str]:
    """The ids of labels of this project, by name (in any case) or UUID; raises InvalidField."""
    labels = session.scalars(
        select(Label).where(Label.project_id == project).order_by(Label.name_key)
    ).all()
    known = {label.name_key: label.id for label in labels} | {
        label.id: label.id for label in labels
    }
    found = []
    for reference in references:
        key = as_uuid(reference) or text.same_name(reference.strip())
        if key not in known:
            raise _unknown(field, "label", reference, (label.name for label in labels))
        found.append(known[key])
    return found


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
    wanted = or_(
        model.name_key == text.same_name(_asked(reference).strip()), model.id == identifier
    )
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
    condition = User.id == identifier if identifier else User.username == _asked(reference).lower()
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


def check_project(actor: Actor, project: str) -> None:
    """Raise unless the actor may write in this project, before names in it are told."""
    projects.writable(actor, project)
