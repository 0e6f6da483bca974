"""REST endpoints of tickets, and of their relations, watchers and comments."""

from functools import partial

from app.accounts.bot_reads import comments_seen, ticket_seen, tickets_seen
from app.core.errors import Conflict, InvalidField
from app.rest.fields import DeletedPageQuery, PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created
from app.tickets import (
    comments,
    creating,
    listing,
    past,
    reactions,
    read,
    relations,
    service,
    similar,
    watchers,
)
from app.tickets.models import Ticket
from app.tickets.schemas import (
    AllTicketFilters,
    CommentCreate,
    CommentOut,
    CommentPatch,
    RelationCreate,
    RelationOut,
    TicketCreate,
    TicketCreateQuery,
    TicketFilters,
    TicketOut,
    TicketPatch,
    TicketQuery,
    Transition,
    WatcherCreate,
    WatcherOut,
)

api = Api("tickets")
# Relations and watchers.
parts = Api("tickets")
discussion = Api("comments")

PROJECT_TICKETS = "/projects/<project_id>/tickets"
TICKET = "/tickets/<ticket_id>"
COMMENT = "/comments/<comment_id>"
REACTION = f"{COMMENT}/reactions/<reaction>"


def shown(ticket: Ticket) -> Answer:
    return Answer(
        read.ticket_by_id(ticket.id),
        etag=ticket.etag,
        shows=partial(ticket_seen, ticket.id, ticket.updated_at),
    )


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
    page = listing.list_tickets(call.actor, **call.query)
    return Answer(page.collection, shows=partial(tickets_seen, page.data))


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
    return Answer(page.collection, shows=partial(tickets_seen, page.data))


@api.route(
    "POST",
    PROJECT_TICKETS,
    "tickets.create",
    calls=creating.create_breakdown,
    body=TicketCreate,
    query=TicketCreateQuery,
    returns=TicketOut,
    status=201,
    idempotent=True,
    errors=(Conflict,),
    leads_to=("tickets.get", "tickets.update", "tickets.transition", "comments.create"),
)
def create_ticket(call: Call) -> Answer:
    """Create a ticket; it takes the project's next number.

    With `children` and `relations`, all of them are created or nothing is.
    """
    made = creating.create_breakdown(call.actor, call.path["project_id"], **call.body)
    ticket = made.ticket
    answer = read.ticket_by_id(ticket.id)
    if call.query["similar"]:
        answer["similar"] = similar.similar_tickets(call.actor, ticket.display_id)
    return created(
        answer,
        f"/tickets/{ticket.id}",
        etag=ticket.etag,
        # The client that creates children has read them.
        shows=lambda: [
            seen for one in (ticket, *made.children) for seen in ticket_seen(one.id, one.updated_at)
        ],
    )


@api.route(
    "GET",
    TICKET,
    "tickets.get",
    calls=read.get_ticket,
    query=TicketQuery,
    returns=TicketOut,
    conditional=True,
    errors=(InvalidField,),
)
def get_ticket(call: Call) -> Answer:
    """Fetch a ticket by UUID or display id; with `at`, as it was at that time.

    404 if it was created later, 422 `not_recorded` for a time before the audit log knew it.
    """
    if "at" in call.query:
        return Answer(past.get_ticket_at(call.actor, call.path["ticket_id"], **call.query))
    ticket = read.get_ticket(call.actor, call.path["ticket_id"], **call.query)
    # Renaming a state, label, parent or user does not change the ETag.
    is_current = partial(read.shows_nothing_newer, ticket.row.id)
    seen = partial(ticket_seen, ticket.id, ticket.row.updated_at)
    return Answer(ticket.json, etag=ticket.etag, is_current=is_current, shows=seen)


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
    "DELETE", TICKET, "tickets.delete", calls=service.delete_ticket, status=204, if_match=True
)
def delete_ticket(call: Call) -> Answer:
    """Soft-delete a ticket; its children stay."""
    service.delete_ticket(call.actor, call.path["ticket_id"], if_match=call.if_match)
    return NO_CONTENT


@parts.route(
    "GET",
    f"{TICKET}/relations",
    "tickets.relations.list",
    calls=relations.list_relations,
    query=PageQuery,
    returns=RelationOut,
    paginated=True,
    leads_to=("tickets.relations.delete",),
)
def list_relations(call: Call) -> Answer:
    """List incoming and outgoing relations, newest first."""
    page = relations.list_relations(call.actor, call.path["ticket_id"], **call.query)
    return Answer(page.collection)


@parts.route(
    "POST",
    f"{TICKET}/relations",
    "tickets.relations.create",
    calls=relations.create_relation,
    body=RelationCreate,
    returns=RelationOut,
    status=201,
    leads_to=("tickets.relations.delete",),
    errors=(Conflict,),
)
def create_relation(call: Call) -> Answer:
    """Relate the ticket to another one."""
    ticket, relation = relations.create_relation(call.actor, call.path["ticket_id"], **call.body)
    return created(relation, f"/tickets/{ticket.id}/relations/{relation['id']}")


