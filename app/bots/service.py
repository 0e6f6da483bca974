"""Verbs of bots: their rights, their allowlists, their tokens, and pausing all of them.

A change of a bot or its token waits for the bot's current writes; later writes resolve the
changed credential (``accounts/credentials.py``).
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.accounts import credentials, names, user_refs
from app.accounts.builders import UserSummary
from app.accounts.models import BotToken, User, UserType, Workspace
from app.accounts.users import insert_user, with_tokens
from app.audit.service import WORKSPACE_ID, Target, record
from app.bots import messages, rules
from app.config import Settings
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.errors import Conflict, NotFound
from app.database.pagination import Page, page
from app.database.session import session
from app.database.versions import apply_changes
from app.projects import loaders

# Columns whose name in the API differs.
COLUMNS = {"mode": "bot_mode"}
API_NAMES = {column: name for name, column in COLUMNS.items()}


@dataclass(frozen=True, slots=True)
class Bot:
    user: User
    token: BotToken | None


@dataclass(frozen=True, slots=True)
class IssuedBot:
    """A bot with a new token; the plaintext is stored nowhere."""

    user: User
    token: BotToken
    plaintext: str


@dataclass(frozen=True, slots=True)
class Pause:
    """When bots were paused (ms), and by whom (None: from the command line)."""

    since: int
    by: UserSummary | None


@operation(Access.HUMAN)
def current_pause(actor: Actor) -> Pause | None:
    """The pause of all bots, if they are paused."""
    row = session.execute(
        select(Workspace.bots_paused_at, Workspace.bots_paused_by_user_id)
    ).first()
    if row is None or row.bots_paused_at is None:
        return None
    by = row.bots_paused_by_user_id
    return Pause(row.bots_paused_at, user_refs.summaries([by]).get(by) if by else None)


@operation(Access.HUMAN)
def pause_bots(actor: Actor) -> None:
    """Refuse every bot's writes; no error if they are already paused."""
    _set_pause(actor, now_ms(), "workspace.bots_paused")


@operation(Access.HUMAN)
def resume_bots(actor: Actor) -> None:
    """Let bots write again as their modes allow; no error if they are not paused."""
    _set_pause(actor, None, "workspace.bots_resumed")


def _set_pause(actor: Actor, since: int | None, event: str) -> None:
    for bot_id in session.scalars(
        select(User.id).where(User.type == UserType.BOT.value).order_by(User.id)
    ):
        credentials.lock_exclusive(bot_id)
    workspace = session.get(Workspace, WORKSPACE_ID, with_for_update=True)
    if workspace is None:
        workspace = Workspace(id=WORKSPACE_ID)
        session.add(workspace)
    if (workspace.bots_paused_at is None) == (since is None):
        return
    workspace.bots_paused_at = since
    workspace.bots_paused_by_user_id = actor.user_id if since is not None else None
    session.flush()
    record(actor, event, Target("workspace", WORKSPACE_ID))


