"""What tools answer of a ticket."""

from typing import Any

from app.tickets import read
from app.tickets.creating import CreatedTicket
from app.tickets.models import Ticket


def ticket_json(ticket: Ticket | CreatedTicket) -> dict[str, Any]:
    """The JSON that REST answers, and the etag."""
    return {**read.ticket_by_id(ticket.id), "etag": ticket.etag}
