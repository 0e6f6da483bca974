"""Bot verbs: creating, changing and deactivating bots, and issuing and revoking their tokens.

Before a bot or its token changes, the writes it is making are waited for; later ones are judged
after the change (``accounts/credential_lock.py``).
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.accounts import credential_lock, names, tokens, user_refs
from app.accounts.builders import UserSummary, bot_json
from app.accounts.models import BotToken, User, UserType, Workspace
from app.audit.service import WORKSPACE_ID, Target, record
from app.bots import rules
from app.config import Settings
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.errors import Conflict, NotFound
from app.core.ids import as_uuid
from app.database.pagination import Page, page
from app.database.session import session
from app.database.versions import apply_changes, duplicate_is_conflict


@dataclass(frozen=True, slots=True)
class Pause:
    """Since when bots are paused, in milliseconds, and by whom (nobody: from the command line)."""

    since: int
    by: UserSummary | None


@operation(Access.HUMAN)
def current_pause(actor: Actor) -> Pause | None:
    """The pause that lasts, if there is one."""
    row = session.execute(
        select(Workspace.bots_paused_at, Workspace.bots_paused_by_user_id)
    ).first()
    if row is None or row.bots_paused_at is None:
        return None
    by = row.bots_paused_by_user_id
    return Pause(row.bots_paused_at, user_refs.summaries([by]).get(by) if by else None)


@operation(Access.HUMAN)
def pause_bots(actor: Actor) -> None:
    """Refuse every bot's writes from now on; paused already is no error."""
    _set(actor, now_ms(), "workspace.bots_paused")


@operation(Access.HUMAN)
def resume_bots(actor: Actor) -> None:
    """Let bots write again as their modes allow; not paused is no error."""
    _set(actor, None, "workspace.bots_resumed")


def _set(actor: Actor, since: int | None, event: str) -> None:
    for bot_id in session.scalars(
        select(User.id).where(User.type == UserType.BOT.value).order_by(User.id)
    ):
        credential_lock.lock_exclusive(bot_id)
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


# The names of the API, where the columns are called otherwise.
COLUMNS = {"mode": "bot_mode"}
API_NAMES = {column: name for name, column in COLUMNS.items()}


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot and its active token, if it has one."""

    user: User
    token: BotToken | None


@dataclass(frozen=True, slots=True)
class IssuedBot:
    """A bot with a token just issued; the plaintext is known nowhere else."""

    user: User
    token: BotToken
    plaintext: str


@operation(Access.HUMAN)
def list_bots(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """All bots, newest first, with the metadata of their active tokens."""

    def build(rows: Any) -> list[dict[str, Any]]:
        active = user_refs.active_tokens(row.User.id for row in rows)
        return [bot_json(row.User, active.get(row.User.id)) for row in rows]

    return page(
        select(User, User.id, User.created_at).where(User.type == UserType.BOT),
        kind="bot",
        sort=User.created_at,
        id_column=User.id,
        limit=limit,
        cursor=cursor,
        build=build,
    )


@operation(Access.HUMAN)
def get_bot(actor: Actor, bot_id: str) -> Bot:
    """One bot; raises NotFound, for a human's id too."""
    user = _of_path(bot_id)
    return Bot(user, _active_token(user))


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
    """Create a bot with its first token; what is left out comes from the settings of today.

    Raises InvalidField, and Conflict ``duplicate_key`` for a username that is or ever was in use.
    """
    username = names.new_username(username)
    shown = text.line(display_name, "display_name") if display_name is not None else username
    allowlist = rules.allowlist(project_ids or [])
    rate = settings.default_rate_limit_per_minute
    if rate_limit_per_minute is not None:
        rate = rules.rate(rate_limit_per_minute)
    global_wiki = settings.bot_can_edit_global_wiki_default
    if can_edit_global_wiki is not None:
        global_wiki = can_edit_global_wiki
    names.check_free(username)
    identifier = ids.new_id()
    created_at = ids.created_ms(identifier)
    user = User(
        id=identifier,
        type=UserType.BOT.value,
        username=username,
        display_name=shown,
        is_active=True,
        bot_mode=mode,
        project_ids=allowlist,
        can_edit_global_wiki=global_wiki,
        rate_limit_per_minute=rate,
        created_by_user_id=actor.id,
        created_at=created_at,
        updated_at=created_at,
    )
    session.add(user)
    with duplicate_is_conflict("username", f"The username {username} is in use."):
        session.flush()
    record(
        actor,
        "bot.created",
        _target(user),
        username=username,
        display_name=shown,
        mode=mode,
        project_ids=allowlist,
        can_edit_global_wiki=global_wiki,
    )
    token, plaintext = _issue(user)
    record(
        actor,
        "bot.token.created",
        _target(user),
        token_id=token.id,
        token_prefix=token.prefix,
    )
    return IssuedBot(user, token, plaintext)


