"""Generated requests: none causes a 500, and none gets an undocumented response.

CASES=50000 (make fuzz) sends more.

schemathesis generates valid and invalid requests; many made-up ids are replaced by existing ones,
because a random id only ever gets a 404.
"""

import os
from functools import cache
from itertools import groupby

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app import registry
from tests.authorization.world import IMAGE, frozen
from tests.support.cast import make_cast
from tests.support.databases import emptied
from tests.support.sizes import IS_LONG
from tests.support.story import add_file, make_label, make_ticket, ok, state_ids

pytestmark = pytest.mark.slow

ROUTES = registry.routes().routes


# By the first word of the name, which is the subject.
OPERATIONS = {
    kind: list(found)
    for kind, found in groupby(sorted(ROUTES), lambda name: name.partition(".")[0])
}
# Made-up credentials are always refused, which is the expected response.
LOGINS = {"auth.login", "auth.passkey.log_in"}
# People may do most, so ada sends most requests; there are five kinds of caller.
CALLERS = ["ada"] * 6 + ["smith", "fenced", "scout", "nobody"]
# Statuses of refused credentials.
SHUT_OUT = {401, 429}
# Cases for each operation and database; the first is always the simplest.
EACH = max(2, int(os.environ.get("CASES", "0")) // len(ROUTES))
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)


@pytest.fixture(name="made", scope="module")
def _made(database):
    """The application, its actors, and the things that exist."""
    app = emptied(database)
    cast = make_cast(app)
    return app, cast, things_of(cast)


def things_of(cast):
    """Existing values for each name in paths and bodies."""
    ada, project = cast.ada, cast.open_project
    epic = make_ticket(ada, project, "Epic", type="epic")
    ticket = make_ticket(ada, project, "Story", parent_ticket_id=epic["id"])
    path = f"/tickets/{ticket['id']}"
    relation = {"type": "relates_to", "target_ticket_id": epic["id"]}
    comment = ok(ada.post(f"{path}/comments", {"body": "Words"}), 201)["id"]
    note = ok(ada.post(f"/projects/{project}/sticky-notes", {"body": "Words"}), 201)["id"]
    page = ok(ada.post("/wiki/pages", {"title": "Words", "body": "[[other]]"}), 201)
    revisions = ok(ada.get(f"/wiki/pages/{page['id']}/revisions"))["data"]
    event = ok(ada.get("/audit?limit=1"))["data"][0]["id"]
    people = [ada.user_id, cast.bo.user_id, cast.smith.user_id]
    tickets = [ticket["id"], ticket["display_id"], epic["id"]]
    files = [add_file(ada, path)["id"], add_file(ada, path, IMAGE, "a.gif")["id"]]
    forge = {"name": "Forge", "forge": "github", "project_ids": [project]}
    hook = {"url": "https://example.org/hook", "event_types": ["*"], "secret": "s" * 32}
    return {
        "/files/": files,
        "/integrations/": [ok(ada.post("/integrations", forge), 201)["id"]],
        "/webhooks/": [ok(ada.post("/webhooks", hook), 201)["id"]],
        "/projects/": [project, cast.fenced_project],
        "/tickets/": tickets,
        "/comments/": [comment],
        "/bots/": [cast.smith.user_id, cast.fenced.user_id],
        "/users/": people,
        "/audit/": [event],
        "/sticky-notes/": [note],
        "/wiki/pages/": [page["id"]],
        "slug_or_id": [page["id"], page["slug"]],
        "revision_id": [revisions[0]["id"]],
        "id_or_display_id": tickets,
        "project_id": [project],
        "state_id": state_ids(ada, project),
        "label_id": [make_label(ada, project, "odd")["id"]],
        "relation_id": [ok(ada.post(f"{path}/relations", relation), 201)["id"]],
        "link_id": [ok(ada.post(f"{path}/links", {"url": "https://example.org"}), 201)["id"]],
        "user_id": people,
        "owner_user_id": people,
        "assignee_user_id": people,
        "reporter_user_id": people,
        "parent_ticket_id": [epic["id"]],
        "target_ticket_id": tickets,
    }


@cache
def schema_of(app):
    """The document of an application, cached: reading it takes longer than the requests do."""
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app)
    # Searching the sources for useful values takes as long as fifty requests.
    schema.config.analysis.constants.enabled = IS_LONG
    return schema


def cases(app, operation_id):
    """Valid cases of an operation, and invalid ones if it takes any input."""
    operation = schema_of(app).find_operation_by_id(operation_id)
    fitting = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    if not operation.body and not list(operation.iter_parameters()):
        return fitting
    return st.one_of(fitting, operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))


def put_in_known(case, known, choose):
    """Replace made-up ids by existing ones, three times out of four."""

    def chosen(values, present):
        return choose(values) if choose([True, True, True, False]) else present

    for name, value in (case.path_parameters or {}).items():
        prefix = case.path.split("{", maxsplit=1)[0]
        values = known.get(prefix if name == "id" else name)
        if values:
            case.path_parameters[name] = chosen(values, value)
    if isinstance(case.body, dict):
        for name in known.keys() & case.body.keys():
            case.body[name] = chosen(known[name], case.body[name])


@pytest.mark.parametrize("kind", OPERATIONS)
def test_generated_requests_find_no_crash_and_no_surprise(made, kind, subtests, monkeypatch):
    # Writes are rolled back, so what one request deletes exists for the next.
    with frozen(monkeypatch):
        for operation_id in OPERATIONS[kind]:
            statuses = []
            with subtests.test(operation_id):
                explore(*made, operation_id, statuses)
                assert operation_id in LOGINS or set(statuses) - SHUT_OUT, statuses


def explore(app, cast, known, operation_id, statuses):
    @settings(
        max_examples=EACH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(app, operation_id), data=st.data())
    def send(case, data):
        put_in_known(case, known, lambda values: data.draw(st.sampled_from(values)))
        caller = getattr(cast, data.draw(st.sampled_from(CALLERS)))
        cookies = {"app_session": caller.session_token} if caller.session_token else None
        answer = case.call(headers=caller.headers, cookies=cookies)
        statuses.append(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    send()
