"""The verbs of connections, humans only, and the encryption of their secrets."""

import re
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from app.accounts import names
from app.accounts.models import BotMode, User
from app.audit.service import Target, record
from app.bots import service as bots
from app.config import Settings
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, iso_or_none
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.encryption import SecretColumn
from app.database.pagination import Page, page
from app.database.session import session
from app.database.versions import apply_changes, touch
from app.integrations import messages
from app.integrations.models import CodeConnection, CodeDelivery, Forge
from app.projects.models import WorkflowState

FORGE_NAMES = {
    Forge.GITHUB: "GitHub",
    Forge.GITLAB: "GitLab",
    Forge.GITEA: "Gitea",
    Forge.FORGEJO: "Forgejo",
}
MIN_SECRET_BYTES, MAX_SECRET_LENGTH = 16, 1024
MAX_INTEGRATIONS = 100
SECRETS = SecretColumn(CodeConnection, "integration")
_NOT_IN_USERNAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class OpenedConnection:
    """A connection and its secret, which is shown once."""

    connection: CodeConnection
    secret: str


def find(connection_id: str, *, lock: bool = False) -> CodeConnection:
    """The connection of this id; raises NotFound."""
    canonical = as_uuid(connection_id)
    found = (
        session.get(CodeConnection, canonical, with_for_update=lock or None) if canonical else None
    )
    if found is None:
        raise NotFound("integration", connection_id)
    return found


_LAST_DELIVERY = (
    select(func.max(CodeDelivery.created_at))
    .where(CodeDelivery.connection_id == CodeConnection.id)
    .correlate(CodeConnection)
    .scalar_subquery()
    .label("last_delivery_at")
)
SHOWN = select(
    CodeConnection,
    CodeConnection.id,
    CodeConnection.created_at,
    User.project_ids,
    _LAST_DELIVERY,
).join(User, User.id == CodeConnection.bot_user_id)


def described(connection: CodeConnection, base_url: str) -> dict[str, Any]:
    """The JSON of a connection."""
    return connection_json(
        session.execute(SHOWN.where(CodeConnection.id == connection.id)).one(), base_url
    )


def connection_json(row: Any, base_url: str) -> dict[str, Any]:
    """The JSON of a row of ``SHOWN``, without the secret."""
    connection: CodeConnection = row.CodeConnection
    return {
        "id": connection.id,
        "name": connection.name,
        "forge": connection.forge,
        "address": f"{base_url}/integrations/{connection.id}/events",
        "bot_user_id": connection.bot_user_id,
        "project_ids": row.project_ids or [],
        "on_merge": [
            {"project_id": project_id, "state_id": state_id}
            for project_id, state_id in sorted(connection.on_merge.items())
        ],
        "created_by_user_id": connection.created_by_user_id,
        "last_delivery_at": iso_or_none(row.last_delivery_at),
        "created_at": iso(connection.created_at),
        "updated_at": iso(connection.updated_at),
    }


def _target(connection_id: str) -> Target:
    return Target("integration", connection_id)


@operation(Access.HUMAN)
def list_connections(actor: Actor, *, base_url: str, limit: int, cursor: str | None) -> Page:
    return page(
        SHOWN,
        kind="integration",
        sort=CodeConnection.created_at,
        id_column=CodeConnection.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [connection_json(row, base_url) for row in rows],
    )


@operation(Access.HUMAN)
def get_connection(actor: Actor, connection_id: str) -> CodeConnection:
    return find(connection_id)


@operation(Access.HUMAN)
def create_connection(
    actor: Actor,
    *,
    name: str,
    forge: str,
    project_ids: list[str],
    settings: Settings,
    on_merge: list[dict[str, str]] | None = None,
    secret: str | None = None,
) -> OpenedConnection:
    """Connect a forge, with a bot of its own that may write in these projects.

    Raises InvalidField, and Conflict ``invariant_violation`` beyond 100 connections.
    """
    name = text.line(name, "name")
    secret = _secret(secret)
    if not project_ids:
        raise InvalidField("project_ids", "blank", messages.SELECT_A_PROJECT)
    if (session.scalar(select(func.count()).select_from(CodeConnection)) or 0) >= MAX_INTEGRATIONS:
        message = messages.too_many(MAX_INTEGRATIONS)
        raise Conflict("invariant_violation", message)
    bot = bots.create_bot(
        actor,
        username=_bot_username(name, Forge(forge)),
        mode=BotMode.WRITE.value,
        settings=settings,
        display_name=name,
        project_ids=project_ids,
        can_edit_global_wiki=False,
    ).user
    # It acts by what the forge delivers, not by a token.
    bots.revoke_token(actor, bot.id)
    moves = _moves(on_merge or [], bot.project_ids or [])
    identifier = ids.new_id()
    created_at = ids.created_ms(identifier)
    connection = CodeConnection(
        id=identifier,
        name=name,
        forge=forge,
        sealed_secret=SECRETS.encrypt(identifier, secret.encode()),
        bot_user_id=bot.id,
        on_merge=moves,
        created_by_user_id=actor.id,
        created_at=created_at,
        updated_at=created_at,
    )
    session.add(connection)
    session.flush()
    record(
        actor,
        "integration.created",
        _target(identifier),
        name=name,
        forge=forge,
        bot_user_id=bot.id,
        project_ids=bot.project_ids,
        on_merge=moves,
    )
    return OpenedConnection(connection, secret)