@operation(Access.HUMAN)
def list_bots(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """All bots, newest first, with the metadata of their active tokens."""
    return page(
        select(User, User.id, User.created_at).where(User.type == UserType.BOT),
        kind="bot",
        sort=User.created_at,
        id_column=User.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: with_tokens(row.User for row in rows),
    )


@operation(Access.HUMAN)
def get_bot(actor: Actor, bot_id: str) -> Bot:
    """One bot; raises NotFound, for a human's id too."""
    user = _find(bot_id)
    return Bot(user, user_refs.active_token(user))


@operation(Access.HUMAN)
def create_bot(
    actor: Actor,
    *,
    username: str,
    mode: str,
    settings: Settings,
    display_name: str | None = None,
    project_ids: list[str] | None = None,
    can_edit_global_wiki: bool | None = None,
    rate_limit_per_minute: int | None = None,
) -> IssuedBot:
    """Create a bot with its first token; absent arguments have defaults from the settings.

    Raises InvalidField, and Conflict ``duplicate_key`` for a username that is taken.
    """
    username = names.new_username(username)
    display_name = names.new_display_name(display_name, username)
    allowlist = loaders.listed_projects(project_ids or [])
    if rate_limit_per_minute is None:
        rate_limit_per_minute = settings.default_rate_limit_per_minute
    else:
        rules.check_rate(rate_limit_per_minute)
    if can_edit_global_wiki is None:
        can_edit_global_wiki = settings.bot_can_edit_global_wiki_default
    user = insert_user(
        UserType.BOT,
        username,
        display_name,
        bot_mode=mode,
        project_ids=allowlist,
        can_edit_global_wiki=can_edit_global_wiki,
        rate_limit_per_minute=rate_limit_per_minute,
        created_by_user_id=actor.id,
    )
    record(
        actor,
        "bot.created",
        _target(user),
        username=username,
        display_name=display_name,
        mode=mode,
        project_ids=allowlist,
        can_edit_global_wiki=can_edit_global_wiki,
    )
    token, plaintext = _issue(user)
    record(actor, "bot.token.created", _target(user), token_id=token.id, token_prefix=token.prefix)
    return IssuedBot(user, token, plaintext)


@operation(Access.HUMAN)
def is_taken(actor: Actor, username: str) -> bool:
    """Whether a user of either kind has this username; deactivated users keep theirs."""
    return names.is_taken(username)


@operation(Access.HUMAN)
def update_bot(actor: Actor, /, bot_id: str, **fields: Any) -> Bot:
    """Change a bot; a new allowlist, mode, pause or activity is effective at once.

    Raises InvalidField.
    """
    user = locked(bot_id)
    if "display_name" in fields:
        fields["display_name"] = text.line(fields["display_name"], "display_name")
    if "project_ids" in fields:
        fields["project_ids"] = rules.new_allowlist(user, fields["project_ids"])
    if "rate_limit_per_minute" in fields:
        rules.check_rate(fields["rate_limit_per_minute"])
    if user.is_paused and fields.get("is_paused") is False:
        # Tickets that it created before this no longer count (tickets/runaways.py).
        user.resumed_at = now_ms()
    changed = apply_changes(
        user, {COLUMNS.get(name, name): value for name, value in fields.items()}
    )
    if changed:
        session.flush()
        changes = {API_NAMES.get(column, column): diff for column, diff in changed.items()}
        record(actor, "bot.updated", _target(user), changes=changes)
    if "is_active" in changed:
        event = "bot.enabled" if user.is_active else "bot.disabled"
        record(actor, event, _target(user), username=user.username)
    if "is_paused" in changed:
        event = "bot.paused" if user.is_paused else "bot.resumed"
        record(actor, event, _target(user), username=user.username)
    return Bot(user, user_refs.active_token(user))


@operation(Access.HUMAN)
def let_in(actor: Actor, bot_id: str, project_id: str) -> None:
    """Add a project to a bot's allowlist; an empty one admits every project and stays empty.

    Raises NotFound, Gone, and InvalidField where the list is full.
    """
    project = loaders.visible(actor, project_id)
    allowlist = locked(bot_id).project_ids
    if allowlist:
        update_bot(actor, bot_id, project_ids=[*allowlist, project.id])


@operation(Access.HUMAN)
def shut_out(actor: Actor, bot_id: str, project_id: str) -> None:
    """Take a project off a bot's allowlist, if it is on it.

    An empty list admits every project, so the last one stays: raises Conflict
    ``invariant_violation``, also for a bot with an empty list. Raises NotFound and Gone.
    """
    project = loaders.visible(actor, project_id)
    allowlist = locked(bot_id).project_ids or []
    remaining = [listed_id for listed_id in allowlist if listed_id != project.id]
    if not remaining:
        raise Conflict(
            "invariant_violation",
            messages.ONLY_PROJECT,
        )
    update_bot(actor, bot_id, project_ids=remaining)


@operation(Access.HUMAN)
def delete_bot(actor: Actor, bot_id: str) -> None:
    """Deactivate a bot, if it is active; its history and username stay."""
    user = locked(bot_id)
    if apply_changes(user, {"is_active": False}):
        session.flush()
        record(actor, "bot.disabled", _target(user), username=user.username)


@operation(Access.HUMAN)
def rotate_token(actor: Actor, bot_id: str) -> IssuedBot:
    """Issue a new token, also to an inactive bot; the old one, if any, stops working at once."""
    user = locked(bot_id)
    old = user_refs.active_token(user)
    if old is not None:
        old.is_active = False
        old.rotated_at = now_ms()
        # A unique index allows one active token, so flush this before the insert.
        session.flush()
    token, plaintext = _issue(user)
    record(
        actor,
        "bot.token.rotated",
        _target(user),
        old_token_id=old.id if old is not None else None,
        new_token_id=token.id,
        token_prefix=token.prefix,
    )
    return IssuedBot(user, token, plaintext)


@operation(Access.HUMAN)
def revoke_token(actor: Actor, bot_id: str) -> None:
    """Revoke the active token and issue none; raises Conflict ``invariant_violation``."""
    user = locked(bot_id)
    token = user_refs.active_token(user)
    if token is None:
        raise Conflict("invariant_violation", messages.NO_ACTIVE_TOKEN)
    token.is_active = False
    token.revoked_at = now_ms()
    session.flush()
    record(actor, "bot.token.revoked", _target(user), token_id=token.id, token_prefix=token.prefix)


def _target(user: User) -> Target:
    return Target("bot", user.id)


def _find(bot_id: str) -> User:
    user = user_refs.find(bot_id)
    if user is None or not user.is_bot:
        raise NotFound("bot", bot_id)
    return user


def locked(bot_id: str) -> User:
    """The bot, once its current writes are done; new ones wait for this transaction."""
    user = _find(bot_id)
    credentials.lock_exclusive(user.id)
    session.refresh(user)
    return user


def _issue(user: User) -> tuple[BotToken, str]:
    plaintext = credentials.new_bot_token()
    identifier = ids.new_id()
    token = BotToken(
        id=identifier,
        bot_user_id=user.id,
        prefix=credentials.lookup_prefix(plaintext),
        token_hash=credentials.hashed(plaintext),
        is_active=True,
        issued_at=ids.created_ms(identifier),
    )
    session.add(token)
    session.flush()
    return token, plaintext
