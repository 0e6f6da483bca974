"""The help pages, ``/llms.txt`` and the page of the design system."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Blueprint, Response, abort, current_app

from app.bots.clients import CLIENTS
from app.help import messages, samples
from app.http.current import current_settings
from app.mcp.registry import Catalog
from app.web.guard import public
from app.web.render import page

# Stands for a bot's token in addresses.
TOKEN = "<TOKEN>"  # noqa: S105 - a placeholder

# What an agent that only has ``/llms.txt`` cannot guess from the names of tools and arguments.
DETAILS = """\
- Ready is an open story or subtask that nobody is assigned to and no open ticket blocks. `next`
  takes the first by rank, then age, and no two bots get the same. If nothing is ready, the result
  has `retry_after_seconds`.
- `relations` are `[{"type": "blocks", "target": "OPS-3"}]`. Each ticket of `children` has a title
  and, optionally, body, priority, state, assignee, labels, due_date and relations; the target
  `children[1]` is the second child. The result lists open tickets with a similar title as
  `similar`.
- list_tickets: `priority` and `labels` take several. `sort` is created, updated, active, rank, due
  or priority. `count_by` state, type, priority, assignee or label returns numbers only, `limit` 0
  the total. `stalled` finds tickets whose bot is silent: take one over with `expected_assignee`,
  its name.
- search and `q` match all words, or any word if nothing matches all (`matched`: any).
- get_ticket with `history` has the changes after `since`, with old and new values. get_wiki_page
  with `revision` has an old text.
- Writes return `event_ids`. Give one of them as `undo` to update_ticket, update_comment or
  update_wiki_page to take your change back. delete_ticket with `restore` takes your deletion back.
- `unread` in the result of a write: what others did on that ticket since you last read it.
- get_self returns each of the `news` once; `since` (a time, a date or `news_cursor`) repeats them.
  With `wait` (1 to 25 seconds) it answers as soon as there are some. If it could not wait, it says
  `waited` false and `retry_after_seconds`.
- Saving a page returns its `broken_links`.
- Also understood, where only one thing can be meant: ops-17, 17 with `project`, an address that
  was copied from the browser, a page's title, todo for To do, a date for its midnight in UTC.
- A call's `_meta` may have `traceparent`, and `usage` with `input_tokens`, `output_tokens` and
  `cost_usd`, which are added up for the ticket and for you."""

pages = Blueprint("help_pages", __name__)


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class ToolHelp:
    name: str
    description: str
    writes: bool
    arguments: tuple[Argument, ...]


@pages.get("/help")
def index() -> Response:
    return page("help/index.html", version=current_settings().version)


@pages.get("/help/shortcuts")
def shortcuts() -> Response:
    return page("help/shortcuts.html")


@pages.get("/help/agents")
def for_agents() -> Response:
    settings, catalog = current_settings(), _catalog()
    return page(
        "help/agents.html",
        address=_mcp_address(settings.base_url),
        recipes=_recipes(settings.base_url, settings.service_name),
        tools=_tools(catalog),
        instructions=catalog.instructions,
    )


@pages.get("/llms.txt")
@public()
def llms() -> Response:
    """The page for agents as Markdown (llmstxt.org), without a login.

    Like the OpenAPI document it describes the program and names its address, and holds no data.
    """
    settings = current_settings()
    lines = _llms_lines(_catalog(), settings.base_url, settings.app_name, settings.service_name)
    return Response("\n".join(lines) + "\n", mimetype="text/plain")


@pages.get("/design")
def design() -> Response:
    """Every token and component in its states, in development and tests only."""
    if not (current_app.debug or current_app.testing):
        abort(404)
    return page("help/design.html", **samples.everything())


def _catalog() -> Catalog:
    catalog: Catalog = current_app.config["TOOLS"]
    return catalog


def _mcp_address(base_url: str) -> str:
    return f"{base_url}/mcp/bot/{TOKEN}/mcp"


def _recipes(base_url: str, name: str) -> list[Recipe]:
    """Configurations for every known client, and commands for a shell."""
    address = _mcp_address(base_url)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_self"}}
    return [
        *(Recipe(client.label, client.text(address, name)) for client in CLIENTS),
        Recipe(
            messages.SHELL_MCP,
            f"curl -s --json '{orjson.dumps(call).decode()}' \\\n  '{address}'",
        ),
        Recipe(
            messages.SHELL_REST,
            f"curl -s -H 'X-API-Key: {TOKEN}' {base_url}/api/v1/auth/me",
        ),
    ]


def _tools(catalog: Catalog) -> list[ToolHelp]:
    return [_tool(listing) for listing in catalog.tools_listing]


def _tool(listing: dict[str, Any]) -> ToolHelp:
    schema = listing["inputSchema"]
    required = set(schema.get("required", ()))
    return ToolHelp(
        listing["name"],
        listing["description"],
        not listing["annotations"]["readOnlyHint"],
        tuple(Argument(name, name in required) for name in schema.get("properties", {})),
    )


def _signature(arguments: Iterable[Argument]) -> str:
    return ", ".join(f"{one.name}*" if one.is_required else one.name for one in arguments)


def _llms_lines(catalog: Catalog, base_url: str, title: str, name: str) -> Iterator[str]:
    yield f"""\
# {title}

> A ticket tracker and wiki where people and bots work together.

Bots connect over MCP at {_mcp_address(base_url)} and over REST at {base_url}/api/v1,
with a token that a person creates on the Bots page. The address contains the token:
anyone who has it can act as the bot. Nothing can be read without a token.

## Instructions for agents

{catalog.instructions}

## Connect"""
    for recipe in _recipes(base_url, name):
        yield f"\n{recipe.name}:\n"
        yield from (f"    {line}" for line in recipe.text.splitlines())
    yield "\n## Tools\n"
    for tool in _tools(catalog):
        kind = "writes" if tool.writes else "reads"
        yield f"- {tool.name}({_signature(tool.arguments)}): {kind}. {tool.description}"
    yield """
Arguments with * are required. Every tool accepts detail: lean or full.
"""
    yield f"## Details\n\n{DETAILS}\n\n## Prompts\n"
    for prompt in catalog.prompts.values():
        arguments = [Argument(name, is_required) for name, _, is_required in prompt.arguments]
        yield f"- {prompt.name}({_signature(arguments)}): {prompt.description}"
    yield f"""
## More

- [REST API, OpenAPI 3.1]({base_url}/api/v1/openapi.json)
- [Bots, for people]({base_url}/bots): create one, copy its address, pause all
- [This page, for people]({base_url}/help/agents)"""
