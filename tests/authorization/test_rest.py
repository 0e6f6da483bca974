"""Every REST operation by every actor at every place, judged by the policy; no words leak.

The bot ``fenced`` may see the places called own, and nothing at those called other.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest

from app import registry
from app.core import ids
from app.rest.fields import Whole
from app.rest.routing import Route
from tests.authorization.policy import ACTORS, ASKING, outcome, places_of
from tests.authorization.world import World, said, thawed
from tests.support.story import form_of

ROUTES = registry.routes().routes
HERE = ("own",)
IN_PROJECT = ("own", "other", "dead", "xdead", "missing")
ON_TICKET = ("own", "other", "deleted", "xdeleted", "dead", "xdead", "missing")
ON_PAGE = (*ON_TICKET, "global")
NOTES = (*IN_PROJECT, "personal")
ADMINISTERED = ("own", "missing")

# The largest integers of a query and of JSON; most columns hold less.
LARGEST = {"query": int("9" * 18), "body": 2**53 - 1}
ADVICE = {
    "query": "cast the column to BigInteger: PostgreSQL refuses an integer that does not fit it",
    "body": "let the verb refuse what is out of range, as check_values does for tickets",
}

Body = Mapping[str, Any] | Callable[[World, str], Any] | None


@dataclass(frozen=True)
class Row:
    """How an operation is called: at which places, with what, and its exceptions."""

    places: tuple[str, ...]
    body: Body = None
    query: str = ""
    special: Mapping[str, str] = field(default_factory=dict)
    # It writes in one unit of work and reads in another, so a success cannot be rolled back.
    reads_itself: bool = False


# Domain rules about the author of a comment, and about whom a bot may make stop watching.
NOT_MINE = {f"{bot} {place}": "author" for bot in ("smith", "globe", "fenced") for place in
            ("own", "other")}  # fmt: skip
NOT_MINE["fenced other"] = "fence"
NOT_ADDED = dict.fromkeys(NOT_MINE, "uploader") | {"fenced other": "fence"}
NOT_ADDED["globe global"] = "uploader"
NOT_ME = dict.fromkeys(NOT_MINE, "human") | {"fenced other": "fence"}
ALL = dict.fromkeys(f"{actor} own" for actor in ACTORS)
NO_GLOBAL = {"smith own": "wiki", "fenced own": "wiki"}


def states(world: World, place: str) -> Any:
    """The states of the place's project in reverse order, or a made-up id."""
    project = world.places[place]["project"]
    listed = world.callers["ada"].get(f"/projects/{project}/workflow-states")
    found = [row["id"] for row in listed.json["data"]] if listed.status_code == 200 else []
    return {"state_ids": found[::-1] or [ids.new_id()]}


def spare(world: World, place: str) -> Any:
    """A state of the place's project, or a made-up id."""
    return {"state_id": world.places[place].get("spare_state", ids.new_id())}


def edge(world: World, place: str) -> Any:
    """A relation to a ticket that everyone sees."""
    return {"type": "relates_to", "target_ticket_id": "FENCED-1"}


def conversion(world: World, place: str) -> Any:
    """A personal note needs a project to go to."""
    return {"project_id": world.places["own"]["project"]} if place == "personal" else {}


def connected(world: World, place: str) -> Any:
    """An integration with an existing project."""
    project = world.places["own"]["project"]
    return {"name": "GitHub", "forge": "github", "project_ids": [project]}


HOOK = {"url": "https://example.org/h", "secret": "x" * 16, "event_types": ["*"]}
PASSWORD = "wrong wrong wrong"
NEW_PASSKEY = {"name": "New", "state": "x", "client_data": "x", "attestation": "x"}
ANSWER = {"state": "x", "credential_id": "x", "client_data": "x"} | {
    "authenticator_data": "x",
    "signature": "x",
}
LONG_AGO = "2020-01-01T00:00:00Z"