@operation(Access.HUMAN)
def is_taken(actor: Actor, username: str) -> bool:
    """Whether a username is or ever was somebody's."""
    return session.scalar(select(User.id).where(User.username == username)) is not None


@operation(Access.HUMAN)
def update_bot(actor: Actor, /, bot_id: str, **fields: Any) -> Bot:
    """Change a bot; a new allowlist, mode or activity counts at once. Raises InvalidField."""
    user = _to_change(bot_id)
    if "display_name" in fields:
        fields["display_name"] = text.line(fields["display_name"], "display_name")
    if "project_ids" in fields:
        fields["project_ids"] = rules.new_allowlist(user, fields["project_ids"])
    if "rate_limit_per_minute" in fields:
        rules.rate(fields["rate_limit_per_minute"])
    changed = apply_changes(
        user, {COLUMNS.get(name, name): value for name, value in fields.items()}
    )
    if changed:
        session.flush()
        shown = {API_NAMES.get(column, column): diff for column, diff in changed.items()}
        record(actor, "bot.updated", _target(user), changes=shown)
    if "is_active" in changed:
        event = "bot.enabled" if user.is_active else "bot.disabled"
        record(actor, event, _target(user), username=user.username)
    return Bot(user, _active_token(user))


@operation(Access.HUMAN)
def delete_bot(actor: Actor, bot_id: str) -> None:
    """Deactivate a bot; its history and username stay. Again is no error."""
    user = _to_change(bot_id)
    if apply_changes(user, {"is_active": False}):
        session.flush()
        record(actor, "bot.disabled", _target(user), username=user.username)


@operation(Access.HUMAN)
def rotate_token(actor: Actor, bot_id: str) -> IssuedBot:
    """Issue a new token; the old one, if any, is dead at once. For an inactive bot too."""
    user = _to_change(bot_id)
    old = _active_token(user)
    if old is not None:
        old.is_active = False
        old.rotated_at = now_ms()
        # Before the insert: a bot has one active token.
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
    user = _to_change(bot_id)
    token = _active_token(user)
    if token is None:
        raise Conflict("invariant_violation", "The bot has no active token.")
    token.is_active = False
    token.revoked_at = now_ms()
    session.flush()
    record(
        actor,
        "bot.token.revoked",
        _target(user),
        token_id=token.id,
        token_prefix=token.prefix,
    )


def _target(user: User) -> Target:
    return Target("bot", user.id)


def _of_path(bot_id: str) -> User:
    canonical = as_uuid(bot_id)
    user = user_refs.find(canonical) if canonical else None
    if user is None or not user.is_bot:
        raise NotFound("bot", bot_id)
    return user


def _to_change(bot_id: str) -> User:
    """The bot, once the writes that it is making are done; new ones wait for this change."""
    user = _of_path(bot_id)
    credential_lock.lock_exclusive(user.id)
    session.refresh(user)
    return user


def _active_token(user: User) -> BotToken | None:
    return user_refs.active_tokens([user.id]).get(user.id)


def _issue(user: User) -> tuple[BotToken, str]:
    plaintext = tokens.new_bot_token()
    identifier = ids.new_id()
    token = BotToken(
        id=identifier,
        bot_user_id=user.id,
        prefix=tokens.lookup_prefix(plaintext),
        token_hash=tokens.hashed(plaintext),
        is_active=True,
        issued_at=ids.created_ms(identifier),
    )
    session.add(token)
    session.flush()
    return token, plaintext
