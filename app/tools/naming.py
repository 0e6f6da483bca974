"""The names that agents use: a project by key, a state by name, a user by username or ``me``.

A UUID works for each too. An unknown name is refused with the names that are valid.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import bindparam, func, or_, select

from app.accounts.models import User, UserType
from app.core import text
from app.core.actor import Actor
from app.core.errors import DomainError, InvalidField, NotFound
from app.core.ids import as_uuid, is_display_id, key_in
from app.database.session import Prepared, session
from app.mcp import parameters
from app.mcp.registry import ToolCall
from app.projects import loaders
from app.projects.loaders import SeenProject
from app.projects.models import Label, Project, WorkflowState
from app.tickets import templates
from app.tickets.models import TicketTemplate
from app.tools import messages
from app.wiki import loaders as wiki
from app.wiki import slugs
from app.wiki.models import WikiPage

_TICKET = re.compile(r"(?:ticket://|https?://[^?#]*/tickets/)([A-Za-z0-9-]+)(?:[/?#].*)?")
_NUMBER = re.compile(r"#?([0-9]{1,18})")
_PAGE = re.compile(r"(?:wiki://page/|https?://[^?#]*/wiki/)([A-Za-z0-9-]+)(?:[/?#].*)?")


def ticket_name(text: str) -> str:
    """The display id or UUID of an address or resource; display ids in upper case."""
    found = _TICKET.fullmatch(text.strip())
    name = found[1] if found else text.strip()
    return name.upper() if is_display_id(name.upper()) else name


def numbered(reference: str, key: str | None) -> str:
    """``17`` as the ticket of this number in the project of a key; any other name as it is."""
    found = _NUMBER.fullmatch(reference) if key is not None else None
    return f"{key}-{found[1]}" if found else reference


def page_name(text: str) -> str:
    """The slug or UUID of an address or resource."""
    found = _PAGE.fullmatch(text.strip())
    return found[1] if found else text.strip()


TICKET = parameters.text(
    "ticket",
    "Display id.",
    required=True,
    alias="ticket_id",
    meaning=ticket_name,
)
PROJECT = parameters.text("project", "Its key.", alias="project_id")
# Beside the number of a ticket.
NUMBERED = (TICKET, replace(PROJECT, hidden=True))
ASSIGNEE = parameters.text(
    "assignee", "Username, me or none.", alias="assignee_user_id", clearable=True
)
EXPECTED_ASSIGNEE = parameters.text(
    "expected_assignee",
    "Refuse unless this is its assignee.",
    alias="expected_assignee_user_id",
    clearable=True,
)
STATE = parameters.text("state", "Its name.", alias="state_id")
LABELS = parameters.texts("labels", "All its labels.", alias="label_ids", clearable=True)
PARENT = parameters.text(
    "parent",
    "Epic or story above it.",
    alias="parent_ticket_id",
    clearable=True,
    meaning=ticket_name,
)
TEMPLATE = parameters.text("template", "Fills what you leave out.")
COMMENT = parameters.text("comment", "Its id.", required=True, alias="comment_id")
NOTE = parameters.text("sticky_note", "Its id.", required=True, alias="sticky_note_id")
PAGE_NAME = parameters.text(
    "page", "Slug or title.", required=True, alias="page_id", meaning=page_name
)
SCOPE = parameters.text("project", "Its project's key.", alias="project_id")
APPEND = parameters.body("append", "Instead of body: added at the end, on a new line.")
COLOR = parameters.text("color", "#rrggbb.", clearable=True)

Refusal = TypeVar("Refusal", bound=DomainError)

ME = "me"
NONE = "none"
MAX_LISTED = 30

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
    """A name that PostgreSQL accepts as a parameter; no stored name has a NUL."""
    return reference.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def _letters(name: str) -> str:
    """What is compared last: letters and digits alone, so that ``todo`` is ``To do``."""
    return "".join(filter(str.isalnum, _name_key(name))) or name


def _name_key(reference: str) -> str:
    return text.name_key(_without_nul(reference).strip())


def _with_valid(error: Refusal, kind: str, reference: str, names: Iterable[str]) -> Refusal:
    """The error, with the first valid names in its message and its details."""
    valid = list(names)[:MAX_LISTED]
    listed = ", ".join(valid) or "none"
    error.message = messages.unknown_with_choice(kind, reference[:128], listed)
    error.details = {**(error.details or {}), "valid": valid}
    return error


def _unknown(field: str, kind: str, reference: str, names: Iterable[str]) -> InvalidField:
    return _with_valid(InvalidField(field, "not_found"), kind, reference, names)


def project(
    actor: Actor, reference: str, *, writing: bool = False, in_body: bool = False
) -> SeenProject:
    """The project of a key or UUID; raises NotFound with the keys that the actor can use.

    A read finds deleted projects too. A write raises OutsideAllowlist and Gone. With ``in_body``,
    for what REST takes in the body, InvalidField takes the place of NotFound.
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
        named = _project_of_name(actor, reference)
        if named is not None:
            return project(actor, named, writing=writing, in_body=in_body)
        keys = project_keys(actor)
        if in_body:
            raise _unknown("project", "project", reference, keys) from None
        raise _with_valid(NotFound("project", reference), "project", reference, keys) from None


