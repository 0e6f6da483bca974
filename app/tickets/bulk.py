"""One change to many tickets, merging of labels, and replacement of states.

Each ticket is changed by its own verb. A ticket whose change is refused is skipped and reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, DomainError, InvalidField
from app.database.session import savepoint
from app.projects import labels, states, ticket_rows
from app.tickets import board_moves, loaders, service, templates
from app.tickets.models import Ticket
from app.tickets.ticket_labels import label_ids_of

# Each ticket, each template and the deletion write an event; a request can be undone only up to
# this many.
MOST_RELABELLED = labels.MOST_NAMED - templates.MOST_TEMPLATES - 1


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
        raise InvalidField("into_label_id", "same", "Choose another label to merge into.")
    labels.lock_label(label)
    ticket_ids = ticket_rows.labelled(label.id, MOST_RELABELLED + 1)
    if len(ticket_ids) > MOST_RELABELLED:
        raise Conflict(
            "invariant_violation",
            f"More than {MOST_RELABELLED} tickets carry {label.name}, which could not be undone at "
            "once. Change some of them in the list first.",
        )
    changed = 0
    for ticket_id in ticket_ids:
        ticket = loaders.find(ticket_id, lock=True)
        if ticket is not None and not ticket.is_deleted:
            service.update_ticket(actor, ticket.id, label_ids=[*label_ids_of(ticket), into.id])
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
    into = states.named_in_body(project_id, into_state_id)
    if into is state:
        raise InvalidField("into_state_id", "same", "Choose another state to move the tickets to.")
    ticket_ids = ticket_rows.live_ids_in_state(state.id, states.MOST_MOVED + 1)
    if len(ticket_ids) > states.MOST_MOVED:
        raise Conflict(
            "invariant_violation",
            f"More than {states.MOST_MOVED} tickets are in {state.name}, which could not be undone "
            "at once. Move some of them in the list first.",
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


# Per request; one undo takes back as many events (undo/service.py).
MOST_TICKETS = 500
# Per transaction, which limits how long other writers wait.
BATCH = 100


@dataclass(frozen=True, slots=True)
class Changes:
    # Fields of ``update_ticket``.
    fields: dict[str, Any] = field(default_factory=dict)
    # A state, or a category, which means its first state in the ticket's project.
    place: str | None = None
    add_label: str | None = None
    remove_label: str | None = None
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


UNCHANGED = "It was so already."


@operation(Access.WRITE)
def change(actor: Actor, ticket_ids: Sequence[str], changes: Changes) -> list[BulkOutcome]:
    """Change these tickets; a refused ticket keeps all its values."""
    return [_one(actor, ticket_id, changes) for ticket_id in ticket_ids]


def _one(actor: Actor, ticket_id: str, changes: Changes) -> BulkOutcome:
    ticket = loaders.find(ticket_id, lock=True)
    if ticket is None:
        return BulkOutcome("", is_changed=False, why="There is no such ticket.")
    before = ticket.updated_at
    try:
        with savepoint():
            _change(actor, ticket, changes)
            after = ticket.updated_at
    except DomainError as error:
        return BulkOutcome(ticket.display_id, is_changed=False, why=error.message)
    if after == before:
        return BulkOutcome(ticket.display_id, is_changed=False, why=UNCHANGED)
    return BulkOutcome(ticket.display_id, is_changed=True)


def _change(actor: Actor, ticket: Ticket, changes: Changes) -> None:
    if changes.delete:
        service.delete_ticket(actor, ticket.id)
        return
    fields = dict(changes.fields)
    if changes.add_label or changes.remove_label:
        label_ids = [item for item in label_ids_of(ticket) if item != changes.remove_label]
        if changes.add_label and changes.add_label not in label_ids:
            label_ids.append(changes.add_label)
        fields["label_ids"] = label_ids
    if fields:
        service.update_ticket(actor, ticket.id, **fields)
    if changes.place:
        board_moves.move_card(actor, ticket.id, to=board_moves.BoardCell(changes.place), seen=None)
