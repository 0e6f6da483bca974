"""The operation of a route in the OpenAPI document."""

import inspect
import re
from collections.abc import Mapping
from typing import Any

from marshmallow import Schema

from app.core.actor import Access
from app.http.multipart import FORM_TYPE
from app.rest import refusals
from app.rest.components import Components
from app.rest.examples import example_of, page_of
from app.rest.fields import CreateSchema, instance
from app.rest.routing import Route

Json = dict[str, Any]

_VARIABLE = re.compile(r"<([a-z_]+)>")

# The values besides a UUID that the first variable of a path accepts.
REFERENCES = {
    "ticket_id": "A UUID or a display id such as `OPS-12`.",
    "slug_or_id": "A UUID or a slug.",
    "reaction": "The name of a reaction; anything else is not found.",
}
# OpenAPI allows one template per address, although its methods accept different references.
SHARED = {"/wiki/pages/<page_id>": "slug_or_id"}

SECURITY: dict[Access, list[Json]] = {
    Access.PUBLIC: [],
    Access.READ: [{"session": []}, {"apiKey": []}],
    Access.WRITE: [{"session": []}, {"apiKey": []}],
    Access.HUMAN: [{"session": []}],
}

SECURITY_SCHEMES: dict[str, Json] = {
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "app_session",
        "description": "The session of a human, from `auth.login`.",
    },
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The token of a bot. It cannot be combined with a session cookie.",
    },
}

PARAMETERS: dict[str, Json] = {
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string", "minLength": 1, "maxLength": 128},
        "description": "A key of the client's choice. The same request under the same key is done "
        "once and its response replayed, with `Idempotency-Replayed: true`.",
    },
    "If-Match": {
        "name": "If-Match",
        "in": "header",
        "schema": {"type": "string"},
        "description": "Proceed only if the resource has this ETag; otherwise 409 `etag_mismatch`.",
    },
    "If-None-Match": {
        "name": "If-None-Match",
        "in": "header",
        "schema": {"type": "string"},
        "description": "Respond with 304 and no body if the resource has this ETag.",
    },
    "Range": {
        "name": "Range",
        "in": "header",
        "schema": {"type": "string"},
        "description": "Respond with these bytes, such as `bytes=0-1023`; one range.",
    },
    "X-Requested-By": {
        "name": "X-Requested-By",
        "in": "header",
        "required": True,
        # Not a const: client generators do not send those.
        "schema": {"type": "string", "enum": ["web"]},
        "description": "Shows that the request did not come from another site.",
    },
}

