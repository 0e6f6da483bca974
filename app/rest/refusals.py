"""The error envelope in the OpenAPI document, and which refusals each route can answer."""

from collections.abc import Iterator
from typing import Any

from app.core import errors
from app.core.actor import Access
from app.core.errors import DomainError
from app.rest.fields import DeletedQuery, EmptyBody
from app.rest.routing import Route

Json = dict[str, Any]
Refusal = type[DomainError]

# What is soft-deleted, or lies in a project that may be, answers 410.
SOFT_DELETED = ("/projects/<", "/tickets/<", "/comments/<", "/wiki/pages/<", "/sticky-notes/<")


def _object(*, required: bool = True, **properties: Json) -> Json:
    made: Json = {"type": "object", "properties": properties}
    return made | ({"required": list(properties)} if required else {})


_TEXT: Json = {"type": "string"}
_NAMED = _object(resource=_TEXT, id={"type": "string", "description": "As it was sent."})
_PROBLEM = _object(
    loc={
        "type": "array",
        "items": {"type": ["string", "integer"]},
        "description": "`body` or `query`, then the path to the value.",
    },
    msg=_TEXT,
    type={"type": "string", "description": "A stable word, such as `missing`."},
)

# The form of ``details``, for each code that has any.
DETAILS: dict[Refusal, Json] = {
    errors.Forbidden: _object(reason=_TEXT),
    errors.RequestInvalid: {
        "type": "object",
        "required": ["errors"],
        "properties": {
            "errors": {"type": "array", "items": _PROBLEM, "minItems": 1, "maxItems": 50},
            "more": {"type": "integer", "description": "How many further ones are not listed."},
        },
    },
    errors.InvalidField: _object(field=_TEXT, reason=_TEXT),
    errors.NotFound: _NAMED,
    errors.Gone: _NAMED,
    errors.Conflict: _object(reason=_TEXT),
    errors.RateLimited: _object(retry_after_seconds={"type": "integer", "minimum": 1}),
    errors.RequestTooLarge: _object(limit_bytes={"type": "integer"}),
}

# The codes without details; in development, server.internal has a trace_id.
BARE: tuple[Refusal, ...] = (
    errors.Unauthenticated,
    errors.InvalidCredentials,
    errors.AmbiguousCredentials,
    errors.ReadOnlyBot,
    errors.CurrentPasswordInvalid,
    errors.PasswordTooShort,
    errors.PasswordTooCommon,
    errors.PasswordUnchanged,
    errors.RequestTimeout,
    errors.RequestMisdirected,
    DomainError,
    errors.Unavailable,
)


# What is answered where no operation is reached.
OF_NO_OPERATION: tuple[Refusal, ...] = (errors.MethodNotAllowed, errors.RequestMalformed)


def component_name(refusal: Refusal) -> str:
    """The name of a refusal's schema in the document."""
    return "InternalError" if refusal is DomainError else f"{refusal.__name__}Error"


def components() -> dict[str, Json]:
    """``Error``, the envelope of every failure, and one refinement of it for each code."""
    known: tuple[Refusal, ...] = (*DETAILS, *BARE, *OF_NO_OPERATION)
    codes = sorted({refusal.code for refusal in known})
    made = {
        "Error": _object(
            error={
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": {
                        "type": "string",
                        "description": "What clients switch on. More codes may come: "
                        + ", ".join(f"`{code}`" for code in codes)
                        + ".",
                    },
                    "message": {"type": "string", "description": "A sentence, safe to show."},
                    "details": {"type": "object", "description": "Its form depends on the code."},
                },
            }
        )
        | {"description": "The body of every answer with a status of 400 or above."}
    }
    for refusal in (*DETAILS, *BARE):
        narrowed: Json = {"properties": {"code": {"const": refusal.code}}}
        if refusal in DETAILS:
            narrowed["properties"]["details"] = DETAILS[refusal]
            narrowed["required"] = ["details"]
        made[component_name(refusal)] = {
            "description": (refusal.__doc__ or "").split(";")[0].strip()
            if refusal is not DomainError
            else "An unhandled exception.",
            "allOf": [{"$ref": "#/components/schemas/Error"}],
            "properties": {"error": narrowed},
        }
    return made


def _of_route(route: Route) -> Iterator[tuple[int, Refusal]]:
    """Every (status, refusal) that this route can answer."""
    yield from ((401, errors.InvalidCredentials), (401, errors.AmbiguousCredentials))
    if route.access is not Access.PUBLIC:
        yield 401, errors.Unauthenticated
    if route.access is Access.WRITE:
        yield 403, errors.ReadOnlyBot
    reads_deleted = route.query is not None and issubclass(route.query, DeletedQuery)
    # A state-changing request with a cookie can come from another site.
    if route.access is Access.HUMAN or route.writes or reads_deleted:
        yield 403, errors.Forbidden
    yield from _of_form(route)
    if "<" in route.rule:
        yield 404, errors.NotFound
    if route.rule.startswith(SOFT_DELETED):
        yield 410, errors.Gone
    if route.if_match or route.idempotent:
        yield 409, errors.Conflict
    for refusal in route.errors:
        yield (422 if refusal is errors.InvalidField else refusal.status), refusal
    yield from ((421, errors.RequestMisdirected), (500, DomainError), (503, errors.Unavailable))


def _of_form(route: Route) -> Iterator[tuple[int, Refusal]]:
    if route.writes:
        yield 408, errors.RequestTimeout
        yield 413, errors.RequestTooLarge
        # Of too many bodies that arrive slowly.
        yield 429, errors.RateLimited
    if route.body is not None or route.query is not None:
        yield 422, errors.RequestInvalid
    judged = route.body is not None and route.body is not EmptyBody
    lists = route.paginated and route.query is not None
    if judged or lists or route.idempotent:
        yield 422, errors.InvalidField
    if lists:
        yield 400, errors.InvalidField


def responses(route: Route) -> dict[str, Json]:
    """The error responses of a route, one per status, with the schemas of its codes."""
    grouped: dict[int, dict[Refusal, None]] = {}
    for status, refusal in _of_route(route):
        grouped.setdefault(status, {})[refusal] = None
    return {str(status): _response(list(grouped[status])) for status in sorted(grouped)}


def _response(refusals: list[Refusal]) -> Json:
    schemas = [{"$ref": f"#/components/schemas/{component_name(one)}"} for one in refusals]
    headers = {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}}
    if errors.RateLimited in refusals:
        headers["Retry-After"] = {"$ref": "#/components/headers/Retry-After"}
    return {
        "description": ", ".join(f"`{one.code}`" for one in refusals),
        "headers": headers,
        "content": {
            "application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}
        },
    }
