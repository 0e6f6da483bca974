"""The OpenAPI document: valid, complete, and true to the specification's promises about it."""

import re
from dataclasses import replace

import pytest
from openapi_spec_validator import validate

from app import create_app
from app.config import VERSION
from app.core.actor import Access
from app.rest.openapi import document
from app.rest.routing import Api, Registry
from tests.support.settings import settings_for

pytestmark = pytest.mark.one_database

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(name="content")
def served(client):
    return client.get("/api/v1/openapi.json").get_json()


def operations(content):
    for path, methods in content["paths"].items():
        for method, operation in methods.items():
            assert method in METHODS
            yield path, method, operation


def test_it_is_a_valid_openapi_3_1_document(content):
    validate(content)
    assert content["openapi"].startswith("3.1.")
    assert content["info"]["version"] == VERSION
    assert content["servers"] == [{"url": "/api/v1"}]


def test_no_two_paths_differ_in_the_names_of_their_variables_alone(content):
    shapes = [re.sub(r"\{[^}]+\}", "{}", path) for path in content["paths"]]
    assert len(shapes) == len(set(shapes))


def test_allow_names_the_methods_that_are_described(cast, content):
    for path, methods in content["paths"].items():
        answer = cast.ada.call("OPTIONS", re.sub(r"\{[^}]+\}", "some", path))
        told = answer.headers["Allow"].split(", ")
        assert told == answer.get_json()["error"]["details"]["allowed"], path
        assert told == sorted(method.upper() for method in methods), path


def test_each_path_declares_exactly_its_variables(content):
    for path, _, operation in operations(content):
        declared = [one["name"] for one in operation["parameters"] if one.get("in") == "path"]
        assert declared == re.findall(r"\{([^}]+)\}", path), path