def _secret(given: str | None) -> str:
    """The given secret, or a new one; raises InvalidField."""
    if given is None:
        return secrets.token_urlsafe(32)
    text.checked(given, "secret", MAX_SECRET_LENGTH)
    if len(given.encode()) < MIN_SECRET_BYTES:
        message = messages.secret_too_short(MIN_SECRET_BYTES)
        raise InvalidField("secret", "too_short", message)
    return given


def _bot_username(name: str, forge: Forge) -> str:
    """A username made of the name, with a number if it is taken."""
    word = _NOT_IN_USERNAME.sub("-", name.casefold()).strip("-")[:40].strip("-")
    username = names.free_username(f"bot-{word or forge.value}")
    if username is None:
        raise InvalidField("name", "taken", messages.USE_ANOTHER_NAME)
    return username


def _moves(given: list[dict[str, str]], project_ids: list[str]) -> dict[str, str]:
    """The states by project, checked: each is one of a project of the connection."""
    moves: dict[str, str] = {}
    for one in given:
        project_id, state_id = one["project_id"], one["state_id"]
        if project_id in moves or (project_ids and project_id not in project_ids):
            message = messages.PROJECT_TWICE
            raise InvalidField("on_merge", "wrong_project", message)
        state = session.get(WorkflowState, state_id)
        if state is None or state.project_id != project_id:
            raise InvalidField("on_merge", "not_found", messages.UNKNOWN_STATE)
        moves[project_id] = state_id
    return moves


@operation(Access.HUMAN)
def update_connection(
    actor: Actor,
    /,
    connection_id: str,
    *,
    name: str | None = None,
    project_ids: list[str] | None = None,
    on_merge: list[dict[str, str]] | None = None,
) -> CodeConnection:
    """Change a connection and the projects of its bot.

    Deliveries that were accepted before are read again if they are sent again. Raises NotFound and
    InvalidField.
    """
    connection = find(connection_id, lock=True)
    bot = session.get_one(User, connection.bot_user_id)
    before = bot.project_ids or []
    if project_ids is not None:
        if not project_ids:
            raise InvalidField("project_ids", "blank", messages.SELECT_A_PROJECT)
        bots.update_bot(actor, bot.id, project_ids=project_ids)
    projects = bot.project_ids or []
    fields: dict[str, Any] = {}
    if name is not None:
        fields["name"] = text.line(name, "name")
        bots.update_bot(actor, bot.id, display_name=fields["name"])
    if on_merge is not None:
        fields["on_merge"] = _moves(on_merge, projects)
    elif projects:
        kept = {one: state for one, state in connection.on_merge.items() if one in projects}
        fields["on_merge"] = kept
    changed = apply_changes(connection, fields)
    if before != projects:
        changed["project_ids"] = {"from": before, "to": projects}
        if len(changed) == 1:
            touch(connection)
    if changed:
        session.flush()
        record(actor, "integration.updated", _target(connection.id), changes=changed)
    return connection


@operation(Access.HUMAN)
def rotate_secret(
    actor: Actor, connection_id: str, *, secret: str | None = None
) -> OpenedConnection:
    """Replace the secret at once, by the given one or a new one; raises NotFound, InvalidField."""
    connection = find(connection_id, lock=True)
    replacement = _secret(secret)
    connection.sealed_secret = SECRETS.encrypt(connection.id, replacement.encode())
    touch(connection)
    session.flush()
    record(actor, "integration.secret_rotated", _target(connection.id))
    return OpenedConnection(connection, replacement)


@operation(Access.HUMAN)
def delete_connection(actor: Actor, connection_id: str) -> None:
    """Delete a connection and deactivate its bot; links stay. Raises NotFound."""
    connection = find(connection_id, lock=True)
    bots.delete_bot(actor, connection.bot_user_id)
    session.delete(connection)
    session.flush()
    record(actor, "integration.deleted", _target(connection.id), name=connection.name)


@operation(Access.HUMAN)
def newest_deliveries(actor: Actor, connection_id: str, limit: int) -> list[CodeDelivery]:
    """What a connection delivered last, the newest first."""
    newest = (
        select(CodeDelivery)
        .where(CodeDelivery.connection_id == connection_id)
        .order_by(CodeDelivery.created_at.desc(), CodeDelivery.id.desc())
        .limit(limit)
    )
    return list(session.scalars(newest))
