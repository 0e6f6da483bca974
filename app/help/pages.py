"""The help pages, ``/llms.txt`` and the page of the design system."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Blueprint, Response, abort, current_app

from app.bots.clients import CLIENTS
from app.config import settings_at_hand
from app.help import samples
from app.mcp.registry import Catalog
from app.web.guard import public
from app.web.render import page

# Stands for a bot's token in addresses.
TOKEN = "<TOKEN>"  # noqa: S105 - a placeholder

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
    return page("help/index.html")


@pages.get("/help/shortcuts")
def shortcuts() -> Response:
    return page("help/shortcuts.html")


@pages.get("/help/agents")
def for_agents() -> Response:
    settings, catalog = settings_at_hand(), _catalog()
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
    settings = settings_at_hand()
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
            "Shell (MCP)",
            f"curl -s --json '{orjson.dumps(call).decode()}' \\\n  '{address}'",
        ),
        Recipe(
            "Shell (REST)",
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
Arguments with * are required. Every tool takes detail, lean or full.

## Prompts
"""
    for prompt in catalog.prompts.values():
        arguments = [Argument(name, is_required) for name, _, is_required in prompt.arguments]
        yield f"- {prompt.name}({_signature(arguments)}): {prompt.description}"
    yield f"""
## More

- [REST API, OpenAPI 3.1]({base_url}/api/v1/openapi.json)
- [Bots, for people]({base_url}/bots): create one, copy its address, pause all
- [This page, for people]({base_url}/help/agents)"""
