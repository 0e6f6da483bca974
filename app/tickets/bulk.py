"""One change to many tickets, merging of labels, and replacement of states.

Each ticket is changed by its own verb. A ticket whose change is refused is skipped and reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, false, literal, select, tuple_

from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, DomainError, InvalidField
from app.database.session import savepoint, session
from app.projects import labels, states, ticket_rows
from app.projects import loaders as projects
from app.tickets import board_moves, loaders, messages, service, templates
from app.tickets.models import Ticket

# Each ticket, each template and the deletion write an event; a request can be undone only up to
# this many events.
MAX_RELABELED_TICKETS = labels.MAX_NAMED_TICKETS - templates.MAX_TEMPLATES - 1


@operation(Access.HUMAN)
def merge_label(actor: Actor, project_id: str, label_id: str, *, into_label_id: str) -> int:
    """Replace a label by another on its tickets and in templates, and delete it.

    Returns the number of tickets; deleted ones lose the label. Raises NotFound for the label,
    InvalidField for the other one, and Conflict ``invariant_violation`` for too many tickets.
    """
    # An update without changes checks the project and the label.
    label = labels.update_label(actor, project_id, label_id)
    into = labels.named_in_body(project_id, [into_label_id])[0]
    if into is label:
        raise InvalidField("into_label_id", "same", messages.MERGE_INTO_ANOTHER)
    labels.lock_label(label)
    ticket_ids = ticket_rows.labeled(label.id, MAX_RELABELED_TICKETS + 1)
    if len(ticket_ids) > MAX_RELABELED_TICKETS:
        raise Conflict(
            "invariant_violation",
            messages.too_many_to_relabel(MAX_RELABELED_TICKETS, label.name),
        )
    changed = 0
    for ticket_id in ticket_ids:
        ticket = loaders.find(ticket_id, lock=True)
        if ticket is not None and not ticket.is_deleted:
            service.update_ticket(actor, ticket.id, add_label_ids=[into.id])
            changed += 1
    templates.replace_label(actor, label.project_id, label.id, into.id)
    labels.delete_label(actor, project_id, label.id)
    return changed


@operation(Access.HUMAN)
def replace_state(actor: Actor, project_id: str, state_id: str, *, into_state_id: str) -> int:
    """Move the tickets of a state to another one, and delete it; return the number of tickets.

    Deleted tickets are left without a state. Raises NotFound for the state, InvalidField for the
    other one, and Conflict ``invariant_violation`` for too many tickets.
    """
    # An update without changes checks the project and the state.
    state = states.update_state(actor, project_id, state_id)
    into = projects.state_in_body(project_id, into_state_id)
    if into.id == state.id:
        raise InvalidField("into_state_id", "same", messages.MOVE_TO_ANOTHER)
    ticket_ids = ticket_rows.live_ids_in_state(state.id, states.MAX_MOVED_TICKETS + 1)
    if len(ticket_ids) > states.MAX_MOVED_TICKETS:
        raise Conflict(
            "invariant_violation",
            messages.too_many_to_move(states.MAX_MOVED_TICKETS, state.name),
        )
    moved = 0
    for ticket_id in ticket_ids:
        ticket = loaders.find(ticket_id, lock=True)
        # A concurrent request may have moved or deleted it before the lock.
        if ticket is not None and not ticket.is_deleted and ticket.state_id == state.id:
            service.transition_ticket(actor, ticket.id, state_id=into.id)
            moved += 1
    states.delete_state(actor, project_id, state.id)
    return moved


# Per request; one undo covers as many events (undo/service.py).
MAX_TICKETS = 500
# Per transaction, to limit how long other writers wait.
BATCH = 100


class OrderEnd(StrEnum):
    """An end of a project's manual order."""

    TOP = "top"
    BOTTOM = "bottom"


