"""The JSON of users."""

from typing import Any, TypedDict

from app.accounts.models import BotToken, User
from app.core.clock import iso, iso_or_none


class UserSummary(TypedDict):
    """A user where another resource names one."""

    id: str
    type: str
    username: str
    display_name: str


def user_summary(identifier: str, kind: str, username: str, display_name: str) -> UserSummary:
    return {"id": identifier, "type": kind, "username": username, "display_name": display_name}


def human_json(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "type": user.type,
        "username": user.username,
        "display_name": user.display_name,
        "email": user.email,
        "email_confirmed": user.email_confirmed_at is not None,
        "is_active": user.is_active,
        "created_at": iso(user.created_at),
        "updated_at": iso(user.updated_at),
    }


def _token_json(token: BotToken | None) -> dict[str, Any] | None:
    if token is None:
        return None
    return {
        "id": token.id,
        "prefix": token.prefix,
        "issued_at": iso(token.issued_at),
        "rotated_at": iso_or_none(token.rotated_at),
        "revoked_at": iso_or_none(token.revoked_at),
        "last_used_at": iso_or_none(token.last_used_at),
    }


def bot_json(user: User, token: BotToken | None) -> dict[str, Any]:
    return {
        "id": user.id,
        "type": user.type,
        "username": user.username,
        "display_name": user.display_name,
        "mode": user.bot_mode,
        "project_ids": user.project_ids or [],
        "can_edit_global_wiki": bool(user.can_edit_global_wiki),
        "rate_limit_per_minute": user.rate_limit_per_minute,
        "is_active": user.is_active,
        "is_paused": user.is_paused,
        "active_token": _token_json(token),
        "created_by_user_id": user.created_by_user_id,
        "created_at": iso(user.created_at),
        "updated_at": iso(user.updated_at),
    }


def user_json(user: User, token: BotToken | None = None) -> dict[str, Any]:
    return bot_json(user, token) if user.is_bot else human_json(user)