def _project_of_name(actor: Actor, reference: str) -> str | None:
    """The id of the only project with this name that the actor sees."""
    statement = select(Project.id, Project.name).where(Project.deleted_at.is_(None))
    statement = loaders.within_allowlist(actor, statement, Project.id)
    names = [(row.id, _name_key(row.name)) for row in session.execute(statement)]
    ids = [one for one, name in names if name == _name_key(reference)]
    return ids[0] if len(ids) == 1 else None


def key_beside(call: ToolCall, *, writing: bool) -> str | None:
    """The key of the argument ``project``, if it was sent; raises as ``project``."""
    reference = call["project"]
    return None if reference is None else project(call.actor, reference, writing=writing).key


def ticket(call: ToolCall, *, writing: bool = False) -> str:
    """The argument ``ticket``; of its project, if that was sent, by its number too.

    Raises InvalidField ``project`` for a display id of another project.
    """
    key = key_beside(call, writing=writing)
    named = numbered(call["ticket"], key)
    if key is not None and is_display_id(named) and key_in(named) != key:
        raise InvalidField("project", "mismatch", messages.not_a_ticket_of(named, key))
    return named


def project_id(actor: Actor, reference: str) -> str:
    """The id of ``project``, for a read."""
    return project(actor, reference).id


def project_keys(actor: Actor) -> Sequence[str]:
    statement = select(Project.key).where(Project.deleted_at.is_(None)).order_by(Project.key)
    statement = loaders.within_allowlist(actor, statement, Project.id)
    return session.scalars(statement.limit(MAX_LISTED)).all()


def state_id(project_id: str, reference: str) -> str:
    """The id of a state of this project, by name (in any case) or UUID; raises InvalidField."""
    row = _STATE.first(project_id=project_id, name_key=_name_key(reference), id=as_uuid(reference))
    if row is not None:
        return str(row.id)
    names = select(WorkflowState.id, WorkflowState.name).where(
        WorkflowState.project_id == project_id
    )
    states = session.execute(names.order_by(WorkflowState.position)).all()
    alike = [state.id for state in states if _letters(state.name) == _letters(reference)]
    if len(alike) == 1:
        return str(alike[0])
    raise _unknown("state", "state", reference, (state.name for state in states))


def state_ids(actor: Actor, reference: str, project_id: str | None) -> list[str]:
    """As ``state_id``; without a project, the states of all that the actor can see."""
    if project_id is not None:
        return [state_id(project_id, reference)]
    return _ids_in_all_projects(actor, WorkflowState, "state", reference)


def template(project_id: str, reference: str) -> TicketTemplate:
    """The template of this project, by name (in any case) or UUID; raises InvalidField."""
    found = templates.find(project_id, reference)
    if found is None:
        names = [one.name for one in templates.of_project(project_id)]
        raise _unknown("template", "template", reference, names)
    return found


