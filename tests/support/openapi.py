"""The test client: it checks every response against the served OpenAPI document.

It is stricter than the document: responses must not contain fields that the document does not name,
and headers that it declares for a status must be present.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import jsonschema_rs
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from app.core.ids import as_uuid
from app.rest.operations import path_of
from app.rest.routing import Route

API = "/api/v1"
# The name by which schemas refer to the document.
NAME = "urn:docket"
DECLARED = ("Location", "ETag", "Idempotency-Replayed", "Retry-After")
SHOWN_ALWAYS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}


@dataclass
class Document:
    """The document of an application, and its compiled schemas."""

    content: dict[str, Any]
    routes: dict[str, Route]
    # (operation id, status) of all responses seen, for tests of the whole suite.
    seen: set[tuple[str, int]] = field(default_factory=set)
    _validators: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        components = {"components": self.content["components"]}
        self._registry = jsonschema_rs.Registry([(NAME, components)])

    def operation(self, route: Route) -> dict[str, Any]:
        """Return the operation of a route."""
        found: dict[str, Any] = self.content["paths"][path_of(route)][route.method.lower()]
        return found

    def validator(self, schema: dict[str, Any]) -> Any:
        """Return the compiled validator of a schema that may refer to components."""
        text = json.dumps(schema)
        if text not in self._validators:
            # With a registry, only the components that this schema refers to are compiled.
            named = json.loads(text.replace('"#/components/', f'"{NAME}#/components/'))
            self._validators[text] = jsonschema_rs.Draft202012Validator(
                named, validate_formats=True, registry=self._registry
            )
        return self._validators[text]

    def check_component(self, name: str, value: Any) -> None:
        """Assert that the value has the form of this component."""
        errors = self.validator({"$ref": f"#/components/schemas/{name}"}).iter_errors(value)
        assert not list(errors), (name, value)

    def resolved(self, reference: dict[str, Any]) -> dict[str, Any]:
        """Return the component that a ``$ref`` refers to."""
        found: Any = self.content
        for part in reference["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return dict(found)


_documents: WeakKeyDictionary[Flask, Document] = WeakKeyDictionary()


def document_of(app: Flask) -> Document:
    """Return the application's document, with responses closed to unknown fields."""
    if app not in _documents:
        answer = FlaskClient(app, TestResponse).get(f"{API}/openapi.json")
        content = answer.get_json()
        _close(content["components"]["schemas"])
        routes = app.config["ROUTES"].routes.values()
        endpoints = {f"api.{route.operation_id.replace('.', '_')}": route for route in routes}
        _documents[app] = Document(content, endpoints)
    return _documents[app]


def _close(schemas: dict[str, Any]) -> None:
    for name, schema in schemas.items():
        if name.startswith("AuditEventPayload."):
            schema["properties"]["payload"]["additionalProperties"] = False
        elif name != "ErrorBody" and "properties" in schema:
            schema["additionalProperties"] = False


class CheckedClient(FlaskClient):
    """A test client that fails the test if a response violates the document."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        """Send a request, and check the response."""
        response = super().open(*args, **kwargs)
        check(self.application, response, kwargs.get("json"))
        return response


def check(app: Flask, response: TestResponse, sent: Any = None) -> None:
    """Fail unless the document describes the response."""
    asked = response.request
    assert as_uuid(response.headers.get("X-Request-Id", "")), "X-Request-Id is missing"
    for name, value in SHOWN_ALWAYS.items():
        assert response.headers.get(name) == value, name
    if not asked.path.startswith(API + "/"):
        return
    body = response.get_json(silent=True) if response.data else None
    if response.status_code >= 400 and asked.method != "HEAD":
        _check_envelope(app, response, body)
    route = _route_of(app, asked.path, asked.method)
    if route is not None:
        _check_operation(app, response, route, body, sent)


def _route_of(app: Flask, path: str, method: str) -> Route | None:
    try:
        endpoint, _ = app.url_map.bind("localhost").match(path, method)
    except HTTPException:
        return None
    return document_of(app).routes.get(endpoint)


def _check_envelope(app: Flask, response: TestResponse, body: Any) -> None:
    assert response.mimetype == "application/json", response.mimetype
    assert response.headers["Cache-Control"] == "no-store"
    document_of(app).validator({"$ref": "#/components/schemas/Error"}).validate(body)
    assert set(body) == {"error"}
    assert set(body["error"]) <= {"code", "message", "details"}


def _check_operation(
    app: Flask, response: TestResponse, route: Route, body: Any, sent: Any
) -> None:
    document = document_of(app)
    status = response.status_code
    where = f"{route.operation_id} {status}"
    responses = document.operation(route)["responses"]
    assert str(status) in responses, f"{where}: no such status in the document: {body}"
    document.seen.add((route.operation_id, status))
    described = responses[str(status)]
    _check_headers(document, response, described, where)
    if response.request.method == "HEAD":
        return
    if "content" not in described:
        assert not response.data, f"{where} has a body"
        assert "Content-Type" not in response.headers, where
        return
    assert response.mimetype in described["content"], where
    if response.mimetype != "application/json":
        return
    if status == 201:
        echoed = body.pop("client_request_id", None)
        assert not isinstance(sent, dict) or echoed == sent.get("client_request_id"), where
    schema = described["content"]["application/json"]["schema"]
    errors = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in document.validator(schema).iter_errors(body)
    ]
    assert not errors, f"{where}: {errors}"


def _check_headers(
    document: Document, response: TestResponse, described: dict[str, Any], where: str
) -> None:
    declared = described["headers"]
    for name in DECLARED:
        value = response.headers.get(name)
        if name not in declared:
            assert value is None, f"{where} has {name}"
        elif value is not None:
            schema = document.resolved(declared[name])["schema"]
            shown: Any = int(value) if schema["type"] == "integer" else value
            document.validator(schema).validate(shown)
        elif name != "ETag" or "at" not in (response.get_json(silent=True) or {}):
            # A historical ticket has no version to compare.
            assert name == "Idempotency-Replayed", f"{where} has no {name}"


def same_as_rest(app: Flask, shown: dict[str, Any], schema: str, *added: str) -> None:
    """Check that structured content equals the REST response plus the tool's own fields."""
    rest = {name: value for name, value in shown.items() if name not in added}
    document_of(app).check_component(schema, rest)
    assert set(added) <= set(shown)
