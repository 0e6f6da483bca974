"""One change to many tickets, merging labels, and emptying states, each ticket by its own verb.

What a rule forbids for a ticket is skipped and said; the others are changed all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, DomainError, InvalidField
from app.database.session import savepoint
from app.projects import labels, states, ticket_rows
from app.tickets import board_moves, loaders, service
from app.tickets.models import Ticket
from app.tickets.ticket_labels import label_ids_of

# Each writes an event, and the deletion one more: no more than are undone at once.
MOST_RELABELLED = labels.MOST_NAMED - 1


@operation(Access.HUMAN)
def merge_label(actor: Actor, project_id: str, label_id: str, *, into_label_id: str) -> int:
    """Give the tickets of a label another one instead, and delete it; how many there were.

    Deleted tickets lose it, as they do when a label is deleted. Raises NotFound for the label,
    InvalidField for the other one, and Conflict ``invariant_violation`` for too many tickets.
    """
    # A change of nothing: it knows whether the project is there and has this label.
    label = labels.update_label(actor, project_id, label_id)
    into = labels.named_in_body(project_id, [into_label_id])[0]
    if into is label:
        raise InvalidField("into_label_id", "same", "Choose another label to merge into.")
    labels.lock_label(label)
    carried = ticket_rows.labelled(label.id, MOST_RELABELLED + 1)
    if len(carried) > MOST_RELABELLED:
        raise Conflict(
            "invariant_violation",
            f"More than {MOST_RELABELLED} tickets carry {label.name}, which could not be undone at "
            "once. Change some of them in the list first.",
        )
    changed = 0
    for ticket_id in carried:
        ticket = loaders.find(ticket_id, lock=True)
        if ticket is not None and not ticket.is_deleted:
            service.update_ticket(actor, ticket.id, label_ids=[*label_ids_of(ticket), into.id])
            changed += 1
    labels.delete_label(actor, project_id, label.id)
    return changed


@operation(Access.HUMAN)
def replace_state(actor: Actor, project_id: str, state_id: str, *, into_state_id: str) -> int:
    """Move the tickets of a state to another one, and delete it; how many there were.

    Deleted tickets are left in no state, as they are when a state is deleted. Raises NotFound for
    the state, InvalidField for the other one, and Conflict ``invariant_violation`` for too many
    tickets.
    """
    # A change of nothing: it knows whether the project is there and has this state.
    state = states.update_state(actor, project_id, state_id)
    into = states.named_in_body(project_id, into_state_id)
    if into is state:
        raise InvalidField("into_state_id", "same", "Choose another state to move the tickets to.")
    held = ticket_rows.live_ids_in_state(state.id, states.MOST_MOVED + 1)
    if len(held) > states.MOST_MOVED:
        raise Conflict(
            "invariant_violation",
            f"More than {states.MOST_MOVED} tickets are in {state.name}, which could not be undone "
            "at once. Move some of them in the list first.",
        )
    moved = 0
    for ticket_id in held:
        ticket = loaders.find(ticket_id, lock=True)
        # Others may have moved or deleted it until it was locked.
        if ticket is not None and not ticket.is_deleted and ticket.state_id == state.id:
            service.transition_ticket(actor, ticket.id, state_id=into.id)
            moved += 1
    states.delete_state(actor, project_id, state.id)
    return moved


# Of one request. Undoing takes back as many events at once (undo/service.py).
MOST_TICKETS = 500
# Of one transaction: others wait no longer than for these.
BATCH = 100


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to become of each ticket."""

    # Fields of ``update_ticket``.
    fields: dict[str, Any] = field(default_factory=dict)
    # A state, or a category: the first state of it in the ticket's project.
    place: str | None = None
    add_label: str | None = None
    remove_label: str | None = None
    delete: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for."""
        return self == Changes()


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """What became of one ticket; ``why`` it was skipped."""

    reference: str
    is_changed: bool
    why: str = ""


UNCHANGED = "It was so already."


@operation(Access.WRITE)
def change(actor: Actor, ticket_ids: Sequence[str], changes: Changes) -> list[BulkOutcome]:
    """Change these tickets; one whose change is refused is left as it was."""
    return [_one(actor, ticket_id, changes) for ticket_id in ticket_ids]


def _one(actor: Actor, ticket_id: str, changes: Changes) -> BulkOutcome:
    found = loaders.find(ticket_id, lock=True)
    if found is None:
        return BulkOutcome("", is_changed=False, why="There is no such ticket.")
    before = found.updated_at
    try:
        with savepoint():
            after = _change(actor, found, changes)
    except DomainError as error:
        return BulkOutcome(found.display_id, is_changed=False, why=error.message)
    if after == before:
        return BulkOutcome(found.display_id, is_changed=False, why=UNCHANGED)
    return BulkOutcome(found.display_id, is_changed=True)


def _change(actor: Actor, ticket: Ticket, changes: Changes) -> int:
    """Call the verbs; the ticket's version afterwards."""
    reference = ticket.id
    if changes.delete:
        service.delete_ticket(actor, reference)
        return ticket.updated_at
    fields = dict(changes.fields)
    if changes.add_label or changes.remove_label:
        held = [one for one in label_ids_of(ticket) if one != changes.remove_label]
        if changes.add_label and changes.add_label not in held:
            held.append(changes.add_label)
        fields["label_ids"] = held
    if fields:
        service.update_ticket(actor, reference, **fields)
    if changes.place:
        board_moves.move_card(actor, reference, to=board_moves.BoardCell(changes.place), seen=None)
    return ticket.updated_at
