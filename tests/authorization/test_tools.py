"""Every tool and resource of MCP by every bot at every place, judged by the same policy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from app.core import ids
from app.mcp.parameters import ParameterKind
from app.tools.catalog import catalog
from tests.authorization.policy import ASKING, outcome, places_of
from tests.authorization.world import World
from tests.support.agent import Agent

CATALOG = catalog("Docket").tools
BOTS = ("smith", "globe", "scout", "fenced", "peeper", "revoked", "asleep")
HERE = ("own",)
IN_PROJECT = ("own", "other", "dead", "xdead", "missing")
ON_TICKET = ("own", "other", "deleted", "xdeleted", "dead", "xdead", "missing")
ON_PAGE = (*ON_TICKET, "global")
NOTES = (*IN_PROJECT, "personal")
ZERO = ids.new_id()


@dataclass(frozen=True)
class Row:
    """How a tool is called: at which places, with what, and its exceptions."""

    places: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    special: Mapping[str, str] = field(default_factory=dict)


NOT_MINE = {
    f"{bot} {place}": "author"
    for bot in ("smith", "globe", "fenced")
    for place in ("own", "other")
    if (bot, place) != ("fenced", "other")
}
# A bot can end only its own watching.
NOT_ME = dict.fromkeys(NOT_MINE, "human")
# A wiki page's project is named in the body, so a missing one is not a 404.
IN_BODY = {"* missing": "notfound"}
TICKET = {"ticket": "{ticket}"}

ROWS: dict[str, Row] = {
    "get_self": Row(HERE),
    "list_projects": Row(HERE),
    "get_project": Row(IN_PROJECT, {"project": "{key}"}),
    "list_tickets": Row(HERE, {"limit": 100}),
    "get_ticket": Row(ON_TICKET, {"ticket": "{display_id}"}),
    "create_ticket": Row(IN_PROJECT, {"project": "{key}", "title": "New"}),
    "update_ticket": Row(ON_TICKET, TICKET | {"title": "New"}),
    "transition_ticket": Row(ON_TICKET, TICKET | {"state": "{spare_state}"}),
    "delete_ticket": Row(ON_TICKET, TICKET),
    "add_ticket_relation": Row(ON_TICKET, TICKET | {"type": "relates_to", "target": "FENCED-1"}),
    "remove_ticket_relation": Row(ON_TICKET, TICKET | {"relation": "{relation}"}),
    "watch_ticket": Row(ON_TICKET, TICKET),
    "unwatch_ticket": Row(ON_TICKET, TICKET | {"user": "ada"}, NOT_ME),
    "list_comments": Row(ON_TICKET, TICKET),
    "add_comment": Row(ON_TICKET, TICKET | {"body": "New"}),
    "update_comment": Row(ON_TICKET, {"comment": "{comment}", "body": "New"}, NOT_MINE),
    "delete_comment": Row(ON_TICKET, {"comment": "{comment}"}, NOT_MINE),
    "list_wiki_pages": Row(HERE, {"limit": 100}),
    "get_wiki_page": Row(ON_PAGE, {"page": "{page}"}),
    "create_wiki_page": Row(IN_PROJECT, {"project": "{key}", "title": "New"}, IN_BODY),
    "update_wiki_page": Row(ON_PAGE, {"page": "{page}", "title": "New"}),
    "delete_wiki_page": Row(ON_PAGE, {"page": "{page}"}),
    "list_wiki_revisions": Row(ON_PAGE, {"page": "{page}"}),
    "list_sticky_notes": Row(IN_PROJECT, {"project": "{key}"}),
    "create_sticky_note": Row(IN_PROJECT, {"project": "{key}", "body": "New"}),
    "update_sticky_note": Row(NOTES, {"sticky_note": "{note}", "body": "New"}),
    "delete_sticky_note": Row(NOTES, {"sticky_note": "{note}"}),
    "convert_sticky_note": Row(NOTES, {"sticky_note": "{note}"}),
    "search": Row(HERE, {"q": "zq", "limit": 100}),
}
RESOURCES = {
    "ticket://{display_id}": ON_TICKET,
    "wiki://page/{slug}": ON_PAGE,
    "docket://files/{file}": ON_PAGE,
}


def filled(world: World, place: str, text: str) -> str:
    """The argument with the names of the place filled in."""
    return text.format(**(world.places["missing"] | world.places[place]))


def verdict(response: Any) -> tuple[int, str, str | None] | None:
    """The response in terms of the policy: a refusal by the transport or by the tool, or None."""
    content = response.get_json()
    if response.status_code == 401:
        return 401, content["error"]["code"], None
    if "error" in content:
        assert content["error"]["code"] == -32002, content
        code = content["error"]["data"]["code"]
        return {"resource.not_found": 404, "resource.gone": 410}[code], code, None
    if not content["result"].get("isError"):
        return None
    error = content["result"]["structuredContent"]["error"]
    status = {"auth": 403, "resource": 404, "validation": 422}[error["code"].partition(".")[0]]
    if error["code"] == "resource.gone":
        status = 410
    return status, error["code"], (error.get("details") or {}).get("reason")


def ask(world: World, bot: str, method: str, params: dict[str, Any], operation: str) -> Any:
    """Send a request as a bot, and look for leaks in the response."""
    agent = Agent(world.callers[bot])
    agent.numbers = iter((1,))
    response = agent.send(method, params)
    world.look_for_leaks(bot, operation, response, str(params))
    return response


def call(world: World, bot: str, tool: str, place: str, **more: Any) -> Any:
    """Call a tool at a place, with ``more`` arguments; return the response and the arguments."""
    arguments = {
        name: filled(world, place, value) if isinstance(value, str) else value
        for name, value in (ROWS[tool].arguments | more).items()
    }
    return ask(world, bot, "tools/call", {"name": tool, "arguments": arguments}, tool), arguments


def without_names(response: Any, arguments: Mapping[str, Any]) -> str:
    """The response without the values of the arguments."""
    text = response.get_data(as_text=True)
    for value in arguments.values():
        text = text.replace(str(value), "named")
    return text


def test_the_policy_names_every_tool():
    assert set(ROWS) == set(CATALOG)
    assert {kind.prefix for kind in catalog("Docket").kinds} == {
        address.partition("{")[0] for address in RESOURCES
    }


def test_every_tool_at_every_place_by_every_bot(world, database):
    wrong, hidden = [], {}
    bots = [bot for bot in BOTS if bot in ASKING[database.kind]]
    for tool, bot in product(ROWS, bots):
        access = CATALOG[tool].calls.access
        for place in places_of(access, bot, ROWS[tool].places):
            response, arguments = call(world, bot, tool, place)
            expected = outcome(access, bot, place, ROWS[tool].special)
            found = verdict(response)
            if found != expected:
                wrong.append((tool, bot, place, found, expected))
            if found and found[0] == 404:
                shown = without_names(response, arguments)
                hidden.setdefault((tool, bot), {}).setdefault(shown, place)
    different = [
        f"hidden and missing differ: {one}" for one, seen in hidden.items() if len(seen) > 1
    ]
    found = [*wrong, *(f"hidden and missing differ: {one}" for one in different), *world.leaks]
    assert not found, "\n".join(map(str, found))


def test_an_integer_of_a_tool_may_be_as_large_as_json_allows(world):
    failed = []
    for tool, number in product(ROWS, (2**53, 1e300)):
        for one in CATALOG[tool].parameters:
            if one.kind is ParameterKind.INTEGER:
                response, _ = call(world, "smith", tool, "own", **{one.name: number})
                if "server.internal" in response.text:
                    failed.append(f"{tool}: {one.name}={number}")
    # Neither the column nor the driver of the database may take it.
    assert failed == [], "refuse what is out of range, as check_values does for fields of tickets"


def test_every_resource_at_every_place_by_every_bot(world, database):
    wrong = []
    for bot in (bot for bot in BOTS if bot in ASKING[database.kind]):
        ask(world, bot, "resources/list", {}, "resources/list")
        for address, places in RESOURCES.items():
            for place in places:
                uri = filled(world, place, address)
                found = verdict(ask(world, bot, "resources/read", {"uri": uri}, address))
                expected = outcome("H,B/R", bot, place, {})
                if found != expected:
                    wrong.append((address, bot, place, found, expected))
    found = [*wrong, *world.leaks]
    assert not found, "\n".join(map(str, found))
