"""Undoing the deletion of a ticket or comment, which only commands do."""

from app.audit.service import record
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, Gone, NotFound
from app.database.session import by_id, session
from app.database.versions import touch
from app.projects import states
from app.projects.models import Project
from app.tickets import loaders, searching
from app.tickets.models import Comment, Ticket


@operation(Access.HUMAN)
def restore_ticket(actor: Actor, reference: str) -> Ticket:
    """Bring a deleted ticket back, with its comments, relations and number.

    If its state was deleted since, it goes into the project's first one. Raises NotFound, Gone for
    a deleted project, and Conflict where the ticket is not deleted.
    """
    ticket = loaders.find(reference, lock=True)
    if ticket is None:
        raise NotFound("ticket", reference)
    if session.get_one(Project, ticket.project_id).is_deleted:
        raise Gone("project", ticket.project_id)
    if not ticket.is_deleted:
        raise Conflict("invariant_violation", f"{ticket.display_id} is not deleted.")
    ticket.deleted_at = None
    if ticket.state_id is None or not states.keep(ticket.state_id):
        ticket.state_id = states.first_id(ticket.project_id)
    touch(ticket)
    session.flush()
    searching.put(ticket)
    record(
        actor,
        "ticket.restored",
        loaders.target(ticket),
        display_id=ticket.display_id,
        title=ticket.title,
        state_id=ticket.state_id,
    )
    return ticket


@operation(Access.HUMAN)
def restore_comment(actor: Actor, comment_id: str) -> Comment:
    """Bring a deleted comment back; raises NotFound, Gone for a deleted ticket, Conflict."""
    comment = by_id(Comment, comment_id)
    if comment is None:
        raise NotFound("comment", comment_id)
    ticket = loaders.writable(actor, comment.ticket_id)
    if not comment.is_deleted:
        raise Conflict("invariant_violation", "The comment is not deleted.")
    comment.deleted_at = None
    touch(comment)
    session.flush()
    record(actor, "comment.restored", loaders.target(ticket), comment_id=comment.id)
    return comment
