"""get_self: who the bot is."""

from typing import Any

from app.accounts.models import BotMode, User
from app.core.actor import Access, Actor, operation
from app.core.db import session
from app.mcp.registry import Toolbox, ToolCall

toolbox = Toolbox()


@operation(Access.READ)
def own_identity(actor: Actor) -> dict[str, Any]:
    """The bot itself (interface.md, get_self result)."""
    user = session.get_one(User, actor.id)
    return {
        "user_id": user.id,
        "username": user.username,
        "display_name": user.display_name,
        "mode": user.bot_mode or BotMode.READ.value,
        "project_allowlist": sorted(user.project_ids or ()),
    }


@toolbox.tool("get_self", "Who am I", calls=own_identity)
def get_self(call: ToolCall) -> dict[str, Any]:
    """Call this first: your username, mode (read or write) and project allowlist (empty means all
    projects). Then list_projects.
    """
    return own_identity(call.actor)
