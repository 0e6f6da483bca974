"""The permission matrix: every route against everyone, judged by one policy table.

Whoever may not do a thing at all learns that first, before the form of the request is looked at;
the allowlist is judged after the form and after existence (decisions.md, order of checks).
"""

from dataclasses import dataclass

import pytest

from app import doors
from app.core import ids
from app.core.actor import Access
from app.rest.fields import DeletedQuery
from tests.support.story import make_label, make_ticket, ok, state_ids

ROUTES = doors.routes().routes
BOTS = ("scout", "smith", "fenced")
WEB = {"X-Requested-By": "web"}

# What each actor reads who may not call an operation of this access; None: it may.
REFUSALS = {
    Access.PUBLIC: {},
    Access.READ: {"nobody": (401, "auth.unauthenticated", None)},
    Access.WRITE: {
        "nobody": (401, "auth.unauthenticated", None),
        "scout": (403, "auth.read_only_bot", None),
    },
    Access.HUMAN: {
        "nobody": (401, "auth.unauthenticated", None),
        **dict.fromkeys(BOTS, (403, "auth.forbidden", "humans_only")),
    },
}
# interface.md gives this one a reason of its own (Sticky notes).
REASONS = {"sticky_notes.create": "bots_have_no_personal_notes"}
# Bodies that bear their form, for operations whose allowlist is judged.
BODIES = {
    "tickets.create": {"title": "Another"},
    "tickets.update": {"title": "Changed"},
    "comments.create": {"body": "Words"},
    "comments.update": {"body": "Other words"},
    "tickets.watchers.add": {},
    "tickets.transition": {"state_id": ids.new_id()},
    "tickets.relations.create": {"type": "blocks", "target_ticket_id": ids.new_id()},
    "projects.sticky_notes.create": {"body": "Words"},
    "sticky_notes.update": {"body": "Other words"},
    "sticky_notes.convert": {},
    "wiki.pages.update": {"title": "Changed"},
}
# Variables that name something inside a project.
IN_PROJECT = ("project_id", "ticket_id", "comment_id", "slug_or_id", "page_id", "note_id")


@dataclass
class Scene:
    """The cast and something for each path variable, all of it in the project OPEN."""

    cast: object
    variables: dict[str, str]

    def path(self, route):
        path = route.rule
        for name in route.rule.split("<")[1:]:
            variable = name.split(">")[0]
            path = path.replace(f"<{variable}>", self.variables.get(variable, ids.new_id()))
        return path

    def call(self, who, route, body=None, query=""):
        options = {"json": body} if body is not None else {}
        caller = getattr(self.cast, who)
        if route.operation_id == "tickets.watchers.remove":
            # Bots may remove nobody but themselves.
            self.variables["user_id"] = caller.user_id or ids.new_id()
        return caller.call(route.method, self.path(route) + query, headers=WEB, **options)


@pytest.fixture
def scene(cast):
    ada, project = cast.ada, cast.open_project
    ticket = make_ticket(ada, project)
    comment = ok(ada.post(f"/tickets/{ticket['id']}/comments", {"body": "Words"}), 201)
    note = ok(ada.post(f"/projects/{project}/sticky-notes", {"body": "Words"}), 201)
    page = ok(ada.post("/wiki/pages", {"title": "Words", "project_id": project}), 201)
    revisions = ok(ada.get(f"/wiki/pages/{page['id']}/revisions"))["data"]
    return Scene(
        cast,
        {
            "project_id": project,
            "ticket_id": ticket["id"],
            "comment_id": comment["id"],
            "note_id": note["id"],
            "page_id": page["id"],
            "slug_or_id": page["slug"],
            "revision_id": revisions[0]["id"],
            "state_id": state_ids(ada, project)[1],
            "label_id": make_label(ada, project, "odd")["id"],
            "user_id": cast.bo.user_id,
            "bot_id": cast.smith.user_id,
        },
    )


def verdict(response):
    if response.status_code not in (401, 403):
        return None
    error = response.get_json()["error"]
    return response.status_code, error["code"], error.get("details", {}).get("reason")


@pytest.mark.parametrize("operation_id", sorted(ROUTES))
def test_who_may_not_call_an_operation_learns_it_first(scene, operation_id):
    route = ROUTES[operation_id]
    refusals = REFUSALS[route.access]
    for who in ("nobody", *BOTS):
        if who in refusals:
            body = {"no such field": 1} if route.writes else None
            response = scene.call(who, route, body, "?limit=none")
            status, code, reason = refusals[who]
            if reason == "humans_only":
                reason = REASONS.get(operation_id, reason)
            assert verdict(response) == (status, code, reason), who


@pytest.mark.parametrize("operation_id", sorted(ROUTES))
def test_who_may_call_an_operation_is_not_refused(scene, operation_id):
    route = ROUTES[operation_id]
    for who in ("nobody", *BOTS, "bo"):
        if who in REFUSALS[route.access] or (who == "fenced" and is_fenced_off(route)):
            continue
        response = scene.call(who, route, BODIES.get(operation_id))
        refused = verdict(response)
        # Someone else's comment and someone else's session are rules of the domain.
        assert refused is None or refused[2] == "not_author" or operation_id == "auth.login", who


def is_fenced_off(route):
    """Whether the route leads into the project that the bot fenced may not see."""
    first = route.rule.split("<")[1].split(">")[0] if "<" in route.rule else ""
    return first in IN_PROJECT and route.access in (Access.READ, Access.WRITE)


@pytest.mark.parametrize(
    "operation_id", sorted(name for name, route in ROUTES.items() if is_fenced_off(route))
)
def test_the_allowlist_hides_reads_and_forbids_writes(scene, operation_id):
    route = ROUTES[operation_id]
    response = scene.call("fenced", route, BODIES.get(operation_id))
    if route.access is Access.READ:
        assert response.status_code == 404
        assert response.get_json()["error"]["code"] == "resource.not_found"
    else:
        assert verdict(response) == (403, "auth.forbidden", "project_not_in_allowlist")


@pytest.mark.parametrize(
    "operation_id",
    sorted(
        name
        for name, route in ROUTES.items()
        if route.query is not None and issubclass(route.query, DeletedQuery)
    ),
)
def test_deleted_things_are_shown_to_humans_only(scene, operation_id):
    route = ROUTES[operation_id]
    for who in BOTS:
        response = scene.call(who, route, query="?include_deleted=true")
        assert verdict(response) == (403, "auth.forbidden", "humans_only"), who
    assert scene.call("bo", route, query="?include_deleted=true").status_code == 200
