"""Merging one label into another: what carried the first carries the second, and the first is gone.

Ordinary changes by whoever merges, each with its event, so they are undone together like all that
one request did. It stands here and not beside the labels, which know no tickets.
"""

from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, InvalidField
from app.projects import labels, ticket_rows
from app.tickets import loaders, service
from app.tickets.ticket_labels import label_ids_of

# Each writes an event, and the deletion one more: no more than are undone at once.
MOST_TICKETS = labels.MOST_NAMED - 1


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
    labels.hold(label)
    carried = ticket_rows.labelled(label.id, MOST_TICKETS + 1)
    if len(carried) > MOST_TICKETS:
        raise Conflict(
            "invariant_violation",
            f"More than {MOST_TICKETS} tickets carry {label.name}, which could not be undone at "
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
