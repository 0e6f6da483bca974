"""The OpenAPI 3.1 document at /api/v1/openapi.json, built from the routes when first asked for."""

import hashlib
from functools import cache
from typing import Any

from flask import Blueprint, Response, request

from app.config import Settings
from app.core.etag import matches
from app.rest import docs, operations, refusals
from app.rest.addresses import path_of
from app.rest.answers import Rendered, as_json, respond
from app.rest.components import PAGE, Components, add_event_payloads
from app.rest.dispatch import Identity, check_credentials
from app.rest.routing import Registry

Json = dict[str, Any]

TAGS = {
    "auth": "Login, first-run setup and the current actor.",
    "users": "People and bots.",
    "bots": "Bots and their tokens.",
    "projects": "Projects with their workflow states and labels.",
    "tickets": "Tickets, relations, watchers and activity.",
    "comments": "Comments on tickets.",
    "wiki": "Wiki pages, revisions, backlinks and broken links.",
    "sticky-notes": "Personal notes and notes of a project.",
    "search": "Search over tickets and wiki pages.",
    "audit": "The audit log.",
    "webhooks": "Webhooks and their deliveries.",
}

DESCRIPTION = """\
Tickets for people and bots. A human calls with a session cookie, a bot with the header
`X-API-Key`. `x-access` says who may call an operation: `anon` anyone, `H` humans, `H,B/R` humans
and bots, `H,B/W` humans and bots in write mode.

Every answer carries `X-Request-Id`. Every failure has the body `Error`; clients switch on its
`code`. Lists are paginated: send `next_cursor` as `cursor` until `has_more` is false.
"""


def document(registry: Registry, settings: Settings) -> Json:
    """The whole document; raises ValueError where an address is described twice."""
    components = Components(
        f"{settings.app_name} API",
        settings.version,
        info={"description": DESCRIPTION, "license": {"name": "MIT", "identifier": "MIT"}},
        servers=[{"url": "/api/v1"}],
        security=[],
    )
    components.add("Page", PAGE)
    for name, written in refusals.components().items():
        components.add(name, written)
    add_event_payloads(components)
    paths = _paths(registry, components)
    components.finish()
    made: Json = components.spec.to_dict()
    made["tags"] = _tags(registry)
    made["paths"] = paths
    made["components"] |= {
        "headers": operations.HEADERS,
        "parameters": operations.PARAMETERS,
        "securitySchemes": operations.SECURITY_SCHEMES,
    }
    return made


def _paths(registry: Registry, components: Components) -> dict[str, Json]:
    versioned = {
        route.returns
        for route in registry.routes.values()
        if route.conditional and route.returns is not None
    }
    paths: dict[str, Json] = {}
    for route in registry.routes.values():
        methods = paths.setdefault(path_of(route), {})
        if route.method.lower() in methods:
            raise ValueError(f"{route.method} {route.rule} is described twice")
        methods[route.method.lower()] = operations.operation(
            route, registry.routes, components, versioned
        )
    return paths


def _tags(registry: Registry) -> list[Json]:
    used = {route.tag for route in registry.routes.values()}
    if used - TAGS.keys():
        raise ValueError(f"unknown tags: {sorted(used - TAGS.keys())}")
    return [{"name": tag, "description": text} for tag, text in TAGS.items() if tag in used]


def blueprint(registry: Registry, settings: Settings, identity: Identity) -> Blueprint:
    """The document's route, which anyone may read at all times, and the renderers' if enabled."""

    @cache
    def written() -> tuple[bytes, str]:
        """The document and its ETag: a tenth of a second, for what few servers are asked for."""
        content = as_json(document(registry, settings))
        return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    made = Blueprint("openapi", __name__, url_prefix="/api/v1")

    @made.get("/openapi.json", provide_automatic_options=False)
    def openapi_json() -> Response:
        check_credentials(identity, "openapi")
        content, tag = written()
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        seen = request.headers.get("If-None-Match")
        if seen is not None and matches(seen, tag):
            return respond(Rendered(304, b"", headers))
        return respond(Rendered(200, content, headers))

    if settings.docs_enabled:
        docs.install(made)
    return made
