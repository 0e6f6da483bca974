"""One operation of the OpenAPI document, from the Route that also answers it."""

import inspect
import re
from collections.abc import Mapping
from typing import Any

from marshmallow import Schema

from app.core.actor import Access
from app.rest import refusals
from app.rest.components import Components
from app.rest.examples import example_of, page_of
from app.rest.fields import CreateSchema, instance
from app.rest.routing import Route

Json = dict[str, Any]

_VARIABLE = re.compile(r"<([a-z_]+)>")

# What the first variable of a path takes, where it is more than a UUID.
REFERENCES = {
    "ticket_id": "A UUID or a display id such as `OPS-12`.",
    "slug_or_id": "A UUID or a slug.",
}
# One address has one template in the document, whatever its methods take (OpenAPI, Paths Object).
SHARED = {"/wiki/pages/<page_id>": "slug_or_id"}


def path_of(route: Route) -> str:
    """The path as the document writes it: the first variable is the resource's own ``id``."""
    names = iter(path_names(route))
    return _VARIABLE.sub(lambda _: f"{{{next(names)}}}", route.rule)


def path_names(route: Route) -> list[str]:
    """The names of the path's variables in the document."""
    found = variables(route)
    if not found:
        return []
    known = {"ticket_id": "id_or_display_id", "slug_or_id": "slug_or_id"}
    first = SHARED.get(route.rule) or known.get(found[0], "id")
    return [first, *found[1:]]


def variables(route: Route) -> list[str]:
    """The names of the path's variables, as the view gets them."""
    found: list[str] = _VARIABLE.findall(route.rule)
    return found


def link(route: Route, target: Route) -> Json:
    """How to go on from an answer of ``route`` to ``target``.

    What both addresses name stays the same; the one variable that is left takes the key of what is
    answered. Raises ValueError where none or more are left.
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
    return [route.rule[: found.end()] for found in _VARIABLE.finditer(route.rule)]


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
        "description": "The token of a bot. Together with a session cookie it is refused.",
    },
}

PARAMETERS: dict[str, Json] = {
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string", "minLength": 1, "maxLength": 128},
        "description": "A key of the client's choice. The same request under the same key is done "
        "once and its answer replayed, with `Idempotency-Replayed: true`.",
    },
    "If-Match": {
        "name": "If-Match",
        "in": "header",
        "schema": {"type": "string"},
        "description": "Go on only if the resource has this ETag; else 409 `etag_mismatch`.",
    },
    "If-None-Match": {
        "name": "If-None-Match",
        "in": "header",
        "schema": {"type": "string"},
        "description": "Answer 304 without a body if the resource has this ETag.",
    },
    "X-Requested-By": {
        "name": "X-Requested-By",
        "in": "header",
        "required": True,
        # Not a const, for which generators of clients have no header.
        "schema": {"type": "string", "enum": ["web"]},
        "description": "Says that our own pages, or a client on purpose, sent the request.",
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
    "Idempotency-Replayed": {
        "description": "The answer was stored under the Idempotency-Key before.",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {
        "description": "Seconds until another attempt is allowed.",
        "schema": {"type": "integer", "minimum": 1},
    },
}


def operation(
    route: Route,
    routes: Mapping[str, Route],
    components: Components,
    versioned: set[type[Schema]],
) -> Json:
    """The operation object; ``versioned`` are the schemas of resources that have an ETag.

    Raises ValueError for an example or a link that is not whole, KeyError for a link to nowhere.
    """
    summary, _, rest = inspect.cleandoc(route.description).partition("\n")
    made: Json = {
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": summary.rstrip("."),
        "security": SECURITY[route.access],
        "x-access": route.access.value,
        "parameters": _parameters(route, components),
    }
    if rest.strip():
        made["description"] = f"{summary}\n\n{rest.strip()}"
    if route.body is not None:
        made["requestBody"] = _body(route.body, components)
    made["responses"] = _successes(route, components, versioned) | refusals.responses(route)
    if route.leads_to:
        links = {name: link(route, routes[name]) for name in route.leads_to}
        for status in (route.status, *route.also):
            made["responses"][str(status)]["links"] = links
    return made


def _parameters(route: Route, components: Components) -> list[Json]:
    named = zip(path_names(route), variables(route), strict=True)
    found = [_path_parameter(name, variable) for name, variable in named]
    if route.query is not None:
        for name, field in instance(route.query).fields.items():
            schema = components.property(field)
            # An absent parameter is no null: a query knows none.
            if isinstance(schema.get("type"), list):
                schema["type"] = schema["type"][0]
            if schema.get("default", ...) is None:
                del schema["default"]
            described = (
                {"description": schema.pop("description")} if "description" in schema else {}
            )
            required = {"required": True} if field.required else {}
            found.append({"name": name, "in": "query", **required, "schema": schema, **described})
    flags = {
        "Idempotency-Key": route.idempotent,
        "If-Match": route.if_match,
        "If-None-Match": route.conditional,
        "X-Requested-By": route.requested_by,
    }
    return found + [
        {"$ref": f"#/components/parameters/{name}"} for name, takes in flags.items() if takes
    ]


def _path_parameter(name: str, variable: str) -> Json:
    taken = REFERENCES.get(variable, "A UUID; anything else is not found.")
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string"},
        "description": taken,
    }


def _body(schema: type[Schema], components: Components) -> Json:
    required = any(field.required for field in instance(schema).fields.values())
    return {
        "required": required,
        "content": _json(components.refer(schema), example_of(schema)),
    }


def _successes(
    route: Route, components: Components, versioned: set[type[Schema]]
) -> dict[str, Json]:
    content = _content(route, components)
    found = {}
    for status in (route.status, *route.also):
        headers = ["X-Request-Id"]
        if status == 201:
            headers.append("Location")
        if route.returns in versioned and not route.paginated:
            headers.append("ETag")
        if route.idempotent:
            headers.append("Idempotency-Replayed")
        found[str(status)] = _success(_MEANING[status], headers, content)
    if route.conditional:
        found["304"] = _success(_MEANING[304], ["X-Request-Id", "ETag"], {})
    return found


_MEANING = {
    200: "Done.",
    201: "Created.",
    204: "Done; there is nothing to show.",
    304: "It still has the ETag that was sent.",
}


def _success(meaning: str, headers: list[str], content: Json) -> Json:
    shown = {name: {"$ref": f"#/components/headers/{name}"} for name in headers}
    return {"description": meaning, "headers": shown, **content}


def _content(route: Route, components: Components) -> Json:
    """The body of a success."""
    if route.returns is None:
        return {}
    if route.body is not None and issubclass(route.body, CreateSchema):
        components.echo_in(route.returns)
    if route.paginated:
        content = _json(components.page_of(route.returns), page_of(route.returns))
    else:
        content = _json(components.refer(route.returns), example_of(route.returns))
    return {"content": content}


def _json(schema: Json, example: Json) -> Json:
    return {"application/json": {"schema": schema, "example": example}}
