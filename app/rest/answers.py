"""What a view answers, how it becomes a response, and the error envelope."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from flask import Response

from app.core.errors import DomainError
from app.http.flask_app import Reply

# JSON needs no charset; the contract of version 1 names one.
JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a view: its body (None for 204), status and headers.

    A body that is expensive may be a function, which is not called where the answer is 304.
    """

    body: Any | Callable[[], Any] = None
    status: int = 200
    location: str | None = None
    etag: str | None = None
    # For a body that shows more than the ETag covers: whether the body has not changed either.
    is_current: Callable[[], bool] | None = None
    cookies: tuple["Cookie", ...] = ()
    # What a bot has read once it has this answer, in the form that ``current_g().bot_reads`` has.
    shows: Callable[[], Sequence[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie to set or, with an empty value, to clear; ``max_age`` is in seconds."""

    name: str
    value: str
    max_age: int


def created(
    body: dict[str, Any],
    path: str,
    *,
    etag: str | None = None,
    shows: Callable[[], Sequence[Any]] | None = None,
) -> Answer:
    """201 with the resource; ``path`` is its address below /api/v1."""
    return Answer(body, 201, location=path, etag=etag, shows=shows)


NO_CONTENT = Answer(None, 204)


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer as bytes and headers, before it is a Flask response."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def as_json(body: Any) -> bytes:
    """JSON with a newline at its end, for people who read it in a shell."""
    return orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)


def render(answer: Answer, base_url: str, body: Any) -> Rendered:
    """The bytes and headers of an answer; ``body`` takes the place of its body."""
    headers = {}
    if answer.location is not None:
        headers["Location"] = f"{base_url}/api/v1{answer.location}"
    if answer.etag is not None:
        headers["ETag"] = answer.etag
    content = b"" if answer.status == 204 else as_json(body)
    return Rendered(answer.status, content, headers)


def respond(rendered: Rendered) -> Response:
    if rendered.status in (204, 304):
        response = Response(status=rendered.status, headers=rendered.headers)
        response.headers.pop("Content-Type", None)
        return response
    headers = {"Content-Type": JSON_TYPE, **rendered.headers}
    return Reply(rendered.body, rendered.status, headers)


def envelope(code: str, message: str, details: dict[str, Any] | None) -> dict[str, Any]:
    """The body of an error."""
    error: dict[str, Any] = {"code": code, "message": message}
    if details is not None:
        error["details"] = details
    return {"error": error}


def error_response(error: DomainError) -> Response:
    body = as_json(envelope(error.code, error.message, error.details))
    return respond(Rendered(error.status, body, error.headers))
