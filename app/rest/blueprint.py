"""The /api/v1 blueprint: each Route becomes a rule that the dispatcher answers."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response

from app.rest.dispatch import Identity, dispatch
from app.rest.routing import Registry, Route


def blueprint(registry: Registry, identity: Identity) -> Blueprint:
    """A blueprint with one rule per route and nothing else."""
    made = Blueprint("api", __name__, url_prefix="/api/v1")
    for route in registry.routes.values():
        made.add_url_rule(
            route.rule,
            endpoint=route.operation_id.replace(".", "_"),
            view_func=_view(route, identity),
            methods=[route.method],
            provide_automatic_options=False,
        )
    return made


def _view(route: Route, identity: Identity) -> Callable[..., Response]:
    def view(**path: Any) -> Response:
        return dispatch(route, identity, **path)

    return view
