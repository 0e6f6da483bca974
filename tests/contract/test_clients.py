"""Clients generated from the document: typed, and talking to the real application."""

import importlib
import inspect
import json
import sys

import httpx
import pytest
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

from tests.contract.compatibility import today
from tests.support.once import made_once
from tests.support.story import make_ticket

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

PACKAGE = "generated_docket"


@pytest.fixture(name="made", scope="module")
def _made():
    """The warnings of the generator, and the directory of its output."""
    root = made_once("clients", make)
    return json.loads((root / "warnings.json").read_text()), root


def make(root):
    (root / "openapi.json").write_text(json.dumps(today()))
    config = Config.from_sources(
        config_file=ConfigFile(post_hooks=[]),
        meta_type=MetaType.NONE,
        document_source=root / "openapi.json",
        file_encoding="utf-8",
        overwrite=False,
        output_path=root / PACKAGE,
    )
    warnings = [(one.header, one.detail) for one in generate(config=config)]
    (root / "warnings.json").write_text(json.dumps(warnings))


@pytest.fixture(name="part", scope="module")
def _part(made):
    """A function that imports a module of the generated package."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(made[1])
        yield lambda name: importlib.import_module(f"{PACKAGE}.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture(name="called")
def _called(app, part):
    """A function that calls an operation, as a bot if given a token; returns the result."""
    address = {
        "base_url": "http://localhost/api/v1",
        "httpx_args": {"transport": httpx.WSGITransport(app=app)},
    }

    def call(name, *path, token=None, **arguments):
        client = part("client").Client(**address)
        if token is not None:
            client = part("client").AuthenticatedClient(
                **address, token=token, prefix="", auth_header_name="X-API-Key"
            )
        return part(f"api.{name}").sync(*path, client=client, **arguments)

    return call


def test_no_warning_is_given_and_every_operation_is_there(made):
    warnings, root = made
    assert warnings == []
    operations = {
        operation["operationId"].replace(".", "_")
        for methods in today()["paths"].values()
        for operation in methods.values()
    }
    modules = {path.stem for path in (root / PACKAGE / "api").glob("*/*.py")} - {"__init__"}
    assert modules == operations


def test_a_create_answers_the_resource_itself(cast, called, part):
    models = part("models")
    body = models.TicketCreate(title="Rotate the certificates", client_request_id="mine")
    token = cast.smith.token
    made = called("tickets.tickets_create", cast.open_project, token=token, body=body)
    read = called("tickets.tickets_get", made.display_id, token=token)
    assert type(made) is type(read) is models.Ticket
    assert made.client_request_id == "mine"
    assert made.title == read.title == "Rotate the certificates"
    assert read.client_request_id is part("types").UNSET


def test_a_refusal_has_a_type_with_its_details(cast, called, part):
    models, token = part("models"), cast.smith.token
    missing = called("tickets.tickets_get", "NONE-1", token=token)
    assert type(missing) is models.NotFoundError
    assert type(missing.error.details) is models.NotFoundDetails
    assert (missing.error.code, missing.error.details.id) == ("resource.not_found", "NONE-1")

    blank = models.TicketCreate(title="")
    refused = called("tickets.tickets_create", cast.open_project, token=token, body=blank)
    assert type(refused) is models.InvalidFieldError
    assert refused.error.details.field == "title"

    ticket = make_ticket(cast.ada, cast.open_project, assignee_user_id=cast.bo.user_id)
    taking = models.TicketPatch(expected_assignee_user_id=None, title="Mine")
    late = called("tickets.tickets_update", ticket["id"], token=token, body=taking)
    assert type(late) is models.ConflictError
    assert late.error.details.reason == "assignee_mismatch"
    assert late.error.details.assignee.username == "bo"

    assert type(called("tickets.tickets_list")) is models.UnauthenticatedError
    assert type(called("tickets.tickets_list", token="x")) is models.InvalidCredentialsError


def test_a_search_cannot_be_asked_without_words(cast, called, part):
    operation = part("api.search.search_query")
    assert inspect.signature(operation.sync).parameters["q"].default is inspect.Parameter.empty
    ticket = make_ticket(cast.ada, cast.open_project, "Rotate the certificates")
    (hit,) = called("search.search_query", token=cast.smith.token, q="certificates").data
    assert type(hit) is part("models").TicketHit
    assert hit.display_id == ticket["display_id"]


def test_the_wiki_is_asked_for_a_project_or_for_null(cast, called):
    for project, title in ((cast.open_project, "Ours"), (None, "Global")):
        cast.ada.post("/wiki/pages", {"title": title, "project_id": project})
    for scope, title in ((cast.open_project, "Ours"), ("null", "Global")):
        (page,) = called("wiki.wiki_pages_list", token=cast.smith.token, project_id=scope).data
        assert page.title == title


def test_an_event_keeps_its_own_fields_beside_its_payload(cast, called, part):
    ticket = make_ticket(cast.ada, cast.open_project)
    page = called("tickets.tickets_activity_list", ticket["id"], token=cast.smith.token)
    (event,) = page.data
    assert type(event) is part("models").AuditEvent
    assert (event.event_type, str(event.ticket_id)) == ("ticket.created", ticket["id"])
