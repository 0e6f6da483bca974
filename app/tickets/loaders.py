"""Finding tickets and comments: ``visible*`` for what an actor sees, ``writable*`` for changes.

Both raise Gone for the project if the project is deleted.
"""

from typing import Any

from sqlalchemy import bindparam, or_, select

from app.audit import receipts
from app.audit.receipts import VersionedKind
from app.audit.service import Target
from app.core.actor import Access, Actor, operation
from app.core.errors import Gone, NotFound
from app.core.ids import as_uuid, is_display_id
from app.database.session import session
from app.database.sql_functions import position_in_any_case
from app.projects import loaders as projects
from app.projects.models import Project
from app.search import service as search
from app.search.documents import DocumentKind
from app.tickets.models import Comment, Ticket, TicketType

COMPLETIONS = 8
# The most parents that are offered, and the most search hits among which they are looked for.
PARENTS = 50
HITS = 200

# Built once: building a statement costs more than running it.
_BY_ID = select(Ticket).where(Ticket.id == bindparam("reference"))
_BY_DISPLAY_ID = select(Ticket).where(Ticket.display_id == bindparam("reference"))
_LOCKED = {
    statement: statement.with_for_update(key_share=True) for statement in (_BY_ID, _BY_DISPLAY_ID)
}


def find(reference: str, *, lock: bool = False) -> Ticket | None:
    """The ticket with a UUID or display id, deleted or not; ``lock`` locks its row."""
    statement, value = _BY_ID, as_uuid(reference)
    if is_display_id(reference):
        statement, value = _BY_DISPLAY_ID, reference
    if value is None:
        return None
    if lock:
        statement = _LOCKED[statement]
    return session.scalars(statement, {"reference": value}).first()


def visible(actor: Actor, reference: str, *, include_deleted: bool = False) -> Ticket:
    """The ticket that the actor sees; raises NotFound or Gone."""
    ticket = find(reference)
    if ticket is None or not actor.sees_project(ticket.project_id):
        raise NotFound("ticket", reference)
    if not include_deleted:
        projects.visible(actor, ticket.project_id)
        if ticket.is_deleted:
            raise Gone("ticket", reference)
    return ticket


def writable(actor: Actor, reference: str | Ticket, *, include_deleted: bool = False) -> Ticket:
    """The ticket, locked, for a change of it or its comments, relations and watchers.

    A ``Ticket`` that the same unit of work has already locked is not read again. Raises NotFound,
    OutsideAllowlist or Gone.
    """
    if isinstance(reference, Ticket):
        ticket, reference = reference, reference.id
    else:
        found = find(reference, lock=True)
        if found is None:
            raise NotFound("ticket", reference)
        ticket = found
    project = receipts.begin(actor, VersionedKind.TICKET, ticket)
    projects.writable(actor, project or ticket.project_id)
    if ticket.is_deleted and not include_deleted:
        raise Gone("ticket", reference)
    return ticket


def named_in_body(actor: Actor, reference: str) -> Ticket | None:
    """The ticket that a request body names; None unless it is live and the actor sees it."""
    ticket = find(reference)
    if ticket is None or ticket.is_deleted or not actor.sees_project(ticket.project_id):
        return None
    project = projects.visible(actor, ticket.project_id, include_deleted=True)
    return ticket if project.deleted_at is None else None


def visible_comment(
    actor: Actor, comment_id: str, *, include_deleted: bool = False
) -> tuple[Comment, Ticket]:
    """The comment and its ticket; raises NotFound or Gone."""
    canonical = as_uuid(comment_id)
    comment = session.get(Comment, canonical) if canonical else None
    if comment is None:
        raise NotFound("comment", comment_id)
    ticket = visible(actor, comment.ticket_id)
    if comment.is_deleted and not include_deleted:
        raise Gone("comment", comment_id)
    return comment, ticket


def writable_comment(
    actor: Actor, comment_id: str, *, include_deleted: bool = False
) -> tuple[Comment, Ticket]:
    """The comment and its ticket, both locked; raises NotFound, OutsideAllowlist or Gone."""
    canonical = as_uuid(comment_id)
    comment = None
    if canonical is not None:
        statement = select(Comment).where(Comment.id == canonical)
        comment = session.scalars(statement.with_for_update(key_share=True)).first()
    if comment is None:
        raise NotFound("comment", comment_id)
    ticket = writable(actor, comment.ticket_id)
    if comment.is_deleted and not include_deleted:
        raise Gone("comment", comment_id)
    return comment, ticket


def target(ticket: Ticket) -> Target:
    """The ticket as an event's target."""
    return Target("ticket", ticket.id, project_id=ticket.project_id, ticket_id=ticket.id)


@operation(Access.READ)
def tickets_like(actor: Actor, project_id: str | None, typed: str) -> list[dict[str, Any]]:
    """Completions by start of number or part of title: the project's first, then the newest."""
    query = typed.strip()
    statement = (
        select(Ticket.display_id, Ticket.title)
        .join(Project, Project.id == Ticket.project_id)
        .where(
            Ticket.deleted_at.is_(None),
            Project.deleted_at.is_(None),
            or_(
                Ticket.display_id.startswith(query.upper(), autoescape=True),
                position_in_any_case(Ticket.title, query) > 0,
            ),
        )
        .order_by((Ticket.display_id == query.upper()).desc())
        .order_by((Ticket.project_id == project_id).desc(), Ticket.created_at.desc(), Ticket.id)
        .limit(COMPLETIONS)
    )
    statement = projects.within_allowlist(actor, statement, Ticket.project_id)
    return [dict(row._mapping) for row in session.execute(statement)]


@operation(Access.READ)
def parents_like(
    actor: Actor, project_id: str, kind: TicketType, typed: str
) -> list[dict[str, Any]]:
    """Epics by part of title, or stories by words, and both by number; ``typed`` is not blank.

    Epics are few and are read one by one; stories come from the search index.
    """
    number = Ticket.display_id.startswith(typed.upper(), autoescape=True)
    if kind is TicketType.EPIC:
        fits = or_(number, position_in_any_case(Ticket.title, typed) > 0)
    else:
        found = search.find(
            actor, q=typed, type=DocumentKind.TICKET.value, project_id=project_id, limit=HITS
        )
        fits = Ticket.id.in_([hit.found.id for hit in found.hits])
    statement = (
        select(Ticket.id, Ticket.display_id, Ticket.title, Ticket.type)
        .where(
            Ticket.project_id == project_id,
            Ticket.deleted_at.is_(None),
            Ticket.type == kind.value,
            fits,
        )
        .order_by((Ticket.display_id == typed.upper()).desc(), Ticket.created_at.desc(), Ticket.id)
        .limit(PARENTS)
    )
    return [dict(row._mapping) for row in session.execute(statement)]
