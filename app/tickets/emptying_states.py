"""Deleting a workflow state that holds tickets: they move to another one first.

Ordinary changes by whoever does it, each with its event, so they are undone together like all that
one request did. It stands here and not beside the states, which know no tickets.
"""

from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, InvalidField
from app.projects import states, ticket_rows
from app.tickets import loaders, service


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
