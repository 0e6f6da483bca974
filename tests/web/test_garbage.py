"""Whatever is put into an address or a form, the answer is a page or a refusal, never a 500."""

import itertools
import re
from urllib.parse import quote

import pytest

from tests.support.story import make_ticket

GARBAGE = (
    "",
    "x",
    "a\x00b",
    "9" * 40,
    "01900000-0000-7000-8000-000000000000",
    "\u2603 ' \" % { [",
    "A" * 5000,
)
# What fields and query parameters are called, here and there.
NAMES = [
    "action",
    "assignee_user_id",
    "back",
    "category",
    "color",
    "comment",
    "cursor",
    "description",
    "direction",
    "display_name",
    "done",
    "due_date",
    "event_type",
    "event_types",
    "from",
    "from_state_id",
    "group",
    "idempotency_key",
    "key",
    "label_id",
    "label_ids",
    "limit",
    "mode",
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
    "user_id",
    "url",
    "username",
    "value",
    "view",
    "body",
]
REFERENCES = {
    "reference": ("OPEN-1", "x"),
    "key": ("OPEN", "x"),
    "name": ("title", "state", "assignee", "labels", "parent", "x"),
    "username": ("smith", "x"),
}
# These end what the rest of the test needs.
FINAL = ("delete", "deactivate", "logout", "password", "sessions", "login", "setup")


def addresses(app):
    """Every page of the application with every kind of reference in its variables."""
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


@pytest.mark.parametrize("htmx", [False, True], ids=["plain", "htmx"])
def test_garbage_is_never_a_500(app, cast, htmx):
    make_ticket(cast.ada, cast.open_project)
    headers = {"Accept": "text/html"} | ({"HX-Request": "true"} if htmx else {})
    failed = []
    for method, path in addresses(app):
        if method == "POST" and any(word in path for word in FINAL):
            continue
        place = "query_string" if method == "GET" else "data"
        for value in GARBAGE:
            sent = {place: dict.fromkeys(NAMES, value), "headers": headers}
            answer = cast.ada.client.open(path, method=method, **sent)
            if answer.status_code >= 500:
                failed.append((method, path, value[:12]))
    assert failed == []
