"""The code has exactly the endpoints, errors and events of the specification."""

from app import registry
from app.audit.event_types import EVENTS
from app.core import errors
from app.rest import refusals
from app.rest.operations import path_of
from tests.contract import tables


def test_the_routes_are_those_of_the_specification():
    routes = registry.routes().routes.values()
    tables.assert_equal(
        {
            (route.method, path_of(route), route.operation_id, route.access.value, route.tag)
            for route in routes
        },
        "endpoints.txt",
    )


def test_every_rule_below_api_v1_is_a_route_or_the_document(app):
    endpoints = {f"api.{name.replace('.', '_')}" for name in app.config["ROUTES"].routes}
    found = {rule.endpoint for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/v1")}
    assert found == endpoints | {"openapi.openapi_json"}


def every_error():
    found, waiting = {errors.DomainError}, [errors.DomainError]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            found.add(kind)
            waiting.append(kind)
    return found


# Classes whose code has more than one status.
SEVERAL = {errors.InvalidField: {400, 422}, errors.RequestMalformed: {400, 414, 431}}


def test_the_error_codes_are_those_of_the_specification():
    statuses = {}
    for kind in every_error():
        known = SEVERAL.get(kind) or {kind.status}
        statuses.setdefault(kind.code, set()).update(known)
    found = {(code, ",".join(map(str, sorted(known)))) for code, known in statuses.items()}
    tables.assert_equal(found, "errors.txt")


def test_the_document_describes_every_error_code():
    described = {kind.code for kind in (*refusals.DETAILS, *refusals.BARE)}
    # These belong to no operation: the address does not exist with that method, or is missing.
    of_no_operation = {"request.method_not_allowed", "request.malformed"}
    assert {kind.code for kind in every_error()} - described == of_no_operation


def test_the_events_are_those_of_the_specification():
    tables.assert_equal(
        {(event.name, event.category.value) for event in EVENTS.values()}, "events.txt"
    )
