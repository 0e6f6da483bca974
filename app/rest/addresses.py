"""Addresses in the OpenAPI document: their templates, and the links from one to another."""

import re
from typing import Any

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