def test_it_needs_no_credential_and_has_an_etag(client):
    first = client.get("/api/v1/openapi.json")
    assert first.headers["Cache-Control"] == "private, no-cache"
    again = client.get("/api/v1/openapi.json", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    other = client.get("/api/v1/openapi.json", headers={"If-None-Match": '"another"'})
    assert other.status_code == 200


def test_it_is_made_when_it_is_first_asked_for(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr("app.rest.openapi.document", lambda *_: made.append("once") or {})
    client = create_app(settings_for("sqlite:///none.db", tmp_path)).test_client()
    assert made == []
    for _ in range(2):
        assert client.get("/api/v1/openapi.json").get_json() == {}
    assert made == ["once"]


def test_a_wrong_credential_is_refused_there_too(cast, client):
    def asked(**headers):
        answer = client.get("/api/v1/openapi.json", headers=headers)
        return answer.status_code, (answer.get_json().get("error") or {}).get("code")

    key = {"X-API-Key": "app_" + "a" * 32}
    assert asked(**key) == (401, "auth.invalid_credentials")
    assert asked(**{"X-API-Key": cast.smith.token}) == (200, None)
    client.set_cookie("app_session", "x")
    assert asked(**key) == (401, "auth.ambiguous_credentials")
    assert asked() == (200, None)


def test_every_operation_says_who_may_call_it(content):
    for path, method, operation in operations(content):
        access = operation["x-access"]
        names = [name for one in operation["security"] for name in one]
        if access == Access.PUBLIC:
            assert operation["security"] == [], path
        else:
            assert names == (["session"] if access == Access.HUMAN else ["session", "apiKey"]), path
        assert "401" in operation["responses"], (method, path)


def test_every_request_body_refuses_unknown_fields(content):
    for path, _, operation in operations(content):
        if "requestBody" in operation:
            schema = next(iter(operation["requestBody"]["content"].values()))["schema"]
            name = schema["$ref"].rsplit("/", 1)[-1]
            assert content["components"]["schemas"][name]["additionalProperties"] is False, path


def test_every_create_takes_and_echoes_client_request_id(content):
    for path, _, operation in operations(content):
        if "201" not in operation["responses"]:
            continue
        name = next(iter(operation["requestBody"]["content"].values()))["schema"]["$ref"]
        body = content["components"]["schemas"][name.rsplit("/", 1)[-1]]
        assert "client_request_id" in body["properties"], path
        answer = operation["responses"]["201"]
        made = answer["content"]["application/json"]["schema"]["$ref"]
        echoing = content["components"]["schemas"][made.rsplit("/", 1)[-1]]
        assert echoing["properties"]["client_request_id"]["type"] == "string", path
        assert "client_request_id" not in echoing["required"], path
        assert "Location" in answer["headers"], path


def test_the_headers_stand_where_the_specification_wants_them(content):
    taking = {}
    for _, _, operation in operations(content):
        for parameter in operation["parameters"]:
            name = parameter.get("$ref", "").rsplit("/", 1)[-1]
            taking.setdefault(name, set()).add(operation["operationId"])
    assert taking["If-None-Match"] >= {"tickets.get"}
    assert taking["If-Match"] >= {"tickets.update", "tickets.delete"}
    assert taking["X-Requested-By"] == {"auth.change_password"}
    assert taking["Idempotency-Key"] >= {"tickets.create", "comments.create", "bots.create"}
    assert not taking["Idempotency-Key"] & {"tickets.transition", "projects.create", "auth.login"}


def test_the_unions_map_every_word_to_a_schema(content):
    schemas = content["components"]["schemas"]
    for name, discriminator in {"User": "type", "AuditEventPayload": "event_type"}.items():
        union = schemas[name]
        assert union["discriminator"]["propertyName"] == discriminator
        mapping = union["discriminator"]["mapping"]
        assert sorted(mapping.values()) == sorted(one["$ref"] for one in union["oneOf"])
        for word, reference in mapping.items():
            member = schemas[reference.rsplit("/", 1)[-1]]
            assert member["properties"][discriminator]["const"] == word
            assert discriminator in member["required"]
    payload = {"$ref": "#/components/schemas/AuditEventPayload"}
    assert schemas["AuditEvent"]["allOf"] == [{"anyOf": [payload]}]


def test_nullable_fields_are_types_with_null(content):
    properties = content["components"]["schemas"]["Ticket"]["properties"]
    due = {"type": ["string", "null"], "format": "date", "examples": ["2026-11-30"]}
    assert properties["due_date"] == due
    assert properties["assignee_user_id"]["type"] == ["string", "null"]
    assert {"type": "null"} in properties["assignee"]["anyOf"]


def test_a_repeated_operation_id_fails_the_start():
    api = Api("projects")
    api.route("GET", "/one", "projects.list", calls=None)(lambda call: None)
    api.route("GET", "/two", "projects.list", calls=None)(lambda call: None)
    with pytest.raises(ValueError, match=r"projects\.list is used twice"):
        Registry().add(api)


@pytest.mark.parametrize(
    ("target", "error", "words"),
    [("tickets.vanish", KeyError, "tickets.vanish"), ("projects.list", ValueError, "cannot lead")],
)
def test_a_link_that_leads_nowhere_is_refused(app, tmp_path, target, error, words):
    known = app.config["ROUTES"].routes
    registry = Registry()
    registry.routes = known | {"tickets.get": replace(known["tickets.get"], leads_to=(target,))}
    with pytest.raises(error, match=words):
        document(registry, settings_for("sqlite:///none.db", tmp_path))


def test_an_address_described_twice_fails_the_start(app, tmp_path):
    known = app.config["ROUTES"].routes["tickets.get"]
    registry = Registry()
    api = Api("tickets")
    for name in ("tickets.get", "tickets.fetch"):
        api.route("GET", known.rule, name, calls=known.calls)(known.view)
    registry.add(api)
    with pytest.raises(ValueError, match="described twice"):
        document(registry, settings_for("sqlite:///none.db", tmp_path))
