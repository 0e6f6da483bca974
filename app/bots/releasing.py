"""Taking tickets from a bot: ordinary changes by whoever takes them, each with its event."""

from app.accounts.models import User
from app.core.actor import Access, Actor, operation
from app.core.db import session
from app.tickets import quiet, service
from app.tickets.models import Ticket

# More than any bot should hold; each is a change and an event of its own.
MOST = 500


@operation(Access.HUMAN)
def release(actor: Actor, bot_id: str, ticket_id: str) -> None:
    """Unassign a ticket, unless another holds it by now; raises NotFound or Gone."""
    ticket: Ticket = service.update_ticket(actor, ticket_id)
    if ticket.assignee_user_id == bot_id:
        service.update_ticket(actor, ticket_id, assignee_user_id=None)


@operation(Access.HUMAN)
def release_all(actor: Actor, bot_id: str) -> int:
    """Unassign the open tickets of a bot, the first 500 of them; how many there were."""
    user = session.get_one(User, bot_id)
    held = quiet.held_by(actor, user.id, MOST)
    for one in held:
        service.update_ticket(actor, one.id, assignee_user_id=None)
    return len(held)