HEADERS: dict[str, Json] = {
    "X-Request-Id": {
        "description": "The id of this request; its audit events carry it.",
        "required": True,
        "schema": {"type": "string", "format": "uuid"},
    },
    "Location": {
        "description": "The address of what was created.",
        "schema": {"type": "string", "format": "uri"},
    },
    "ETag": {
        "description": "The version of the resource, for If-Match and If-None-Match.",
        "schema": {"type": "string", "pattern": '^W/"[0-9]+-[0-9a-f]{8}"$'},
    },
    "FileETag": {
        "description": "Identifies the content, for If-None-Match and If-Range.",
        "schema": {"type": "string", "pattern": '^"[0-9a-f]{32}"$'},
    },
    "Content-Range": {
        "description": "Which bytes these are, and of how many.",
        "schema": {"type": "string"},
    },
    "Idempotency-Replayed": {
        "description": "Set on a response replayed for the Idempotency-Key.",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {
        "description": "Seconds until another attempt is allowed.",
        "schema": {"type": "integer", "minimum": 1},
    },
}

BINARY = {"type": "string", "format": "binary"}
# The types of downloads: re-encoded images have their type, other files are octet streams.
DOWNLOADED = (
    "application/octet-stream",
    *("image/png", "image/jpeg", "image/gif", "image/webp"),
)

MEANINGS = {
    200: "OK.",
    201: "Created.",
    204: "Success, with no content.",
    206: "The part that `Range` names.",
    304: "Not modified: it still has the ETag that was sent.",
}


def path_of(route: Route) -> str:
    """The path in the document, where the first variable is the resource's ``id``."""
    names = iter(path_names(route))
    return _VARIABLE.sub(lambda _: f"{{{next(names)}}}", route.rule)


def path_names(route: Route) -> list[str]:
    """The names of the path's variables in the document."""
    names = variables(route)
    if not names:
        return []
    known = {"ticket_id": "id_or_display_id", "slug_or_id": "slug_or_id"}
    first = SHARED.get(route.rule) or known.get(names[0], "id")
    return [first, *names[1:]]


def variables(route: Route) -> list[str]:
    """The names of the path's variables in the view."""
    names: list[str] = _VARIABLE.findall(route.rule)
    return names


def link(route: Route, target: Route) -> Json:
    """The link from a response of ``route`` to ``target``.

    Variables that both addresses share keep their values. Exactly one must be left, which takes the
    key of the response; raises ValueError otherwise.
    """
    known = dict(zip(_prefixes(route), path_names(route), strict=True))
    row = "/data/0" if route.paginated else ""
    parameters, left = {}, []
    for prefix, name in zip(_prefixes(target), path_names(target), strict=True):
        if prefix in known:
            parameters[name] = f"$request.path.{known[prefix]}"
        else:
            parameters[name] = f"$response.body#{row}/{route.key}"
            left.append(name)
    if len(left) != 1:
        raise ValueError(f"{route.operation_id} cannot lead to {target.operation_id}: {left}")
    return {"operationId": target.operation_id, "parameters": parameters}


def _prefixes(route: Route) -> list[str]:
    """For each variable, the address up to it."""
    return [route.rule[: match.end()] for match in _VARIABLE.finditer(route.rule)]


def operation(
    route: Route, routes: Mapping[str, Route], components: Components, versioned: set[type[Schema]]
) -> Json:
    """The operation object; ``versioned`` are the schemas of resources that have an ETag.

    Raises ValueError for an incomplete example or link, KeyError for a link to no operation.
    """
    summary, _, rest = inspect.cleandoc(route.description).partition("\n")
    described: Json = {
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": summary.rstrip("."),
        "security": SECURITY[route.access],
        "x-access": route.access.value,
        "parameters": _parameters(route, components),
    }
    if rest.strip():
        described["description"] = f"{summary}\n\n{rest.strip()}"
    if route.body is not None:
        described["requestBody"] = _body(route.body, components, takes_file=route.takes_file)
    described["responses"] = _successes(route, components, versioned) | refusals.responses(route)
    if route.leads_to:
        links = {name: link(route, routes[name]) for name in route.leads_to}
        for status in (route.status, *route.also):
            described["responses"][str(status)]["links"] = links
    return described


def _parameters(route: Route, components: Components) -> list[Json]:
    named = zip(path_names(route), variables(route), strict=True)
    parameters = [_path_parameter(name, variable) for name, variable in named]
    if route.query is not None:
        for name, field in instance(route.query).fields.items():
            schema = components.property(field)
            # A query has no null: the parameter is omitted instead.
            if isinstance(schema.get("type"), list):
                schema["type"] = schema["type"][0]
            if schema.get("default", ...) is None:
                del schema["default"]
            parameter: Json = {"name": name, "in": "query"}
            if field.required:
                parameter["required"] = True
            parameter["schema"] = schema
            if "description" in schema:
                parameter["description"] = schema.pop("description")
            parameters.append(parameter)
    flags = {
        "Idempotency-Key": route.idempotent,
        "If-Match": route.if_match,
        "If-None-Match": route.conditional or route.downloads,
        "Range": route.downloads,
        "X-Requested-By": route.requested_by,
    }
    return parameters + [
        {"$ref": f"#/components/parameters/{name}"} for name, takes in flags.items() if takes
    ]


def _path_parameter(name: str, variable: str) -> Json:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string"},
        "description": REFERENCES.get(variable, "A UUID; anything else is not found."),
    }


def _body(schema: type[Schema], components: Components, *, takes_file: bool) -> Json:
    reference = components.refer(schema)
    return {
        "required": any(field.required for field in instance(schema).fields.values()),
        "content": {FORM_TYPE: {"schema": reference}}
        if takes_file
        else _json(reference, example_of(schema)),
    }


def _successes(
    route: Route, components: Components, versioned: set[type[Schema]]
) -> dict[str, Json]:
    content = _content(route, components)
    successes = {}
    for status in (route.status, *route.also, *((206,) if route.downloads else ())):
        headers = ["X-Request-Id"]
        if status == 201:
            headers.append("Location")
        if route.returns in versioned and not route.paginated:
            headers.append("ETag")
        if route.downloads:
            headers += ["FileETag", "Content-Range"] if status == 206 else ["FileETag"]
        if route.idempotent:
            headers.append("Idempotency-Replayed")
        successes[str(status)] = _success(MEANINGS[status], headers, content)
    if route.conditional:
        successes["304"] = _success(MEANINGS[304], ["X-Request-Id", "ETag"], {})
    if route.downloads:
        successes["304"] = _success(MEANINGS[304], ["X-Request-Id", "FileETag"], {})
    return successes


def _success(meaning: str, headers: list[str], content: Json) -> Json:
    references = {
        name.removeprefix("File"): {"$ref": f"#/components/headers/{name}"} for name in headers
    }
    return {"description": meaning, "headers": references, **content}


def _content(route: Route, components: Components) -> Json:
    if route.downloads:
        return {"content": {kind: {"schema": BINARY} for kind in DOWNLOADED}}
    if route.returns is None:
        return {}
    if route.body is not None and issubclass(route.body, CreateSchema):
        components.echo_in(route.returns)
    if route.paginated:
        around = (route.returns, route.beside)
        content = _json(components.page_of(*around), page_of(*around))
    else:
        content = _json(components.refer(route.returns), example_of(route.returns))
    return {"content": content}


def _json(schema: Json, example: Json) -> Json:
    return {"application/json": {"schema": schema, "example": example}}
