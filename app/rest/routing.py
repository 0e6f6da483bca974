"""One ``Route`` record per endpoint.

``Api.route`` registers a view with its record. The dispatcher and the OpenAPI document read the
same record, so neither can drift from the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from marshmallow import Schema

from app.core.actor import Access, Actor, Operation
from app.rest.answers import Answer


@dataclass(frozen=True, slots=True)
class Call:
    """One request as a view sees it: checked, and without Flask."""

    actor: Actor
    path: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    if_match: str | None = None
    client: "Caller | None" = None
    # What ``Route.prepares`` returned.
    prepared: Any = None


@dataclass(frozen=True, slots=True)
class Caller:
    """The client: its address behind the trusted proxies, and its user agent.

    A local client is on this machine and connects without a proxy.
    """

    address: str
    user_agent: str
    is_local: bool = False


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
    # Further statuses of success, with the same body.
    also: tuple[int, ...] = ()
    body: type[Schema] | None = None
    query: type[Schema] | None = None
    returns: type[Schema] | None = None
    # Answers the list envelope around ``returns``.
    paginated: bool = False
    # What that envelope has beside the rows.
    beside: type[Schema] | None = None
    # Accepts Idempotency-Key.
    idempotent: bool = False
    # A GET that answers ETag and honors If-None-Match.
    conditional: bool = False
    # A PATCH or DELETE that honors If-Match.
    if_match: bool = False
    # The view opens its own units of work, as slow work must not hold a connection.
    own_transactions: bool = False
    # The body is a multipart form with a file. Called outside of any unit of work, before the one
    # of the view, for what takes long.
    prepares: Callable[[Call], Any] | None = None
    # The body of the answer is a ``Download``.
    downloads: bool = False
    # Needs X-Requested-By: web.
    requested_by: bool = False
    # The document's links: operations that take the ``key`` of the answer (in a list, of its first
    # row) and the variables that both addresses share.
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
