"""Version 1 of the API only grows."""

import copy

import pytest

from app.config import VERSION
from tests.contract import compatibility
from tests.contract.comparison import breaks
from tests.support.story import malformed

TICKET = "/tickets/{id_or_display_id}"


def test_nothing_that_was_released_is_gone():
    """A change that fails here needs /api/v2, or another shape.

    Corrections of the document are listed one by one, and dropped once they are made.
    """
    found = breaks(compatibility.released(), compatibility.today())
    assert set(found) == compatibility.CORRECTED


def test_what_is_corrected_was_never_accepted(cast):
    malformed(cast.ada.get("/search"), ["query", "q"], "missing")
    malformed(cast.ada.get("/wiki/pages?project_id=ours"), ["query", "project_id"], "invalid_value")
    read_only = cast.scout.post("/wiki/pages", {"title": "One"})
    for refused in (cast.nobody.get("/audit"), read_only):
        assert set(refused.get_json()["error"]) == {"code", "message"}


def test_a_release_keeps_its_document():
    """The kept document is that of the version, once CHANGELOG.md lists the version as released."""
    changelog = compatibility.CHANGELOG.read_text()
    kept, now = compatibility.released(), compatibility.without_prose(compatibility.today())
    versions = [compatibility.number(one["info"]["version"]) for one in (kept, now)]
    assert versions == sorted(versions)
    assert compatibility.version_to_raise(kept, now, changelog) == "", "raise the minor version"
    if compatibility.is_released(VERSION, changelog):
        assert kept == now, "python -m tests.contract.compatibility keeps it"


@pytest.mark.parametrize(
    ("version", "grew", "changelog", "above"),
    [
        ("0.1.0", True, "## [0.1.0] - Unreleased\n", ""),
        ("0.1.0", False, "## [0.1.0] - 2026-12-01\n", ""),
        ("0.1.0", True, "## [0.1.0] - 2026-12-01\n", "0.1.0"),
        ("0.1.1", True, "## [0.1.1] - Unreleased\n\n## [0.1.0] - 2026-12-01\n", "0.1.0"),
        ("0.1.1", False, "## [0.1.1] - Unreleased\n\n## [0.1.0] - 2026-12-01\n", ""),
        ("0.2.0", True, "## [0.2.0] - Unreleased\n\n## [0.1.0] - 2026-12-01\n", ""),
        ("1.0.0", True, "## [1.0.0] - 2026-12-01\n\n## [0.1.0] - 2026-12-01\n", ""),
    ],
)
def test_additions_raise_the_minor_version(version, grew, changelog, above):
    kept = {"info": {"version": "0.1.0"}, "paths": {"/a": {}}}
    now = {"info": {"version": version}, "paths": {"/a": {}, **({"/b": {}} if grew else {})}}
    assert compatibility.version_to_raise(kept, now, changelog) == above


def schema(document, name):
    return document["components"]["schemas"][name]


def parameter(document, path, name):
    found = document["paths"][path]["get"]["parameters"]
    return next(one for one in found if one.get("name") == name)


def become_a_schema_of_its_own(document):
    properties = schema(document, "Ticket")["properties"]
    document["components"]["schemas"]["Reporter"] = {"type": "string"}
    properties["reporter"] = {"$ref": "#/components/schemas/Reporter"}


def drop_branch(document):
    listed = schema(document, "SearchHit")["oneOf"]
    listed.pop()


def become_nullable(document):
    properties = schema(document, "Ticket")["properties"]
    properties["reporter"] = {"anyOf": [properties["reporter"], {"type": "null"}]}


def rename_property(document):
    properties = schema(document, "TicketCreate")["properties"]
    properties["headline"] = properties.pop("title")