@dataclass(frozen=True, slots=True)
class Changes:
    # Arguments of ``update_ticket``.
    fields: dict[str, Any] = field(default_factory=dict)
    # A state, or a category, which means its first state in the ticket's project.
    place: str | None = None
    add_label: str | None = None
    remove_label: str | None = None
    # The end of the manual order to which the tickets are moved; they keep their order.
    end: OrderEnd | None = None
    delete: bool = False

    @property
    def is_empty(self) -> bool:
        return self == Changes()


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """The result for one ticket; ``why`` is the reason that it was skipped."""

    reference: str
    is_changed: bool
    why: str = ""


@operation(Access.WRITE)
def change(
    actor: Actor, ticket_ids: Sequence[str], changes: Changes, *, before: Sequence[str] = ()
) -> list[BulkOutcome]:
    """Change these tickets; a refused ticket keeps all its values.

    Tickets that move to an end must be in the order of ``in_placing_order``; ``before`` are those
    that were already placed.
    """
    placed = list(before)
    outcomes = []
    for ticket_id in ticket_ids:
        outcomes.append(_one(actor, ticket_id, changes, placed))
        placed.append(ticket_id)
    return outcomes


_MANUAL: tuple[Any, ...] = (Ticket.project_id, Ticket.rank, Ticket.id)
_NEWEST: tuple[Any, ...] = (Ticket.created_at, Ticket.id)


def order_of(end: OrderEnd | None) -> list[Any]:
    """The order in which tickets are changed: newest first or, if they move to an end of the manual
    order, from that end, so that each is placed beside the previous one.
    """
    if end is OrderEnd.TOP:
        return list(_MANUAL)
    return [column.desc() for column in (_MANUAL if end else _NEWEST)]


def starting_at(ticket_id: str, end: OrderEnd | None) -> ColumnElement[bool]:
    """A ticket, and those after it in ``order_of``."""
    columns = _MANUAL if end else _NEWEST
    found = session.execute(select(*columns).where(Ticket.id == ticket_id)).one_or_none()
    if found is None:
        return false()
    here = tuple_(*columns)
    start = tuple_(*map(literal, found, (column.type for column in columns)))
    return here >= start if end is OrderEnd.TOP else here <= start


def in_placing_order(ticket_ids: Sequence[str], end: OrderEnd) -> list[str]:
    """These tickets in ``order_of``."""
    statement = select(Ticket.id).where(Ticket.id.in_(ticket_ids)).order_by(*order_of(end))
    return list(session.scalars(statement))


def _one(actor: Actor, ticket_id: str, changes: Changes, placed: Sequence[str]) -> BulkOutcome:
    ticket = loaders.find(ticket_id, lock=True)
    if ticket is None:
        return BulkOutcome("", is_changed=False, why=messages.TICKET_NOT_FOUND)
    before = ticket.updated_at
    try:
        with savepoint():
            _change(actor, ticket, changes, placed)
            after = ticket.updated_at
    except DomainError as error:
        return BulkOutcome(ticket.display_id, is_changed=False, why=error.message)
    if after == before:
        return BulkOutcome(ticket.display_id, is_changed=False, why=messages.NO_CHANGE)
    return BulkOutcome(ticket.display_id, is_changed=True)


def _place(ticket: Ticket, end: OrderEnd, placed: Sequence[str]) -> dict[str, Any]:
    """The place beside the last placed live ticket of the project, or at the end."""
    at_end, beside = (
        ("rank_before", "rank_after") if end is OrderEnd.TOP else ("rank_after", "rank_before")
    )
    for other_id in reversed(placed):
        other = loaders.find(other_id)
        if other and not other.is_deleted and other.project_id == ticket.project_id:
            return {beside: other.id}
    return {at_end: None}


def _change(actor: Actor, ticket: Ticket, changes: Changes, placed: Sequence[str]) -> None:
    if changes.delete:
        service.delete_ticket(actor, ticket.id)
        return
    fields = dict(changes.fields)
    if changes.end:
        fields |= _place(ticket, changes.end, placed)
    if changes.add_label:
        fields["add_label_ids"] = [changes.add_label]
    if changes.remove_label:
        fields["remove_label_ids"] = [changes.remove_label]
    if fields:
        service.update_ticket(actor, ticket.id, **fields)
    if changes.place:
        board_moves.move_card(actor, ticket.id, to=board_moves.BoardCell(changes.place), seen=None)