@parts.route(
    "DELETE",
    f"{TICKET}/relations/<relation_id>",
    "tickets.relations.delete",
    calls=relations.delete_relation,
    status=204,
)
def delete_relation(call: Call) -> Answer:
    """Remove a relation of either of its tickets."""
    relations.delete_relation(call.actor, call.path["ticket_id"], call.path["relation_id"])
    return NO_CONTENT


@parts.route(
    "GET",
    f"{TICKET}/watchers",
    "tickets.watchers.list",
    calls=watchers.list_watchers,
    query=PageQuery,
    returns=WatcherOut,
    paginated=True,
    leads_to=("tickets.watchers.remove",),
    key="user_id",
)
def list_watchers(call: Call) -> Answer:
    """List a ticket's watchers, newest first."""
    page = watchers.list_watchers(call.actor, call.path["ticket_id"], **call.query)
    return Answer(page.collection)


@parts.route(
    "POST",
    f"{TICKET}/watchers",
    "tickets.watchers.add",
    calls=watchers.add_watcher,
    body=WatcherCreate,
    returns=WatcherOut,
    status=201,
    also=(200,),
    leads_to=("tickets.watchers.remove",),
    key="user_id",
)
def add_watcher(call: Call) -> Answer:
    """Watch a ticket; humans may add others. 200 if they already watch it."""
    ticket, watcher, is_new = watchers.add_watcher(call.actor, call.path["ticket_id"], **call.body)
    if not is_new:
        return Answer(watcher)
    return created(watcher, f"/tickets/{ticket.id}/watchers/{watcher['user_id']}")


@parts.route(
    "DELETE",
    f"{TICKET}/watchers/<user_id>",
    "tickets.watchers.remove",
    calls=watchers.remove_watcher,
    status=204,
)
def remove_watcher(call: Call) -> Answer:
    """Stop watching a ticket; humans may remove others."""
    watchers.remove_watcher(call.actor, call.path["ticket_id"], call.path["user_id"])
    return NO_CONTENT


@discussion.route(
    "GET",
    f"{TICKET}/comments",
    "comments.list",
    calls=comments.list_comments,
    query=DeletedPageQuery,
    returns=CommentOut,
    paginated=True,
    leads_to=("comments.update",),
)
def list_comments(call: Call) -> Answer:
    """List a ticket's comments, oldest first."""
    page = comments.list_comments(call.actor, call.path["ticket_id"], **call.query)
    return Answer(page.collection, shows=partial(comments_seen, page.data))


@discussion.route(
    "POST",
    f"{TICKET}/comments",
    "comments.create",
    calls=comments.create_comment,
    body=CommentCreate,
    returns=CommentOut,
    status=201,
    idempotent=True,
    leads_to=("comments.update", "comments.delete"),
)
def create_comment(call: Call) -> Answer:
    """Comment on a ticket."""
    comment = comments.create_comment(call.actor, call.path["ticket_id"], **call.body)
    described = comments.described(call.actor, comment, is_new=True)
    return created(described, f"/comments/{comment.id}")


@discussion.route(
    "PATCH",
    COMMENT,
    "comments.update",
    calls=comments.update_comment,
    body=CommentPatch,
    returns=CommentOut,
)
def update_comment(call: Call) -> Answer:
    """Edit your own comment; the previous body goes to `edit_history`."""
    comment = comments.update_comment(call.actor, call.path["comment_id"], **call.body)
    return Answer(comments.described(call.actor, comment))


@discussion.route("DELETE", COMMENT, "comments.delete", calls=comments.delete_comment, status=204)
def delete_comment(call: Call) -> Answer:
    """Soft-delete a comment; bots can only delete their own."""
    comments.delete_comment(call.actor, call.path["comment_id"])
    return NO_CONTENT


@discussion.route(
    "PUT",
    REACTION,
    "comments.reactions.add",
    calls=reactions.add_reaction,
    returns=CommentOut,
)
def add_reaction(call: Call) -> Answer:
    """React to a comment: `thumbs_up`, `thumbs_down`, `laugh`, `hooray`, `heart` or `eyes`."""
    comment = reactions.add_reaction(call.actor, call.path["comment_id"], call.path["reaction"])
    described = comments.described(call.actor, comment)
    return Answer(described, shows=partial(comments_seen, [described]))


@discussion.route(
    "DELETE", REACTION, "comments.reactions.remove", calls=reactions.remove_reaction, status=204
)
def remove_reaction(call: Call) -> Answer:
    """Remove your own reaction; 204 even if there is none."""
    reactions.remove_reaction(call.actor, call.path["comment_id"], call.path["reaction"])
    return NO_CONTENT
