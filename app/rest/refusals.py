"""The error envelope in the OpenAPI document, and the refusals that each route can return."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.core import errors, messages
from app.core.actor import Access
from app.core.errors import DomainError
from app.rest.components import ref
from app.rest.fields import DeletedQuery, EmptyBody
from app.rest.routing import Route

Json = dict[str, Any]
Refusal = type[DomainError]

# Addresses of soft-deletable resources, deleted themselves or with their project: these return 410.
SOFT_DELETED = (
    "/projects/<",
    "/tickets/<",
    "/comments/<",
    "/wiki/pages/<",
    "/files/<",
    "/sticky-notes/<",
)


def _object(optional: Mapping[str, Json] | None = None, **required: Json) -> Json:
    properties = {**required, **(optional or {})}
    return {"type": "object", "required": list(required), "properties": properties}


def _text(description: str) -> Json:
    return {"type": "string", "description": description}


def _reason(known: Iterable[str]) -> Json:
    words = ", ".join(f"`{word}`" for word in sorted(known))
    return _text(f"The reason, as one word. More may be added: {words}.")


_MESSAGE = _text("A message that is safe to show.")
_RESOURCE = _object(
    resource=_text("What was looked for, such as `ticket`."),
    id=_text("The reference as it was sent."),
)
_PROBLEM = _object(
    loc={
        "type": "array",
        "items": {"type": ["string", "integer"]},
        "description": "`body` or `query`, then the path to the value.",
    },
    msg=_text("A sentence."),
    type=_text("A stable word, such as `missing`."),
)

# The reasons of a conflict, and the other fields of ``details``.
CONFLICTS: dict[str, dict[str, Json]] = {
    "already_converted": {"ticket_id": {"type": "string", "format": "uuid"}},
    "assignee_mismatch": {"assignee": {"anyOf": [ref("UserSummary"), {"type": "null"}]}},
    "delivery_already_succeeded": {},
    "duplicate_key": {"field": _text("The field whose value is in use.")},
    "etag_mismatch": {"etag": _text("The current ETag.")},
    "idempotency_mismatch": {},
    "invariant_violation": {},
    "state_in_use": {"ticket_count": {"type": "integer"}},
}


def _conflict_details() -> Json:
    optional = {
        name: {"description": f"With `{reason}`. {form.get('description', '')}".strip()}
        | {key: value for key, value in form.items() if key != "description"}
        for reason, forms in CONFLICTS.items()
        for name, form in forms.items()
    }
    return _object(optional, reason=_reason(CONFLICTS))


# The form of ``details`` for each code that always has them.
DETAILS: dict[Refusal, Json] = {
    errors.Forbidden: _object(
        {
            "review_state": {
                "anyOf": [ref("StateSummary"), {"type": "null"}],
                "description": "With `sign_off_required`. The state to use, if there is one.",
            }
        },
        reason=_reason(messages.FORBIDDEN_BY_REASON),
    ),
    errors.RequestInvalid: _object(
        {"more": {"type": "integer", "description": "How many more are not listed."}},
        errors={"type": "array", "items": ref("RequestProblem"), "minItems": 1, "maxItems": 50},
    ),
    errors.InvalidField: _object(
        field=_text("The name of the field, parameter or header."),
        reason=_text("What is wrong with it, such as `too_long`. More may be added."),
    ),
    errors.NotFound: _RESOURCE,
    errors.Gone: _RESOURCE,
    errors.Conflict: _conflict_details(),
    errors.RateLimited: _object(retry_after_seconds={"type": "integer", "minimum": 1}),
    errors.RequestTooLarge: _object(limit_bytes={"type": "integer"}),
}

# The form of ``details`` for codes that have them only sometimes.
SOMETIMES: dict[Refusal, Json] = {
    errors.InvalidCredentials: _object(
        reason=_text(
            "The reason, as one word, after a right password or of a passkey. More may be added: "
            "`passkey_invalid`, `passkey_over`, `totp_invalid`, `totp_required`."
        ),
    ),
}

# The errors that have no details, or have them only sometimes.
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

# The refusals of every operation. Add a refusal that is checked for all addresses here and to BARE
# or DETAILS, and nowhere else.
COMMON: tuple[Refusal, ...] = (
    errors.RequestMisdirected,
    errors.InvalidCredentials,
    errors.AmbiguousCredentials,
    DomainError,
    errors.Unavailable,
)

# Refusals outside of operations.
OF_NO_OPERATION: tuple[Refusal, ...] = (errors.MethodNotAllowed, errors.RequestMalformed)


def component_name(refusal: Refusal) -> str:
    return "InternalError" if refusal is DomainError else f"{refusal.__name__}Error"


def _details_name(refusal: Refusal) -> str:
    return component_name(refusal).removesuffix("Error") + "Details"


def components() -> dict[str, Json]:
    """``Error``, the error envelope, and one for each code.

    Every part is a named component without refinements: client generators make a type of each name,
    and few of them support refinements.
    """
    known: tuple[Refusal, ...] = (*DETAILS, *BARE, *OF_NO_OPERATION)
    codes = ", ".join(f"`{code}`" for code in sorted({refusal.code for refusal in known}))
    body = _object(
        {
            "details": {
                "type": "object",
                "additionalProperties": True,
                "description": "Its shape depends on the code.",
            }
        },
        code=_text(f"What clients switch on. More codes may be added: {codes}."),
        message=_MESSAGE,
    )
    schemas = {
        "Error": _object(error=ref("ErrorBody"))
        | {"description": "The body of every response with a status of 400 or above."},
        "ErrorBody": body | {"description": "What went wrong."},
        "RequestProblem": _PROBLEM | {"description": "A problem with a field of a request."},
        "InternalDetails": _object({"trace_id": {"type": "string", "format": "uuid"}})
        | {"description": "Only in development: the request id, to find the trace in the log."},
    }
    for refusal in (*DETAILS, *BARE):
        schemas |= _components_of(refusal)
    return schemas


def _components_of(refusal: Refusal) -> dict[str, Json]:
    name = component_name(refusal)
    meaning = "An unhandled exception."
    if refusal is not DomainError:
        meaning = (refusal.__doc__ or "").split(";")[0].strip()
    schemas = {name: _object(error=ref(f"{name}Body")) | {"description": meaning}}
    parts: dict[str, Json] = {
        "code": {"type": "string", "const": refusal.code},
        "message": _MESSAGE,
    }
    optional = {}
    if refusal in DETAILS:
        parts["details"] = ref(_details_name(refusal))
        schemas[_details_name(refusal)] = DETAILS[refusal] | {
            "description": f"`details` of `{refusal.code}`."
        }
    elif refusal in SOMETIMES:
        optional["details"] = ref(_details_name(refusal))
        schemas[_details_name(refusal)] = SOMETIMES[refusal] | {
            "description": f"`details` of `{refusal.code}`, where it has any."
        }
    elif refusal is DomainError:
        optional["details"] = ref("InternalDetails")
    schemas[f"{name}Body"] = _object(optional, **parts) | {"description": meaning}
    return schemas


def _of_route(route: Route) -> Iterator[tuple[int, Refusal]]:
    yield from ((refusal.status, refusal) for refusal in COMMON)
    if route.access is not Access.PUBLIC:
        yield 401, errors.Unauthenticated
    if route.access is Access.WRITE:
        yield 403, errors.ReadOnlyBot
    reads_deleted = route.query is not None and issubclass(route.query, DeletedQuery)
    # A write may be a cross-site request.
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


def _of_form(route: Route) -> Iterator[tuple[int, Refusal]]:
    if route.writes:
        yield 408, errors.RequestTimeout
        yield 413, errors.RequestTooLarge
        # Returned when too many bodies arrive slowly.
        yield 429, errors.RateLimited
    if route.body is not None or route.query is not None:
        yield 422, errors.RequestInvalid
    has_fields = route.body is not None and route.body is not EmptyBody
    has_pages = route.paginated and route.query is not None
    if has_fields or has_pages or route.idempotent:
        yield 422, errors.InvalidField
    if has_pages:
        yield 400, errors.InvalidField


def responses(route: Route) -> dict[str, Json]:
    """The error responses of a route, one per status, with the schemas of its codes."""
    grouped: dict[int, dict[Refusal, None]] = {}
    for status, refusal in _of_route(route):
        grouped.setdefault(status, {})[refusal] = None
    return {str(status): _response(list(grouped[status])) for status in sorted(grouped)}


def _response(refusals: list[Refusal]) -> Json:
    schemas = [ref(component_name(refusal)) for refusal in refusals]
    headers = {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}}
    if errors.RateLimited in refusals:
        headers["Retry-After"] = {"$ref": "#/components/headers/Retry-After"}
    return {
        "description": ", ".join(f"`{refusal.code}`" for refusal in refusals),
        "headers": headers,
        "content": {
            "application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}
        },
    }
