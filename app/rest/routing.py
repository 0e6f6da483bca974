"""One ``Route`` record per endpoint: it parses, guards, documents and answers.

``Api.route`` registers a view together with its record; the dispatcher (``dispatch.py``) and the
OpenAPI document (``openapi.py``) read the same record, so neither can drift from the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from marshmallow import Schema

from app.core.actor import Access, Actor, Operation
from app.rest.answers import Answer


@dataclass(frozen=True, slots=True)
class Call:
    """One request as a view sees it: checked, and free of Flask."""

    actor: Actor
    path: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    if_match: str | None = None
    client: "Caller | None" = None


@dataclass(frozen=True, slots=True)
class Caller:
    """What is known of the peer: its address behind the trusted proxies, and its user agent.

    One that is local is on this machine, with nothing in between.
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
    # Other statuses of success, with the same body.
    also: tuple[int, ...] = ()
    body: type[Schema] | None = None
    query: type[Schema] | None = None
    returns: type[Schema] | None = None
    # The list envelope around ``returns``.
    paginated: bool = False
    # Accepts Idempotency-Key.
    idempotent: bool = False
    # A GET that answers ETag and honours If-None-Match.
    conditional: bool = False
    # A PATCH or DELETE that honours If-Match.
    if_match: bool = False
    # The view opens its own units of work (password hashing must not hold one).
    own_transactions: bool = False
    # Needs X-Requested-By: web.
    requested_by: bool = False
    # Operations that go on with what is answered, as links of the document: they take its ``key``,
    # of a list that of the first row, beside what both addresses name.
    leads_to: tuple[str, ...] = ()
    key: str = "id"
    # Error codes beyond those that follow from the flags above, for the document.
    errors: tuple[type[Any], ...] = ()

    @property
    def access(self) -> Access:
        """Who may call it, as the verb declares."""
        return self.calls.access

    @property
    def writes(self) -> bool:
        """Whether the dispatcher runs it in a transaction."""
        return self.method != "GET"

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
    """All routes of the application; refuses a second use of an operation id."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}

    def add(self, api: Api) -> None:
        """Take over the routes of a domain; raises ValueError for a repeated operation id."""
        for route in api.routes:
            if route.operation_id in self.routes:
                raise ValueError(f"operation id {route.operation_id} is used twice")
            self.routes[route.operation_id] = route
