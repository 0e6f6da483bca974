"""What the endpoint is given from above: who calls, and what there is."""

from collections.abc import Callable
from dataclasses import dataclass, field

from app.core.actor import Actor
from app.database.group_commit import Gathering
from app.mcp import tool_log
from app.mcp.registry import Catalog


@dataclass(frozen=True, slots=True)
class Door:
    """How the endpoint knows its callers and its tools."""

    # In a unit of work: the bot of this token; raises InvalidCredentials.
    resolve: Callable[[str], Actor]
    catalog: Catalog
    # ``name``, ``title`` and ``version``, as the handshake tells them.
    server: dict[str, str]
    # Where calls are written down.
    calls: Gathering[tool_log.Entry] = field(default_factory=tool_log.gathering)
