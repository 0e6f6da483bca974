"""Pages of the help, and what agents read of it."""

from collections.abc import Iterator
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

# Where a bot's own token goes; nothing here knows one.
TOKEN = "<TOKEN>"  # noqa: S105 - a placeholder


@dataclass(frozen=True, slots=True)
class Recipe:
    """Something to copy: what it is for, and its text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool."""

    name: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool, as people read of it."""

    name: str
    description: str
    writes: bool
    arguments: tuple[Argument, ...]


def mcp_address(base_url: str) -> str:
    """The address of a bot, with a placeholder for its token."""
    return f"{base_url}/mcp/bot/{TOKEN}/mcp"


def recipes(base_url: str, name: str) -> list[Recipe]:
    """Ready configurations: of every client that is known, and for a shell."""
    address = mcp_address(base_url)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_self"}}
    return [
        *(Recipe(client.label, client.text(address, name)) for client in CLIENTS),
        Recipe(
            "A shell, over MCP",
            f"curl -s --json '{orjson.dumps(call).decode()}' \\\n  '{address}'",
        ),
        Recipe(
            "A shell, over REST",
            f"curl -s -H 'X-API-Key: {TOKEN}' {base_url}/api/v1/auth/me",
        ),
    ]


def offered(catalog: Catalog) -> list[Offered]:
    """Every tool in the order in which agents see them."""
    return [_offered(one) for one in catalog.tools_listing]


def _offered(listing: dict[str, Any]) -> Offered:
    schema = listing["inputSchema"]
    required = set(schema.get("required", ()))
    return Offered(
        listing["name"],
        listing["description"],
        not listing["annotations"]["readOnlyHint"],
        tuple(Argument(name, name in required) for name in schema.get("properties", {})),
    )


def llms_text(catalog: Catalog, base_url: str, title: str, name: str) -> str:
    """What ``/llms.txt`` says: Markdown, in the form that llmstxt.org describes."""
    return "\n".join(_lines(catalog, base_url, title, name)) + "\n"


def _lines(catalog: Catalog, base_url: str, title: str, name: str) -> Iterator[str]:
    yield f"# {title}"
    yield ""
    yield "> A ticket tracker and wiki in which people and bots are the same kind of user."
    yield ""
    yield f"Bots work over MCP at {mcp_address(base_url)} and over REST at {base_url}/api/v1,"
    yield "with a token that a person makes on the page of bots. The address holds the token:"
    yield "whoever has it is the bot. Nothing can be read without one."
    yield ""
    yield "## What a new agent is told"
    yield ""
    yield catalog.instructions
    yield ""
    yield "## Connecting"
    for one in recipes(base_url, name):
        yield ""
        yield f"{one.name}:"
        yield ""
        yield from (f"    {line}" for line in one.text.splitlines())
    yield ""
    yield "## Tools"
    yield ""
    for tool in offered(catalog):
        named = ", ".join(f"{one.name}*" if one.is_required else one.name for one in tool.arguments)
        kind = "writes" if tool.writes else "reads"
        yield f"- {tool.name}({named}): {kind}. {tool.description}"
    yield ""
    yield "Arguments with * are required."
    yield ""
    yield "## More"
    yield ""
    yield f"- [REST API, OpenAPI 3.1]({base_url}/api/v1/openapi.json)"
    yield f"- [Bots, for people]({base_url}/bots): make one, copy its address, pause all"
    yield f"- [This page, for people]({base_url}/help/agents)"


pages = Blueprint("help_pages", __name__)


def _catalog() -> Catalog:
    found: Catalog = current_app.config["TOOLS"]
    return found


@pages.get("/help")
def index() -> Response:
    """What is where."""
    return page("help/index.html")


@pages.get("/help/shortcuts")
def shortcuts() -> Response:
    """Every key; the sheet that ``?`` opens shows the same table."""
    return page("help/shortcuts.html")


@pages.get("/help/agents")
def for_agents() -> Response:
    """How an agent connects, and what it can do then."""
    settings, catalog = settings_at_hand(), _catalog()
    return page(
        "help/agents.html",
        address=mcp_address(settings.base_url),
        recipes=recipes(settings.base_url, settings.service_name),
        tools=offered(catalog),
        instructions=catalog.instructions,
    )


@pages.get("/llms.txt")
@public()
def llms() -> Response:
    """The same for agents, without a login.

    It says no more than the OpenAPI document does, which is public too: what the program can do and
    where it is, nothing of what is kept in it, and no token.
    """
    settings = settings_at_hand()
    text = llms_text(_catalog(), settings.base_url, settings.app_name, settings.service_name)
    return Response(text, mimetype="text/plain")


@pages.get("/design")
def design() -> Response:
    """Every token and component in its states; in development and tests alone (``FLASK_DEBUG``)."""
    if not (current_app.debug or current_app.testing):
        abort(404)
    return page("help/design.html", **samples.everything())
