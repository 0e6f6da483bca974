"""The tool search."""

from typing import Any

from app.mcp.jsonrpc import rows
from app.mcp.parameters import PAGE, choice, line
from app.mcp.registry import Toolbox, ToolCall
from app.search import service
from app.tools import lean, naming
from app.tools.naming import PROJECT

toolbox = Toolbox()


@toolbox.tool(
    "search",
    "Search",
    calls=service.query,
    shorten=lean.search_rows,
    parameters=(
        line("q", 'Words, "a phrase", -without.', required=True),
        choice("type", ("ticket", "wiki_page"), "Only these."),
        PROJECT,
        *PAGE,
    ),
)
def search(call: ToolCall) -> dict[str, Any]:
    """Full-text search over tickets, their comments and wiki pages, the best first. If nothing has
    all words, it finds any of them (matched: any).
    """
    project_id = None
    if call["project"] is not None:
        project_id = naming.project_id(call.actor, call["project"])
    collection = service.query(
        call.actor,
        q=call["q"],
        type=call["type"],
        project_id=project_id,
        match=service.Match.ANY,
        **call.window,
    )
    return rows(collection)