BREAKS = {
    "DELETE /webhooks/{id} is gone": lambda d: d["paths"]["/webhooks/{id}"].pop("delete"),
    "GET /search is gone": lambda d: d["paths"].pop("/search"),
    "another operation id": lambda d: d["paths"][TICKET]["get"].update(operationId="tickets.show"),
    "lost a tag": lambda d: d["paths"][TICKET]["get"].update(tags=["search"]),
    "is for fewer callers": lambda d: d["paths"][TICKET]["get"].update({"x-access": "H"}),
    "lost its answer 200": lambda d: d["paths"][TICKET]["get"]["responses"].pop("200"),
    "lost its answer 404": lambda d: d["paths"][TICKET]["get"]["responses"].pop("404"),
    "lost its header ETag": lambda d: d["paths"][TICKET]["get"]["responses"]["200"]["headers"].pop(
        "ETag"
    ),
    "parameter ready is gone": lambda d: d["paths"]["/tickets"]["get"].update(
        parameters=[
            one for one in d["paths"]["/tickets"]["get"]["parameters"] if one.get("name") != "ready"
        ]
    ),
    "parameter ready is required now": lambda d: parameter(d, "/tickets", "ready").update(
        required=True
    ),
    "parameter extra is new and required": lambda d: d["paths"]["/tickets"]["get"][
        "parameters"
    ].append({"name": "extra", "in": "query", "required": True, "schema": {"type": "string"}}),
    "needs its body now": lambda d: d["paths"][TICKET]["patch"]["requestBody"].update(
        required=True
    ),
    "takes no body any more": lambda d: d["paths"][TICKET]["patch"].pop("requestBody"),
    ".display_id is gone": lambda d: schema(d, "Ticket")["properties"].pop("display_id"),
    ".display_id may be missing now": lambda d: schema(d, "Ticket")["required"].remove(
        "display_id"
    ),
    "cannot be integer any more": lambda d: schema(d, "Ticket")["properties"].update(
        ticket_number={"type": "string"}
    ),
    "has another format": lambda d: schema(d, "Ticket")["properties"]["id"].pop("format"),
    "can be null now": become_nullable,
    "lost its value urgent": lambda d: schema(d, "Ticket")["properties"]["priority"]["enum"].remove(
        "urgent"
    ),
    "is an enum now": lambda d: schema(d, "Ticket")["properties"]["title"].update(enum=["A"]),
    "body.title is gone": rename_property,
    "body.body is required now": lambda d: schema(d, "TicketCreate")["required"].append("body"),
    "has a lower maxLength": lambda d: schema(d, "TicketCreate")["properties"]["title"].update(
        maxLength=20
    ),
    "has a higher minLength": lambda d: schema(d, "CommentCreate")["properties"]["body"].update(
        minLength=99
    ),
    "has another pattern": lambda d: schema(d, "ProjectCreate")["properties"]["key"].update(
        pattern="^[A-Z]$"
    ),
    "has another const": lambda d: schema(d, "NotFoundErrorBody")["properties"]["code"].update(
        const="missing"
    ),
    ".error.message is gone": lambda d: schema(d, "NotFoundErrorBody")["properties"].pop("message"),
    "reporter cannot be object any more": become_a_schema_of_its_own,
    "cannot be #/components/schemas/WikiPageHit any more": drop_branch,
}


@pytest.mark.parametrize("sentence", BREAKS)
def test_what_a_client_would_notice_is_refused(sentence):
    changed = compatibility.today()
    BREAKS[sentence](changed)
    found = breaks(compatibility.today(), changed)
    assert any(sentence in one for one in found), found


def test_what_is_added_is_let_through():
    old = compatibility.today()
    new = copy.deepcopy(old)
    new["paths"]["/votes"] = {"get": copy.deepcopy(new["paths"]["/tickets"]["get"])}
    new["paths"]["/tickets"]["get"]["parameters"].append(
        {"name": "extra", "in": "query", "schema": {"type": "string"}}
    )
    new["paths"][TICKET]["get"]["responses"]["418"] = {"description": "A pot"}
    ticket = schema(new, "Ticket")
    ticket["properties"]["votes"] = {"type": "integer"}
    ticket["required"].append("votes")
    ticket["properties"]["priority"]["enum"].append("whenever")
    create = schema(new, "TicketCreate")
    create["properties"]["votes"] = {"type": "integer"}
    create["properties"]["title"]["maxLength"] = 10_000
    create["properties"]["priority"]["type"] = ["string", "null"]
    new["components"]["schemas"]["NoteHit"] = copy.deepcopy(schema(new, "TicketHit"))
    schema(new, "SearchHit")["oneOf"].append({"$ref": "#/components/schemas/NoteHit"})
    new["paths"]["/audit"]["get"]["x-access"] = "H,B/R"
    new["components"]["schemas"]["Person"] = copy.deepcopy(schema(new, "UserSummary"))
    ticket["properties"]["reporter"] = {"$ref": "#/components/schemas/Person"}
    web = new["components"]["parameters"]["X-Requested-By"]
    web["schema"] = {"type": "string", "const": "web"}
    assert breaks(old, new) == []
