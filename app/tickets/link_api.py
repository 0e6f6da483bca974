"""REST endpoints of the links of tickets."""

from app.core.errors import Conflict
from app.rest.fields import PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created
from app.tickets import links
from app.tickets.api import TICKET
from app.tickets.link_schemas import LinkCreate, LinkOut

api = Api("tickets")


@api.route(
    "GET",
    f"{TICKET}/links",
    "tickets.links.list",
    calls=links.list_links,
    query=PageQuery,
    returns=LinkOut,
    paginated=True,
    leads_to=("tickets.links.remove",),
)
def list_links(call: Call) -> Answer:
    """List a ticket's links to pull requests and other addresses, newest first."""
    return Answer(links.list_links(call.actor, call.path["ticket_id"], **call.query).collection)


@api.route(
    "POST",
    f"{TICKET}/links",
    "tickets.links.add",
    calls=links.add_link,
    body=LinkCreate,
    returns=LinkOut,
    status=201,
    also=(200,),
    idempotent=True,
    leads_to=("tickets.links.remove",),
    errors=(Conflict,),
)
def add_link(call: Call) -> Answer:
    """Link a ticket to an https address, 50 at most. 200 if it has this address already."""
    ticket, link, is_new = links.add_link(call.actor, call.path["ticket_id"], **call.body)
    return created(link, f"/tickets/{ticket.id}/links/{link['id']}") if is_new else Answer(link)


@api.route(
    "DELETE",
    f"{TICKET}/links/<link_id>",
    "tickets.links.remove",
    calls=links.remove_link,
    status=204,
)
def remove_link(call: Call) -> Answer:
    """Remove a link of a ticket."""
    links.remove_link(call.actor, call.path["ticket_id"], call.path["link_id"])
    return NO_CONTENT
