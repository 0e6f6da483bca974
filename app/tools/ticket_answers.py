"""What tools answer of a ticket, and which ticket an answer is about."""

from collections.abc import Mapping
from typing import Any

from app.core.actor import Actor
from app.mcp.registry import ToolCall
from app.tickets import read
from app.tickets.creating import CreatedTicket
from app.tickets.models import Ticket
from app.tools import naming


def ticket_json(ticket: Ticket | CreatedTicket) -> dict[str, Any]:
    """The JSON that REST answers, and the etag."""
    return {**read.ticket_by_id(ticket.id), "etag": ticket.etag}


def ticket_of(actor: Actor, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """The id of the ticket that a call was about: the one it answered, else the one it named."""
    if "ticket_number" in answer:
        return str(answer["id"])
    if "ticket_id" in answer:
        return str(answer["ticket_id"])
    named = arguments.get("ticket")
    if not isinstance(named, str):
        return None
    # As it was read for the call.
    call = ToolCall(actor, {**arguments, "ticket": naming.ticket_name(named)})
    return str(read.get_ticket(actor, naming.ticket(call)).row.id)
