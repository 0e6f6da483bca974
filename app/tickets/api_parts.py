"""REST endpoints of what hangs on a ticket: relations, watchers and comments."""

from app.core.errors import Conflict
from app.rest.answers import NO_CONTENT, Answer, created
from app.rest.fields import DeletedPageQuery, PageQuery
from app.rest.routing import Api, Call
from app.tickets import comments, relations, watchers
from app.tickets.schemas import (
    CommentCreate,
    CommentOut,
    CommentPatch,
    RelationCreate,
    RelationOut,
    WatcherCreate,
    WatcherOut,
)

parts = Api("tickets")
discussion = Api("comments")

TICKET = "/tickets/<ticket_id>"
COMMENT = "/comments/<comment_id>"


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
    return Answer(page.envelope)


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
    """Remove a relation through either of its ends."""
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
    return Answer(page.envelope)


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
    """Watch a ticket; humans may add others. 200 with the row where it exists already."""
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
    return Answer(page.envelope)


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
    return created(comments.described(comment), f"/comments/{comment.id}")


@discussion.route(
    "PATCH",
    COMMENT,
    "comments.update",
    calls=comments.update_comment,
    body=CommentPatch,
    returns=CommentOut,
)
def update_comment(call: Call) -> Answer:
    """Edit one's own comment; the previous body goes to `edit_history`."""
    comment = comments.update_comment(call.actor, call.path["comment_id"], **call.body)
    return Answer(comments.described(comment))


@discussion.route("DELETE", COMMENT, "comments.delete", calls=comments.delete_comment, status=204)
def delete_comment(call: Call) -> Answer:
    """Soft-delete a comment: its author, or any human."""
    comments.delete_comment(call.actor, call.path["comment_id"])
    return NO_CONTENT
