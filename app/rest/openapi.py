"""The OpenAPI 3.1 document at /api/v1/openapi.json, and the pages that render it."""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, request

from app.config import Settings
from app.core.etag import matches
from app.http.current import Authentication
from app.rest import operations, refusals
from app.rest.components import PAGE, Components, add_event_payloads
from app.rest.dispatch import check_credentials
from app.rest.operations import path_of
from app.rest.routing import Registry, Rendered, as_json, respond

Json = dict[str, Any]

# Only these two pages need this: the renderers style elements by script, and Redoc starts a worker
# from a blob.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

ASSETS = Path(__file__).parent / "assets"
RENDERERS = ("docs", "redoc")
# (renderer, file name) -> (package, path inside it)
PACKAGED = {
    ("docs", "swagger-ui.css"): ("flask_swagger_ui", "dist/swagger-ui.css"),
    ("docs", "swagger-ui-bundle.js"): ("flask_swagger_ui", "dist/swagger-ui-bundle.js"),
    ("redoc", "redoc.standalone.js"): (
        "flask_openapi3_redoc",
        "templates/redoc/js/redoc.standalone.js",
    ),
}

TAGS = {
    "auth": "Login, first-run setup and the current actor.",
    "users": "People and bots.",
    "bots": "Bots and their tokens.",
    "projects": "Projects with their workflow states and labels.",
    "tickets": "Tickets, relations, links, watchers and activity.",
    "comments": "Comments on tickets.",
    "wiki": "Wiki pages, revisions, backlinks and broken links.",
    "files": "Files on tickets, comments and wiki pages.",
    "sticky-notes": "Personal notes and notes of a project.",
    "search": "Search over tickets and wiki pages.",
    "audit": "The audit log.",
    "integrations": "Connections to GitHub, GitLab, Gitea and Forgejo.",
    "rewind": "Undoing what a bot or an import did.",
    "webhooks": "Webhooks and their deliveries.",
}

DESCRIPTION = """\
Tickets for people and bots. People authenticate with a session cookie, bots with the header
`X-API-Key`. `x-access` says who can call an operation: `anon` anyone, `H` humans, `H,B/R` humans
and bots, `H,B/W` humans and bots in write mode.

Every response has `X-Request-Id`. Every error has the body `Error`; clients switch on its
`code`. Lists are paginated: send `next_cursor` as `cursor` until `has_more` is false.
"""


def blueprint(registry: Registry, settings: Settings, authentication: Authentication) -> Blueprint:
    """The document, which is public, and the renderers if they are enabled."""

    # Built at the first request: it takes 0.1 s, and few servers get one.
    @cache
    def built() -> tuple[bytes, str]:
        content = as_json(document(registry, settings))
        return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    api = Blueprint("openapi", __name__, url_prefix="/api/v1")

    @api.get("/openapi.json", provide_automatic_options=False)
    def openapi_json() -> Response:
        check_credentials(authentication, "openapi")
        content, tag = built()
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        tags = request.headers.get("If-None-Match")
        if tags is not None and matches(tags, tag):
            return respond(Rendered(304, b"", headers))
        return respond(Rendered(200, content, headers))

    if settings.docs_enabled:
        _install_renderers(api)
    return api


def document(registry: Registry, settings: Settings) -> Json:
    """The whole document; raises ValueError if two routes share an address and method."""
    components = Components(
        f"{settings.app_name} API",
        settings.version,
        info={"description": DESCRIPTION, "license": {"name": "MIT", "identifier": "MIT"}},
        servers=[{"url": "/api/v1"}],
        security=[],
    )
    components.add("Page", PAGE)
    for name, component in refusals.components().items():
        components.add(name, component)
    add_event_payloads(components)
    paths = _paths(registry, components)
    components.finish()
    content: Json = components.spec.to_dict()
    content["tags"] = _tags(registry)
    content["paths"] = paths
    content["components"] |= {
        "headers": operations.HEADERS,
        "parameters": operations.PARAMETERS,
        "securitySchemes": operations.SECURITY_SCHEMES,
    }
    return content


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


def _install_renderers(blueprint: Blueprint) -> None:
    """Add the renderers' pages and files; raises RuntimeError if a file is not installed."""
    for renderer in RENDERERS:
        _serve(blueprint, f"/{renderer}", ASSETS / f"{renderer}.html", "text/html")
        _serve(blueprint, f"/{renderer}/start.js", ASSETS / f"{renderer}.js", "text/javascript")
    for (renderer, name), (package, path) in PACKAGED.items():
        mimetype = "text/css" if name.endswith(".css") else "text/javascript"
        _serve(blueprint, f"/{renderer}/{name}", _packaged(package, path), mimetype)


def _packaged(package: str, inside: str) -> Path:
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    path = Path(folders[0]) / inside if folders else None
    if path is None or not path.is_file():
        raise RuntimeError(f"{inside} of {package} is not installed: run `make install`")
    return path


def _serve(blueprint: Blueprint, rule: str, source: Path, mimetype: str) -> None:
    """Add a rule for one file, which is read once; browsers revalidate it on each use."""
    content = source.read_bytes()
    tag = hashlib.sha256(content).hexdigest()[:32]

    def view() -> Response:
        response = Response(content, mimetype=mimetype)
        response.set_etag(tag)
        response.headers["Cache-Control"] = "private, no-cache"
        if mimetype == "text/html":
            response.headers["Content-Security-Policy"] = POLICY
        response.make_conditional(request)
        return response

    blueprint.add_url_rule(
        rule,
        endpoint=rule.strip("/").replace(".", "_").replace("/", "_"),
        view_func=view,
        provide_automatic_options=False,
    )
