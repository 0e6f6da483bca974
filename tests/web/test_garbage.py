"""Whatever an address or a form contains, the response is a page or a refusal, never a 500."""

import itertools
import re
from urllib.parse import quote

import pytest

from tests.support.sizes import IS_LONG
from tests.support.story import make_ticket, ok

pytestmark = pytest.mark.slow

GARBAGE = (
    "",
    "x",
    "a\x00b",
    "9" * 40,
    "01900000-0000-7000-8000-000000000000",
    "\u2603 ' \" % { [",
    # Longer than the limit of any one-line text.
    "A" * 2100,
    "\u00b2",
    # More digits than Python converts to a number.
    "9" * 4400,
)
# Names of fields and query parameters of all pages.
NAMES = [
    "about",
    "action",
    "assignee_user_id",
    "at",
    "back",
    "beyond",
    "body",
    "bot",
    "bot_id",
    "category",
    "change",
    "client_request_id",
    "color",
    "comment",
    "cursor",
    "description",
    "direction",
    "display_name",
    "done",
    "due_date",
    "event_id",
    "event_type",
    "event_types",
    "form",
    "from",
    "from_state_id",
    "group",
    "idempotency_key",
    "key",
    "label_id",
    "label_ids",
    "swimlane",
    "limit",
    "mode",
    "n",
    "name",
    "next",
    "owner_user_id",
    "parent",
    "parent_ticket_id",
    "position",
    "priority",
    "project",
    "project_id",
    "project_ids",
    "q",
    "rate_limit_per_minute",
    "request",
    "request_id",
    "secret",
    "seen",
    "since",
    "slug",
    "state_id",
    "state_ids",
    "status",
    "summary",
    "target_ticket_id",
    "ticket_type",
    "title",
    "to",
    "type",
    "until",
    "url",
    "user_id",
    "username",
    "value",
    "view",
]
REFERENCES = {
    "reference": ("OPEN-1", "x"),
    "key": ("OPEN", "x"),
    "name": ("title", "state", "assignee", "labels", "parent", "x"),
    "username": ("smith", "x"),
}
# Actions that would end what the rest of the test needs.
FINAL = ("delete", "deactivate", "logout", "password", "sessions", "login", "setup")


def addresses(app):
    """Yield every page of the application with every kind of reference in its variables."""
    for rule in app.url_map.iter_rules():
        if rule.endpoint.startswith("api.") or "filename" in rule.arguments:
            continue
        names = sorted(rule.arguments)
        for chosen in itertools.product(*(REFERENCES.get(name, ("x", "\x00")) for name in names)):
            path = rule.rule
            for name, value in zip(names, chosen, strict=True):
                path = re.sub(rf"<(?:[^:<>]+:)?{name}>", quote(value), path)
            for method in sorted(rule.methods & {"GET", "POST"}):
                yield method, path


PLAIN, FRAGMENT = {"Accept": "text/html"}, {"Accept": "text/html", "HX-Request": "true"}
# Values for every variable of an address.
ODD = ("\x00", "A\nB", "\x01", "\u00b2", "9" * 20, "FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF")


def test_an_odd_address_is_never_a_500(app, cast):
    """Each address gets one of the odd values, in rotation; all of them in a long run."""
    step = 1 if IS_LONG else len(ODD)
    parts = itertools.cycle(ODD[first::step] for first in range(step))
    failed, ways = [], itertools.cycle([FRAGMENT, PLAIN])
    for rule in app.url_map.iter_rules():
        for method in sorted(rule.methods & {"GET", "POST", "PATCH", "DELETE"}):
            for odd in next(parts) if rule.arguments else ():
                path = re.sub(r"<[^<>]+>", quote(odd), rule.rule)
                for headers in (FRAGMENT, PLAIN) if IS_LONG else (next(ways),):
                    answer = cast.ada.client.open(
                        path, method=method, headers={**cast.ada.headers, **headers}
                    )
                    if answer.status_code >= 500 or "\x01" in str(answer.headers):
                        failed.append((method, path))
    assert failed == []


def test_where_to_go_is_an_address_that_a_header_takes(cast):
    answer = cast.ada.client.get("/login?next=/%01", headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == "/"


def test_an_id_may_be_written_in_capitals(cast):
    state = make_ticket(cast.ada, cast.open_project)["state"]["id"]
    bo = cast.bo.user_id.upper()
    carried = {"state_id": state, "group": "assignee", "swimlane": bo}
    for path, sent in (
        ("/tickets/OPEN-1/watch", {"user_id": bo}),
        ("/tickets/OPEN-1/move", carried),
    ):
        answer = cast.ada.client.post(path, data=sent, headers={"HX-Request": "true"})
        assert answer.status_code < 500, path
    ticket = ok(cast.ada.get("/tickets/OPEN-1"))
    assert ticket["assignee"]["username"] == "bo"
    watchers = ok(cast.ada.get("/tickets/OPEN-1/watchers"))["data"]
    assert cast.bo.user_id in [one["user"]["id"] for one in watchers]


def test_garbage_is_never_a_500(app, cast):
    """Each address gets one value, in rotation; pages and fragments take turns."""
    make_ticket(cast.ada, cast.open_project)
    step = 1 if IS_LONG else len(GARBAGE)
    parts = itertools.cycle(GARBAGE[first::step] for first in range(step))
    ways = itertools.cycle([FRAGMENT, PLAIN])
    failed, turns = [], itertools.cycle(GARBAGE)
    for method, path in addresses(app):
        if method == "POST" and any(word in path for word in FINAL):
            continue
        place = "query_string" if method == "GET" else "data"
        # Addresses of missing things get one value each, in rotation.
        values = [next(turns)] if "x" in path.split("/") or "%00" in path else next(parts)
        for value, headers in zip(values, ways, strict=False):
            sent = {place: dict.fromkeys(NAMES, value), "headers": headers}
            answer = cast.ada.client.open(path, method=method, **sent)
            if answer.status_code >= 500:
                failed.append((method, path, value[:12]))
    assert failed == []


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/bots", {"username": "made", "mode": "read", "all_projects": "on"}),
        ("/integrations", {"name": "Made", "forge": "github", "project_ids": "@project"}),
        ("/projects/new", {"key": "MADE", "name": "Made"}),
        ("/projects/OPEN/settings/labels", {"name": "made", "color": "#112233"}),
        ("/projects/OPEN/settings/states", {"name": "Made", "category": "active"}),
        ("/projects/OPEN/wiki/new", {"title": "Made", "body": "Text"}),
        ("/sticky-notes", {"body": "Made"}),
        ("/tickets/OPEN-1/comments", {"body": "Made"}),
        ("/tickets/OPEN-1/links", {"url": "https://example.com/made", "title": "Made"}),
        ("/tickets/new", {"project": "OPEN", "title": "Made"}),
        ("/webhooks", {"name": "Made", "url": "https://example.com", "event_types": "*"}),
        ("/wiki/new", {"title": "Made", "body": "Text"}),
    ],
)
def test_a_form_does_not_load_what_only_rest_echoes(cast, path, form):
    make_ticket(cast.ada, cast.open_project)
    sent = {
        name: cast.open_project if value == "@project" else value for name, value in form.items()
    }
    answer = cast.ada.client.post(path, data=sent | {"client_request_id": "y"}, headers=PLAIN)
    assert answer.status_code in (200, 303)
