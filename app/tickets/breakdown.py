"""A ticket with the tickets below it and its relations, created in one transaction."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from app.core.actor import Access, Actor, operation
from app.core.errors import DomainError, InvalidField
from app.projects.loaders import SeenProject
from app.tickets import creating
from app.tickets.creating import CHILD_TYPE, CreatedTicket
from app.tickets.models import TicketType
from app.tickets.relations import TARGET_FIELD, create_relation

MOST_CHILDREN = 20
# Of one ticket.
MOST_RELATIONS = 20
# As ``target`` of a relation: a child of the same request, counted from 0.
_CHILD = re.compile(r"children\[([0-9]{1,4})\]")


@dataclass(frozen=True, slots=True)
class Breakdown:
    ticket: CreatedTicket
    children: list[CreatedTicket]


@contextmanager
def named(place: str) -> Iterator[None]:
    """Name the place in an error that is raised inside: ``children[2].title``."""
    try:
        yield
    except DomainError as error:
        details = dict(error.details or {})
        details["field"] = f"{place}.{details['field']}" if "field" in details else place
        error.details = details
        error.message = f"{place}: {error.message}"
        raise


@operation(Access.WRITE)
def create_breakdown(
    actor: Actor,
    into: str | SeenProject,
    /,
    *,
    children: Sequence[Mapping[str, Any]] = (),
    relations: Sequence[Mapping[str, str]] = (),
    **fields: Any,
) -> Breakdown:
    """Create a ticket, its children and the relations of both; fields as in ``create_ticket``.

    A child has ``relations`` too. The ``target`` of a relation is a ticket, or ``children[0]`` for
    the first child. Errors of a child or relation name its place.
    """
    _check_length("children", children, MOST_CHILDREN)
    ticket = creating.create_ticket(actor, into, **fields)
    below = CHILD_TYPE.get(TicketType(fields.get("type", TicketType.STORY)))
    if children and below is None:
        raise InvalidField("children", "wrong_type", "A subtask cannot have children.")
    created = []
    for number, child in enumerate(children):
        own = {name: value for name, value in child.items() if name != "relations"}
        with named(f"children[{number}]"):
            created.append(
                creating.create_ticket(
                    actor, into, **{"type": below, **own, "parent_ticket_id": ticket.id}
                )
            )
    _relate(actor, ticket, relations, created)
    for number, (child, made) in enumerate(zip(children, created, strict=True)):
        with named(f"children[{number}]"):
            _relate(actor, made, child.get("relations", ()), created)
    return Breakdown(ticket, created)


def _relate(
    actor: Actor,
    ticket: CreatedTicket,
    wanted: Sequence[Mapping[str, str]],
    children: Sequence[CreatedTicket],
) -> None:
    _check_length("relations", wanted, MOST_RELATIONS)
    for number, relation in enumerate(wanted):
        target = relation["target"]
        child = _CHILD.fullmatch(target)
        with named(f"relations[{number}]"):
            if child is not None:
                position = int(child[1])
                if position >= len(children):
                    raise InvalidField("target", "not_found", f"There is no {target}.")
                target = children[position].id
            try:
                create_relation(actor, ticket.id, type=relation["type"], target_ticket_id=target)
            except DomainError as error:
                if error.details and error.details.get("field") == TARGET_FIELD:
                    error.details["field"] = "target"
                raise


def _check_length(field: str, given: Sequence[Any], most: int) -> None:
    if len(given) > most:
        raise InvalidField(field, "too_many", f"Use at most {most} {field}.")
