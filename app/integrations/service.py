"""The verbs of integrations, humans only, and the encryption of their secrets."""

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
from app.integrations.models import CodeDelivery, Forge, Integration
from app.projects.models import WorkflowState

FORGE_NAMES = {
    Forge.GITHUB: "GitHub",
    Forge.GITLAB: "GitLab",
    Forge.GITEA: "Gitea",
    Forge.FORGEJO: "Forgejo",
}
MIN_SECRET_BYTES, MAX_SECRET_LENGTH = 16, 1024
MAX_INTEGRATIONS = 100
SECRETS = SecretColumn(Integration, "integration")
_NOT_IN_USERNAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class OpenedIntegration:
    """An integration and its secret, which is shown once."""

    integration: Integration
    secret: str


def find(integration_id: str, *, lock: bool = False) -> Integration:
    """The integration with this id; raises NotFound."""
    canonical = as_uuid(integration_id)
    found = session.get(Integration, canonical, with_for_update=lock or None) if canonical else None
    if found is None:
        raise NotFound("integration", integration_id)
    return found


_LAST_DELIVERY = (
    select(func.max(CodeDelivery.created_at))
    .where(CodeDelivery.connection_id == Integration.id)
    .correlate(Integration)
    .scalar_subquery()
    .label("last_delivery_at")
)
SHOWN = select(
    Integration,
    Integration.id,
    Integration.created_at,
    User.project_ids,
    _LAST_DELIVERY,
).join(User, User.id == Integration.bot_user_id)


def described(integration: Integration, base_url: str) -> dict[str, Any]:
    """The JSON of an integration."""
    return integration_json(
        session.execute(SHOWN.where(Integration.id == integration.id)).one(), base_url
    )


def integration_json(row: Any, base_url: str) -> dict[str, Any]:
    """The JSON of a row of ``SHOWN``, without the secret."""
    integration: Integration = row.Integration
    return {
        "id": integration.id,
        "name": integration.name,
        "forge": integration.forge,
        "address": f"{base_url}/integrations/{integration.id}/events",
        "bot_user_id": integration.bot_user_id,
        "project_ids": row.project_ids or [],
        "on_merge": [
            {"project_id": project_id, "state_id": state_id}
            for project_id, state_id in sorted(integration.on_merge.items())
        ],
        "created_by_user_id": integration.created_by_user_id,
        "last_delivery_at": iso_or_none(row.last_delivery_at),
        "created_at": iso(integration.created_at),
        "updated_at": iso(integration.updated_at),
    }


def _target(integration_id: str) -> Target:
    return Target("integration", integration_id)


@operation(Access.HUMAN)
def list_integrations(actor: Actor, *, base_url: str, limit: int, cursor: str | None) -> Page:
    return page(
        SHOWN,
        kind="integration",
        sort=Integration.created_at,
        id_column=Integration.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [integration_json(row, base_url) for row in rows],
    )


@operation(Access.HUMAN)
def get_integration(actor: Actor, integration_id: str) -> Integration:
    return find(integration_id)


