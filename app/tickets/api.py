"""REST endpoints of tickets. What hangs on a ticket is in ``api_parts.py``."""

from functools import partial

from app.core.errors import Conflict
from app.rest.answers import NO_CONTENT, Answer, created
from app.rest.routing import Api, Call
from app.tickets import creating, listing, read, service
from app.tickets.models import Ticket
from app.tickets.schemas import (
    AllTicketFilters,
    TicketCreate,
    TicketFilters,
    TicketOut,
    TicketPatch,
    TicketQuery,
    Transition,
)

api = Api("tickets")

PROJECT_TICKETS = "/projects/<project_id>/tickets"
TICKET = "/tickets/<ticket_id>"


def shown(ticket: Ticket) -> Answer:
    """The ticket as an answer, with its ETag."""
    return Answer(read.ticket_by_id(ticket.id), etag=ticket.etag)


@api.route(
    "GET",
    "/tickets",
    "tickets.list",
    calls=listing.list_tickets,
    query=AllTicketFilters,
    returns=TicketOut,
    paginated=True,
    leads_to=("tickets.get",),
)
def list_tickets(call: Call) -> Answer:
    """List tickets of all visible projects, newest first."""
    return Answer(listing.list_tickets(call.actor, **call.query).envelope)


@api.route(
    "GET",
    PROJECT_TICKETS,
    "projects.tickets.list",
    calls=listing.list_project_tickets,
    query=TicketFilters,
    returns=TicketOut,
    paginated=True,
    leads_to=("tickets.get",),
)
def list_project_tickets(call: Call) -> Answer:
    """List a project's tickets, newest first."""
    page = listing.list_project_tickets(call.actor, call.path["project_id"], **call.query)
    return Answer(page.envelope)


@api.route(
    "POST",
    PROJECT_TICKETS,
    "tickets.create",
    calls=creating.create_ticket,
    body=TicketCreate,
    returns=TicketOut,
    status=201,
    idempotent=True,
    leads_to=("tickets.get", "tickets.update", "tickets.transition", "comments.create"),
)
def create_ticket(call: Call) -> Answer:
    """Create a ticket; it takes the project's next number."""
    ticket = creating.create_ticket(call.actor, call.path["project_id"], **call.body)
    return created(read.ticket_by_id(ticket.id), f"/tickets/{ticket.id}", etag=ticket.etag)


@api.route(
    "GET",
    TICKET,
    "tickets.get",
    calls=read.get_ticket,
    query=TicketQuery,
    returns=TicketOut,
    conditional=True,
)
def get_ticket(call: Call) -> Answer:
    """Fetch a ticket by UUID or display id."""
    found = read.get_ticket(call.actor, call.path["ticket_id"], **call.query)
    # A renamed state, label, parent or user leaves the ETag as it is.
    is_current = partial(read.shows_nothing_newer, found.row.id)
    return Answer(found.json, etag=found.etag, is_current=is_current)


@api.route(
    "PATCH",
    TICKET,
    "tickets.update",
    calls=service.update_ticket,
    body=TicketPatch,
    returns=TicketOut,
    if_match=True,
    errors=(Conflict,),
)
def update_ticket(call: Call) -> Answer:
    """Change fields of a ticket; its state changes by transition."""
    ticket = service.update_ticket(
        call.actor, call.path["ticket_id"], if_match=call.if_match, **call.body
    )
    return shown(ticket)


@api.route(
    "POST",
    f"{TICKET}/transition",
    "tickets.transition",
    calls=service.transition_ticket,
    body=Transition,
    returns=TicketOut,
    errors=(Conflict,),
)
def transition_ticket(call: Call) -> Answer:
    """Move a ticket to another workflow state, optionally with a comment."""
    return shown(service.transition_ticket(call.actor, call.path["ticket_id"], **call.body))


@api.route(
    "DELETE",
    TICKET,
    "tickets.delete",
    calls=service.delete_ticket,
    status=204,
    if_match=True,
)
def delete_ticket(call: Call) -> Answer:
    """Soft-delete a ticket; its children stay."""
    service.delete_ticket(call.actor, call.path["ticket_id"], if_match=call.if_match)
    return NO_CONTENT