ROWS: dict[str, Row] = {
    "auth.login": Row(HERE, {"username": "ada", "password": PASSWORD}, special={"* own": "bad"}),
    "auth.passkey.begin": Row(HERE, {}),
    "auth.passkey.log_in": Row(HERE, ANSWER, special={"* own": "passkey"}),
    "auth.logout": Row(HERE),
    "auth.me": Row(HERE),
    "auth.change_password": Row(
        HERE,
        {"current_password": PASSWORD, "new_password": PASSWORD * 2},
        special={"* own": "password"},
    ),
    "setup.status": Row(HERE),
    "setup.admin": Row(HERE, {"username": "eve", "password": PASSWORD}, special={"* own": "taken"}),
    "users.me": Row(HERE),
    "users.list": Row(HERE),
    "users.create": Row(HERE, {"username": "eve", "password": PASSWORD}),
    "users.update": Row(ADMINISTERED, {"display_name": "New"}),
    "users.totp.get": Row(HERE),
    "users.totp.set_up": Row(HERE, {"current_password": PASSWORD}, special={"* own": "password"}),
    "users.totp.confirm": Row(HERE, {"code": "000000"}, special={"* own": "taken"}),
    "users.totp.recovery_codes": Row(
        HERE, {"current_password": PASSWORD, "code": "000000"}, special={"* own": "password"}
    ),
    "users.totp.disable": Row(
        HERE, {"current_password": PASSWORD, "code": "000000"}, special={"* own": "password"}
    ),
    "users.totp.reset": Row(ADMINISTERED, special={"* own": "taken"}),
    "users.passkeys.list_own": Row(HERE),
    "users.passkeys.begin_adding": Row(
        HERE, {"current_password": PASSWORD}, special={"* own": "password"}
    ),
    "users.passkeys.add": Row(HERE, NEW_PASSKEY, special={"* own": "over"}),
    "users.passkeys.rename": Row(HERE, {"name": "New"}, special={"bo own": "404"}),
    "users.passkeys.remove": Row(
        HERE, {"current_password": PASSWORD}, special={"* own": "password"}
    ),
    "users.passkeys.list_of": Row(ADMINISTERED),
    "users.passkeys.remove_of": Row(ADMINISTERED, special={"ada own": "taken"}),
    "users.feeds.list": Row(HERE),
    "users.feeds.create": Row(HERE, {"kind": "calendar"}),
    "users.feeds.revoke": Row(ADMINISTERED, special={"bo own": "404"}),
    "users.notices.get": Row(HERE),
    "users.notices.update": Row(HERE, {"frequency": "daily"}),
    "bots.list": Row(HERE),
    "bots.create": Row(HERE, {"username": "another", "mode": "read"}),
    "bots.get": Row(ADMINISTERED),
    "bots.update": Row(ADMINISTERED, {"display_name": "New"}),
    "bots.delete": Row(ADMINISTERED),
    "bots.tokens.rotate": Row(ADMINISTERED),
    "bots.tokens.revoke": Row(ADMINISTERED),
    "projects.list": Row(HERE),
    "projects.create": Row(HERE, {"key": "NEW", "name": "New"}),
    "projects.get": Row(IN_PROJECT),
    "projects.update": Row(IN_PROJECT, {"name": "New"}),
    "projects.delete": Row(IN_PROJECT),
    "projects.activity.list": Row(IN_PROJECT),
    "projects.workflow_states.list": Row(IN_PROJECT),
    "projects.workflow_states.create": Row(IN_PROJECT, {"name": "New", "category": "active"}),
    "projects.workflow_states.update": Row(IN_PROJECT, {"name": "New"}),
    "projects.workflow_states.delete": Row(IN_PROJECT),
    "projects.workflow_states.reorder": Row(IN_PROJECT, states),
    "projects.labels.list": Row(IN_PROJECT),
    "projects.labels.create": Row(IN_PROJECT, {"name": "New"}),
    "projects.labels.update": Row(IN_PROJECT, {"name": "New"}),
    "projects.labels.delete": Row(IN_PROJECT),
    "tickets.list": Row(HERE),
    "projects.tickets.list": Row(IN_PROJECT),
    "tickets.create": Row(IN_PROJECT, {"title": "New"}),
    "tickets.get": Row(ON_TICKET),
    "tickets.update": Row(ON_TICKET, {"title": "New"}),
    "tickets.transition": Row(ON_TICKET, spare),
    "tickets.delete": Row(ON_TICKET),
    "tickets.activity.list": Row(ON_TICKET),
    "tickets.relations.list": Row(ON_TICKET),
    "tickets.relations.create": Row(ON_TICKET, edge),
    "tickets.relations.delete": Row(ON_TICKET),
    "tickets.links.list": Row(ON_TICKET),
    "tickets.links.add": Row(ON_TICKET, {"url": "https://example.org/zq"}),
    "tickets.links.remove": Row(ON_TICKET),
    "tickets.watchers.list": Row(ON_TICKET),
    "tickets.watchers.add": Row(ON_TICKET, {}),
    "tickets.watchers.remove": Row(ON_TICKET, special=NOT_ME),
    "comments.list": Row(ON_TICKET),
    "comments.create": Row(ON_TICKET, {"body": "New"}),
    "comments.update": Row(
        ON_TICKET,
        {"body": "New"},
        special=NOT_MINE | {"bo own": "author", "bo other": "author"},
    ),
    "comments.delete": Row(ON_TICKET, special=NOT_MINE),
    "comments.reactions.add": Row(ON_TICKET),
    "comments.reactions.remove": Row(ON_TICKET),
    "wiki.pages.list": Row(HERE),
    "wiki.pages.create": Row(HERE, {"title": "New"}, special=NO_GLOBAL),
    "wiki.pages.get": Row(ON_PAGE),
    "wiki.pages.update": Row(ON_PAGE, {"title": "New"}),
    "wiki.pages.delete": Row(ON_PAGE),
    "wiki.revisions.list": Row(ON_PAGE),
    "wiki.revisions.get": Row(ON_PAGE),
    "wiki.backlinks.list": Row(ON_PAGE),
    "wiki.broken_links.list": Row(HERE),
    "tickets.files.list": Row(ON_TICKET),
    "tickets.files.create": Row(ON_TICKET),
    "comments.files.list": Row(ON_TICKET),
    "comments.files.create": Row(
        ON_TICKET, special=NOT_MINE | {"bo own": "author", "bo other": "author"}
    ),
    "wiki.files.list": Row(ON_PAGE),
    "wiki.files.create": Row(ON_PAGE),
    "files.get": Row(ON_PAGE),
    "files.thumbnail.get": Row(ON_PAGE),
    "files.delete": Row(ON_PAGE, special=NOT_ADDED),
    "sticky_notes.list": Row(HERE),
    "sticky_notes.create": Row(HERE, {"body": "New"}, special={"human": "nonote"}),
    "projects.sticky_notes.list": Row(IN_PROJECT),
    "projects.sticky_notes.create": Row(IN_PROJECT, {"body": "New"}),
    "sticky_notes.update": Row(NOTES, {"body": "New"}),
    "sticky_notes.delete": Row(NOTES),
    "sticky_notes.convert": Row(NOTES, conversion),
    "search.query": Row(HERE, query="q=zq"),
    "audit.list": Row(HERE),
    "audit.get": Row(ADMINISTERED),
    "audit.tools.list": Row(HERE),
    "integrations.list": Row(HERE),
    "integrations.create": Row(HERE, connected),
    "integrations.get": Row(ADMINISTERED),
    "integrations.update": Row(ADMINISTERED, {"name": "New"}),
    "integrations.rotate_secret": Row(ADMINISTERED, {}),
    "integrations.delete": Row(ADMINISTERED),
    "rewind.preview": Row(ADMINISTERED, query=f"since={LONG_AGO}"),
    "rewind.step": Row(ADMINISTERED, {"since": LONG_AGO}),
    "rewind.kept.list": Row(ADMINISTERED, query=f"limit=200&since={LONG_AGO}"),
    "rewind.put_back": Row(
        HERE,
        {"since": LONG_AGO, "event_id": ids.new_id(), "name": "title"},
        special={"* own": "404"},
    ),
    "webhooks.list": Row(HERE),
    "webhooks.create": Row(HERE, HOOK),
    "webhooks.get": Row(ADMINISTERED),
    "webhooks.update": Row(ADMINISTERED, {"is_active": True}),
    "webhooks.delete": Row(ADMINISTERED),
    "webhooks.deliveries.list": Row(ADMINISTERED),
    "webhooks.deliveries.retry": Row(ADMINISTERED, reads_itself=True),
}
# Names that variables of paths have in the world.
VARIABLES = {"slug_or_id": "page", "bot_id": "bot", "actor_id": "bot"}


