"""Taking tickets from a bot: ordinary changes by whoever takes them, each with its event."""

from contextlib import suppress

from app.core.actor import Access, Actor, operation
from app.core.errors import Gone, NotFound
from app.core.ids import as_uuid
from app.tickets import service, stalled_bots
from app.tickets.models import Ticket

# More than any bot should hold; each is a change and an event of its own.
MOST = 500


@operation(Access.HUMAN)
def release(actor: Actor, bot_id: str, ticket_id: str) -> None:
    """Unassign a ticket, unless another holds it by now; raises NotFound or Gone."""
    # A change of nothing: it locks the ticket, so that what is seen of it stays.
    ticket: Ticket = service.update_ticket(actor, ticket_id)
    if ticket.assignee_user_id == as_uuid(bot_id):
        service.update_ticket(actor, ticket_id, assignee_user_id=None)


@operation(Access.HUMAN)
def release_all(actor: Actor, bot_id: str) -> int:
    """Unassign the open tickets of a bot, the first 500 of them; how many there were.

    Those that another got, or that were deleted, since they were read stay as they are.
    """
    held = stalled_bots.held_by(actor, bot_id, MOST)
    for one in held:
        with suppress(NotFound, Gone):
            release(actor, bot_id, one.id)
    return len(held)
