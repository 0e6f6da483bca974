"""Finding tickets and comments: ``visible_*`` is what an actor can see, ``writable_*`` may touch.

Whatever lies in a deleted project answers 410 for the project.
"""

from sqlalchemy import bindparam, select

from app.audit.service import Target
from app.core.actor import Actor
from app.core.errors import Gone, NotFound
from app.core.ids import as_uuid, is_display_id
from app.database.session import session
from app.projects import loaders as projects
from app.tickets.models import Comment, Ticket

# Made once: making a statement costs more than running it.
_BY_ID = select(Ticket).where(Ticket.id == bindparam("reference"))
_BY_DISPLAY_ID = select(Ticket).where(Ticket.display_id == bindparam("reference"))
_LOCKED = {
    statement: statement.with_for_update(key_share=True) for statement in (_BY_ID, _BY_DISPLAY_ID)
}


def find(reference: str, *, lock: bool = False) -> Ticket | None:
    """The ticket of a UUID or display id, deleted or not; ``lock`` keeps others off it."""
    statement, named = _BY_ID, as_uuid(reference)
    if is_display_id(reference):
        statement, named = _BY_DISPLAY_ID, reference
    if named is None:
        return None
    if lock:
        statement = _LOCKED[statement]
    return session.scalars(statement, {"reference": named}).first()


def visible(actor: Actor, reference: str, *, include_deleted: bool = False) -> Ticket:
    """The ticket, if the actor can see it; raises NotFound or Gone."""
    ticket = find(reference)
    if ticket is None or not actor.sees_project(ticket.project_id):
        raise NotFound("ticket", reference)
    if not include_deleted:
        projects.visible(actor, ticket.project_id)
        if ticket.is_deleted:
            raise Gone("ticket", reference)
    return ticket


def writable(actor: Actor, reference: str | Ticket) -> Ticket:
    """The ticket, locked, if the actor may change it or what hangs on it.

    One that this gave before, in the same unit of work, is not read again. Raises NotFound,
    OutsideAllowlist or Gone.
    """
    if isinstance(reference, Ticket):
        ticket, reference = reference, reference.id
    else:
        found = find(reference, lock=True)
        if found is None:
            raise NotFound("ticket", reference)
        ticket = found
    projects.writable(actor, ticket.project_id)
    if ticket.is_deleted:
        raise Gone("ticket", reference)
    return ticket


def named_in_body(actor: Actor, reference: str) -> Ticket | None:
    """A live ticket that a body names and the actor can see; None counts as missing."""
    ticket = find(reference)
    if ticket is None or ticket.is_deleted or not actor.sees_project(ticket.project_id):
        return None
    project = projects.visible(actor, ticket.project_id, include_deleted=True)
    return ticket if project.deleted_at is None else None


def visible_comment(actor: Actor, comment_id: str) -> tuple[Comment, Ticket]:
    """The comment and its ticket, if the actor can see them; raises NotFound or Gone."""
    canonical = as_uuid(comment_id)
    comment = session.get(Comment, canonical) if canonical else None
    if comment is None:
        raise NotFound("comment", comment_id)
    ticket = visible(actor, comment.ticket_id)
    if comment.is_deleted:
        raise Gone("comment", comment_id)
    return comment, ticket


def writable_comment(actor: Actor, comment_id: str) -> tuple[Comment, Ticket]:
    """The comment and its ticket, if the actor may write there.

    Raises NotFound, OutsideAllowlist or Gone.
    """
    canonical = as_uuid(comment_id)
    comment = None
    if canonical is not None:
        statement = select(Comment).where(Comment.id == canonical)
        comment = session.scalars(statement.with_for_update(key_share=True)).first()
    if comment is None:
        raise NotFound("comment", comment_id)
    ticket = writable(actor, comment.ticket_id)
    if comment.is_deleted:
        raise Gone("comment", comment_id)
    return comment, ticket


def target(ticket: Ticket) -> Target:
    """The ticket as an event's target."""
    return Target("ticket", ticket.id, project_id=ticket.project_id, ticket_id=ticket.id)