@operation(Access.HUMAN)
def create_integration(
    actor: Actor,
    *,
    name: str,
    forge: str,
    project_ids: list[str],
    settings: Settings,
    on_merge: list[dict[str, str]] | None = None,
    secret: str | None = None,
) -> OpenedIntegration:
    """Connect a code host, with its own bot that may write in these projects.

    Raises InvalidField, and Conflict ``invariant_violation`` beyond 100 integrations.
    """
    name = text.line(name, "name")
    secret = _secret(secret)
    if not project_ids:
        raise InvalidField("project_ids", "blank", messages.SELECT_A_PROJECT)
    if (session.scalar(select(func.count()).select_from(Integration)) or 0) >= MAX_INTEGRATIONS:
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
    # The bot acts on deliveries, not by a token.
    bots.revoke_token(actor, bot.id)
    moves = _moves(on_merge or [], bot.project_ids or [])
    identifier = ids.new_id()
    created_at = ids.created_ms(identifier)
    integration = Integration(
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
    session.add(integration)
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
    return OpenedIntegration(integration, secret)


def _secret(given: str | None) -> str:
    """The given secret, or a new one; raises InvalidField."""
    if given is None:
        return secrets.token_urlsafe(32)
    text.checked(given, "secret", MAX_SECRET_LENGTH)
    if len(given.encode()) < MIN_SECRET_BYTES:
        message = messages.secret_too_short(MIN_SECRET_BYTES)
        raise InvalidField("secret", "too_short", message)
    # GitLab sends the secret in a header, which cannot hold this. Others would have pasted it so.
    if not given.isprintable() or given != given.strip():
        raise InvalidField("secret", "pattern", messages.SECRET_NOT_PRINTABLE)
    return given


def _bot_username(name: str, forge: Forge) -> str:
    """A username made from the name, with a number if it is taken."""
    word = _NOT_IN_USERNAME.sub("-", name.casefold()).strip("-")[:40].strip("-")
    username = names.free_username(f"bot-{word or forge.value}")
    if username is None:
        raise InvalidField("name", "taken", messages.USE_ANOTHER_NAME)
    return username


def _moves(given: list[dict[str, str]], project_ids: list[str]) -> dict[str, str]:
    """The checked states by project: each belongs to a project of the integration."""
    moves: dict[str, str] = {}
    for one in given:
        project_id, state_id = one["project_id"], one["state_id"]
        if project_id in moves:
            raise InvalidField("on_merge", "wrong_project", messages.PROJECT_TWICE)
        if project_ids and project_id not in project_ids:
            raise InvalidField("on_merge", "wrong_project", messages.OTHER_PROJECT)
        state = session.get(WorkflowState, state_id)
        if state is None or state.project_id != project_id:
            raise InvalidField("on_merge", "not_found", messages.UNKNOWN_STATE)
        moves[project_id] = state_id
    return moves


@operation(Access.HUMAN)
def update_integration(
    actor: Actor,
    /,
    integration_id: str,
    *,
    name: str | None = None,
    project_ids: list[str] | None = None,
    on_merge: list[dict[str, str]] | None = None,
) -> Integration:
    """Change an integration and the projects of its bot.

    Earlier deliveries are applied again if they are resent. Raises NotFound and InvalidField.
    """
    integration = find(integration_id, lock=True)
    bot = session.get_one(User, integration.bot_user_id)
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
        kept = {one: state for one, state in integration.on_merge.items() if one in projects}
        fields["on_merge"] = kept
    changed = apply_changes(integration, fields)
    if before != projects:
        changed["project_ids"] = {"from": before, "to": projects}
        if len(changed) == 1:
            touch(integration)
    if changed:
        session.flush()
        record(actor, "integration.updated", _target(integration.id), changes=changed)
    return integration


@operation(Access.HUMAN)
def rotate_secret(
    actor: Actor, integration_id: str, *, secret: str | None = None
) -> OpenedIntegration:
    """Replace the secret at once, with the given or a new one; raises NotFound, InvalidField."""
    integration = find(integration_id, lock=True)
    replacement = _secret(secret)
    integration.sealed_secret = SECRETS.encrypt(integration.id, replacement.encode())
    touch(integration)
    session.flush()
    record(actor, "integration.secret_rotated", _target(integration.id))
    return OpenedIntegration(integration, replacement)


@operation(Access.HUMAN)
def delete_integration(actor: Actor, integration_id: str) -> None:
    """Delete an integration and deactivate its bot; links stay. Raises NotFound."""
    integration = find(integration_id, lock=True)
    bots.delete_bot(actor, integration.bot_user_id)
    session.delete(integration)
    session.flush()
    record(actor, "integration.deleted", _target(integration.id), name=integration.name)


@operation(Access.HUMAN)
def newest_deliveries(actor: Actor, integration_id: str, limit: int) -> list[CodeDelivery]:
    """The latest deliveries of an integration, newest first."""
    newest = (
        select(CodeDelivery)
        .where(CodeDelivery.connection_id == integration_id)
        .order_by(CodeDelivery.created_at.desc(), CodeDelivery.id.desc())
        .limit(limit)
    )
    return list(session.scalars(newest))