def label_ids(project_id: str, references: Sequence[str], field: str) -> list[str]:
    """The ids of labels of this project, by name (in any case) or UUID; raises InvalidField."""
    if not references:
        return []
    keys = [as_uuid(reference) or _name_key(reference) for reference in references]
    ids = [key for key in keys if as_uuid(key)]
    rows = _LABELS.all(project_id=project_id, name_keys=keys, ids=ids)
    known = {row.name_key: row.id for row in rows} | {row.id: row.id for row in rows}
    for reference, key in zip(references, keys, strict=True):
        if key not in known:
            names = select(Label.name).where(Label.project_id == project_id)
            ordered = session.scalars(names.order_by(Label.name_key))
            raise _unknown(field, "label", reference, ordered)
    return [known[key] for key in keys]


def labels_named(actor: Actor, reference: str, project_id: str | None) -> list[str]:
    """As ``label_ids`` for one label; without a project, those of all that the actor can see."""
    if project_id is not None:
        return label_ids(project_id, [reference], "label")
    return _ids_in_all_projects(actor, Label, "label", reference)


def _ids_in_all_projects(
    actor: Actor, model: type[WorkflowState] | type[Label], field: str, reference: str
) -> list[str]:
    statement = select(model.id, model.name, model.name_key).join(
        Project, Project.id == model.project_id
    )
    statement = statement.where(Project.deleted_at.is_(None))
    statement = loaders.within_allowlist(actor, statement, Project.id)
    is_named = or_(model.name_key == _name_key(reference), model.id == as_uuid(reference))
    ids = [row.id for row in session.execute(statement.where(is_named))]
    if not ids:
        rows = session.execute(statement.order_by(model.name_key).limit(MAX_LISTED * 10)).all()
        alike = [row for row in rows if _letters(row.name) == _letters(reference)]
        if len({row.name_key for row in alike}) == 1:
            return [row.id for row in alike]
        raise _unknown(field, field, reference, dict.fromkeys(row.name for row in rows))
    return ids


def page(actor: Actor, reference: str, scope: str | None) -> str:
    """The slug or UUID of a page, or the id of the only page with this title in a scope.

    Raises InvalidField ``page`` for a title of several pages.
    """
    if slugs.is_slug(reference) or as_uuid(reference):
        return reference
    statement = select(WikiPage.id, WikiPage.slug).where(
        # Python and the database do not lower every letter alike.
        func.lower(WikiPage.title) == func.lower(_without_nul(reference)),
        WikiPage.deleted_at.is_(None),
        wiki.seen_by(actor),
    )
    if scope == wiki.GLOBAL:
        statement = statement.where(WikiPage.project_id.is_(None))
    elif scope is not None:
        in_scope = or_(WikiPage.project_id == scope, WikiPage.project_id.is_(None))
        statement = statement.where(in_scope)
    rows = session.execute(statement.order_by(WikiPage.slug).limit(MAX_LISTED)).all()
    if len(rows) > 1:
        error = InvalidField("page", "ambiguous")
        raise _with_valid(error, "page", reference, (row.slug for row in rows))
    return rows[0].id if rows else reference


def user_id(actor: Actor, reference: str, field: str) -> str:
    """The id of a user's username or UUID, or of ``me``; raises InvalidField."""
    if reference.lower() == ME:
        return actor.id
    identifier = as_uuid(reference)
    condition = (
        User.id == identifier if identifier else User.username == _without_nul(reference).lower()
    )
    user = session.scalars(select(User.id).where(condition)).first()
    if user is not None:
        return user
    names = session.scalars(
        select(User.username)
        .where(User.is_active)
        .order_by(User.type == UserType.BOT.value, User.username)
        .limit(MAX_LISTED)
    )
    raise _unknown(field, "user", reference, [ME, *names])


def user_id_or_none(actor: Actor, reference: str | None, field: str) -> str | None:
    """As ``user_id``; null and ``none`` mean nobody."""
    if reference is None or reference.lower() == NONE:
        return None
    return user_id(actor, reference, field)