def address(world: World, route: Route, place: str) -> str:
    """The path of a route at a place; reads use the display id of tickets, writes the UUID."""

    def named(found: re.Match[str]) -> str:
        variable = found[1]
        name = VARIABLES.get(variable, variable.removesuffix("_id"))
        if name == "ticket" and not route.writes:
            name = "display_id"
        if name == "state" and route.method == "DELETE":
            name = "spare_state"
        return world.places[place].get(name) or world.places["missing"][name]

    return re.sub(r"<(\w+)>", named, route.rule)


def verdict(response: Any) -> tuple[int, str, str | None]:
    """Status, code and reason of a refusal."""
    error = (response.get_json(silent=True) or {}).get("error") or {}
    reason = (error.get("details") or {}).get("reason")
    return response.status_code, error.get("code"), reason


def without_names(response: Any, path: str) -> tuple[Any, ...]:
    """The response without what always differs: the request id, and names from the path."""
    text = response.get_data().decode(errors="replace")
    for part in filter(None, path.split("/")):
        text = text.replace(f'"{part}"', '"named"')
    varying = ("X-Request-Id", "Date", "Content-Length")
    kept = sorted((name, value) for name, value in response.headers if name not in varying)
    return response.status_code, text, kept


def ask(world: World, actor: str, operation: str, place: str, **more: Any) -> tuple[Any, str]:
    """Send a request, with ``more`` in its query or body, and look for leaks in the response."""
    route, row = ROUTES[operation], ROWS[operation]
    path = address(world, route, place)
    query = row.query or ("limit=200" if route.paginated and not more else "")
    body = row.body(world, place) if callable(row.body) else row.body
    if route.writes and more:
        body = {**(body or {}), **more}
    elif more:
        query += "".join(f"&{name}={value}" for name, value in more.items())
    caller = world.callers[actor]
    if caller.session_token:
        # Logging out removes the cookie, but its write is rolled back.
        caller.client.set_cookie("app_session", caller.session_token)
    given = {} if body is None else {"json": body}
    if route.takes_file:
        given = {"data": form_of(b"New", "new.txt")}
    response = caller.call(
        route.method,
        f"{path}?{query}" if query else path,
        headers={"X-Requested-By": "web"},
        **given,
    )
    sent = said(route.method, f"{path}?{query}", body)
    world.look_for_leaks(actor, operation, response, sent)
    return response, path


