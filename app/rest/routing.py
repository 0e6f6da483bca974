"""One ``Route`` record per endpoint, the input and result of its view, and the form of responses.

``Api.route`` registers a view with its record. The dispatcher and the OpenAPI document read the
same record, so neither can drift from the other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from flask import Response
from marshmallow import Schema

from app.core.actor import Access, Actor, Operation, Peer
from app.http.flask_app import Reply

# JSON needs no charset, but the contract of version 1 names one.
JSON_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Call:
    """One request as a view sees it: checked, and without Flask."""

    actor: Actor
    peer: Peer
    path: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    if_match: str | None = None
    # What ``Route.prepares`` returned.
    prepared: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a view: its body (None for 204), status and headers.

    An expensive body may be a function, which is not called if the response is 304.
    """

    body: Any | Callable[[], Any] = None
    status: int = 200
    location: str | None = None
    etag: str | None = None
    # For a body that shows more than the ETag covers: whether the body is unchanged as well.
    is_current: Callable[[], bool] | None = None
    cookies: tuple["Cookie", ...] = ()
    # What a bot has read with this answer, in the form of ``current_g().bot_reads``.
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


View = Callable[[Call], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """Everything about one endpoint."""

    method: str
    rule: str
    operation_id: str
    tag: str
    calls: Operation[Any, Any]
    view: View
    status: int = 200
    # Further success statuses with the same body.
    also: tuple[int, ...] = ()
    body: type[Schema] | None = None
    query: type[Schema] | None = None
    returns: type[Schema] | None = None
    # Returns a collection of ``returns``.
    paginated: bool = False
    # The fields of that collection beside the rows.
    beside: type[Schema] | None = None
    # Accepts Idempotency-Key.
    idempotent: bool = False
    # A GET that sends an ETag and honors If-None-Match.
    conditional: bool = False
    # A PATCH or DELETE that honors If-Match.
    if_match: bool = False
    # The view opens its own units of work, because slow work must not hold a connection.
    own_transactions: bool = False
    # The body is a multipart form with a file. Called for slow work, outside of any unit of work,
    # before that of the view.
    prepares: Callable[[Call], Any] | None = None
    # The body of the response is a ``Download``.
    downloads: bool = False
    # Requires X-Requested-By: web.
    requested_by: bool = False
    # The document's links: operations that take the ``key`` of the response (in a list, of its
    # first row) and the variables that both addresses share.
    leads_to: tuple[str, ...] = ()
    key: str = "id"
    # For the document: errors that do not follow from the other fields.
    errors: tuple[type[Any], ...] = ()

    @property
    def access(self) -> Access:
        return self.calls.access

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def takes_file(self) -> bool:
        return self.prepares is not None

    @property
    def description(self) -> str:
        """The view's docstring: the public description."""
        return (self.view.__doc__ or "").strip()


class Api:
    """The routes of one domain, collected at import."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.routes: list[Route] = []

    def route(
        self,
        method: str,
        rule: str,
        operation_id: str,
        *,
        calls: Operation[Any, Any],
        tag: str | None = None,
        **options: Any,
    ) -> Callable[[View], View]:
        """Register a view; ``options`` are the other fields of Route."""

        def register(view: View) -> View:
            self.routes.append(
                Route(method, rule, operation_id, tag or self.tag, calls, view, **options)
            )
            return view

        return register


class Registry:
    """All routes of the application, by operation id."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}

    def add(self, api: Api) -> None:
        """Add the routes of a domain; raises ValueError for a repeated operation id."""
        for route in api.routes:
            if route.operation_id in self.routes:
                raise ValueError(f"operation id {route.operation_id} is used twice")
            self.routes[route.operation_id] = route


@dataclass(frozen=True, slots=True)
class Rendered:
    """A response as bytes and headers, before it becomes a Flask response."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def as_json(body: Any) -> bytes:
    """JSON that ends with a newline, for people who read it in a shell."""
    return orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)


def render(answer: Answer, base_url: str, body: Any) -> Rendered:
    """The bytes and headers of an answer; ``body`` replaces its body."""
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
