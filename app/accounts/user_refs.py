"""Finding the users that other domains refer to: owners, assignees, watchers, authors."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, bindparam, exists, or_, select

from app.accounts import credentials, messages
from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import BotToken, ProviderIdentity, User
from app.core.actor import Actor
from app.core.errors import Conflict, InvalidField, NotFound
from app.database.session import Prepared, by_id, session
from app.database.sql_functions import position_in_any_case


def find(user_id: str) -> User | None:
    """The user with this id, of any kind and state; None also for text that is not an id."""
    return by_id(User, user_id)


def find_human(user_id: str) -> User:
    """The human with this id, in any state; raises NotFound, for bots too."""
    user = find(user_id)
    if user is None or user.is_bot:
        raise NotFound("user", user_id)
    return user


def lock_another_human(actor: Actor, user_id: str, message: str) -> User:
    """Another human, whose credentials are locked to change them.

    Raises NotFound (bots too), Conflict ``invariant_violation`` with the message for the actor.
    """
    user = find_human(user_id)
    if user.id == actor.user_id:
        raise Conflict("invariant_violation", message)
    credentials.lock_exclusive(user.id)
    return user


def can_log_in() -> ColumnElement[bool]:
    """Whether a person has a password or an account at the provider."""
    has_identity = exists().where(ProviderIdentity.user_id == User.id)
    return or_(User.password_hash.is_not(None), has_identity)


def linked_logins(user_ids: Iterable[str]) -> dict[str, list[str]]:
    """The names of the accounts at the provider that log these people in, by the id of a person."""
    found: dict[str, list[str]] = {}
    rows = session.execute(
        select(ProviderIdentity.user_id, ProviderIdentity.name)
        .where(ProviderIdentity.user_id.in_(list(user_ids)))
        .order_by(ProviderIdentity.id)
    )
    for row in rows:
        found.setdefault(row.user_id, []).append(row.name)
    return found


def active_human(user_id: str, field: str) -> User:
    """The active human that a request names in ``field``; raises InvalidField."""
    user = find(user_id)
    if user is None or user.is_bot or not user.is_active:
        raise InvalidField(field, "not_found", messages.not_an_active_human(field))
    return user


def active_in_project(user_id: str, project_id: str, field: str) -> User:
    """An active user, named by a request, who may see the project; raises InvalidField."""
    user = find(user_id)
    if user is None or not user.is_active:
        raise InvalidField(field, "not_found", messages.not_an_active_user(field))
    if user.is_bot and user.project_ids and project_id not in user.project_ids:
        raise InvalidField(field, "project_not_in_allowlist", messages.cannot_see_project(field))
    return user


_SUMMARIES = Prepared(
    select(User.id, User.type, User.username, User.display_name).where(
        User.id.in_(bindparam("ids", expanding=True))
    ),
    planned_once=True,
)


def summaries(user_ids: Iterable[str | None]) -> dict[str, UserSummary]:
    """The summaries of these users, by id, in one query."""
    known = {user_id for user_id in user_ids if user_id is not None}
    rows = _SUMMARIES.all(ids=list(known)) if known else []
    return {row.id: user_summary(row.id, row.type, row.username, row.display_name) for row in rows}


def name_of(user_id: str) -> str:
    """The display name of a user for messages."""
    return summaries([user_id])[user_id]["display_name"]


def active_tokens(bot_ids: Iterable[str]) -> dict[str, BotToken]:
    """The active tokens of these bots, by the bot's id, in one query."""
    known = set(bot_ids)
    if not known:
        return {}
    rows = session.scalars(
        select(BotToken).where(BotToken.bot_user_id.in_(known), BotToken.is_active)
    )
    return {token.bot_user_id: token for token in rows}


def active_token(user: User) -> BotToken | None:
    """The active token of a bot; None for a human too."""
    return active_tokens([user.id]).get(user.id)


def named_like(typed: str, project_id: str, limit: int) -> list[dict[str, Any]]:
    """Active users who may see the project and whose username or display name contains the text.

    Usernames that begin with it come first, then people before bots.
    """
    typed = typed.strip()
    query = typed.lower()
    rows = session.execute(
        select(User.username, User.display_name, User.type, User.project_ids)
        .where(
            User.is_active,
            or_(
                User.username.contains(query, autoescape=True),
                position_in_any_case(User.display_name, typed) > 0,
            ),
        )
        .order_by(User.username.startswith(query, autoescape=True).desc())
        .order_by(User.type.desc(), User.username)
    )
    allowed = (row for row in rows if not row.project_ids or project_id in row.project_ids)
    return [
        {"username": row.username, "display_name": row.display_name, "type": row.type}
        for row in islice(allowed, limit)
    ]
