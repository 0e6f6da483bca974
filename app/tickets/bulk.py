"""One change to many tickets: through the verbs that change one, each ticket for itself.

What a rule forbids for a ticket is skipped and said; the others are changed all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.actor import Access, Actor, operation
from app.core.errors import DomainError
from app.database.session import savepoint
from app.tickets import board_moves, loaders, service
from app.tickets.models import Ticket
from app.tickets.ticket_labels import label_ids_of

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
class Outcome:
    """What became of one ticket; ``why`` it was skipped."""

    reference: str
    is_changed: bool
    why: str = ""


UNCHANGED = "It was so already."


@operation(Access.WRITE)
def change(actor: Actor, ticket_ids: Sequence[str], changes: Changes) -> list[Outcome]:
    """Change these tickets; one whose change is refused is left as it was."""
    return [_one(actor, ticket_id, changes) for ticket_id in ticket_ids]


def _one(actor: Actor, ticket_id: str, changes: Changes) -> Outcome:
    found = loaders.find(ticket_id, lock=True)
    if found is None:
        return Outcome("", is_changed=False, why="There is no such ticket.")
    before = found.updated_at
    try:
        with savepoint():
            after = _change(actor, found, changes)
    except DomainError as error:
        return Outcome(found.display_id, is_changed=False, why=error.message)
    if after == before:
        return Outcome(found.display_id, is_changed=False, why=UNCHANGED)
    return Outcome(found.display_id, is_changed=True)


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
        board_moves.carry(actor, reference, to=board_moves.Spot(changes.place), seen=None)
    return ticket.updated_at
