"""get_self: who the bot is."""

from typing import Any

from app.accounts.models import BotMode
from app.core.actor import Access, Actor, operation
from app.mcp.registry import Toolbox, ToolCall

toolbox = Toolbox()


@operation(Access.READ)
def own_identity(actor: Actor) -> dict[str, Any]:
    """The bot itself."""
    return {
        "user_id": actor.id,
        "username": actor.username,
        "display_name": actor.display_name,
        "mode": (BotMode.WRITE if actor.may_write else BotMode.READ).value,
        "project_allowlist": sorted(actor.allowlist),
    }


@toolbox.tool("get_self", "Who am I", calls=own_identity)
def get_self(call: ToolCall) -> dict[str, Any]:
    """Call this first: your username, mode (read or write) and project allowlist (empty means all
    projects). Then list_projects.
    """
    return own_identity(call.actor)