def test_the_policy_names_every_operation():
    assert set(ROWS) == set(ROUTES)


def test_every_operation_at_every_place_by_everyone(world, database, monkeypatch):
    wrong, missing = [], {}
    cases = (
        (operation, place, actor)
        for operation, actor in product(ROWS, ASKING[database.kind])
        for place in places_of(ROUTES[operation].access, actor, ROWS[operation].places)
    )
    for operation, place, actor in cases:
        route = ROUTES[operation]
        expected = outcome(route.access, actor, place, ROWS[operation].special)
        is_split = ROWS[operation].reads_itself and expected is None
        with thawed(monkeypatch) if is_split else nullcontext():
            response, path = ask(world, actor, operation, place)
        if expected is None:
            if response.status_code not in (route.status, *route.also):
                wrong.append((operation, actor, place, verdict(response), "expected success"))
        elif verdict(response) != expected:
            wrong.append((operation, actor, place, verdict(response), expected))
        if response.status_code == 404:
            # Hidden and missing things must look alike, to the last header.
            missing.setdefault((operation, actor), {})[place] = without_names(response, path)
    different = [where for where, seen in missing.items() if len(set(map(str, seen.values()))) > 1]
    found = [*wrong, *(f"hidden and missing differ: {one}" for one in different), *world.leaks]
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("part", LARGEST)
def test_the_largest_integer_is_refused_or_finds_nothing(world, part):
    failed = []
    for operation, route in ROUTES.items():
        schema = getattr(route, part)
        for name in integers_of(schema) if schema else ():
            response, _ = ask(world, "ada", operation, "own", **{name: LARGEST[part]})
            if response.status_code >= 500:
                failed.append(f"{operation}: {name}")
    assert failed == [], ADVICE[part]


def integers_of(schema):
    """The names of fields that are integers."""
    return [name for name, field in schema().fields.items() if isinstance(field, Whole)]
