"""Reading tickets: one, or many by filter."""

from typing import Any

from sqlalchemy import bindparam

from app.core.actor import Access, Actor, operation
from app.core.db import Prepared
from app.core.errors import Gone, NotFound
from app.core.pagination import Page
from app.projects import loaders as projects
from app.tickets import list_queries, queries
from app.tickets.models import Ticket


@operation(Access.READ)
def list_tickets(
    actor: Actor, /, *, limit: int, cursor: str | None, with_body: bool = True, **filters: Any
) -> Page:
    """Tickets of all projects that the actor can see, newest first; the body can be None."""
    include_deleted = bool(filters.pop("include_deleted", False))
    filters["in_live_projects"] = not include_deleted
    filters["project_ids"] = list(actor.allowlist) or None
    return list_queries.ticket_page(
        [],
        filters,
        limit=limit,
        cursor=cursor,
        include_deleted=include_deleted,
        with_body=with_body,
    )


@operation(Access.READ)
def list_project_tickets(
    actor: Actor, /, project_id: str, *, limit: int, cursor: str | None, **filters: Any
) -> Page:
    """Tickets of one project, newest first."""
    include_deleted = bool(filters.pop("include_deleted", False))
    project = projects.visible(actor, project_id, include_deleted=include_deleted)
    return list_queries.ticket_page(
        [],
        {**filters, "project_id": project.id},
        limit=limit,
        cursor=cursor,
        include_deleted=include_deleted,
    )


@operation(Access.READ)
def get_ticket(
    actor: Actor, reference: str, *, include_deleted: bool = False
) -> queries.FoundTicket:
    """One ticket, by UUID or display id; raises NotFound or Gone."""
    found = queries.found(reference)
    if found is None or not actor.sees_project(found.project_id):
        raise NotFound("ticket", reference)
    if not include_deleted:
        if found.row.project_deleted_at is not None:
            raise Gone("project", found.project_id)
        if found.row.deleted_at is not None:
            raise Gone("ticket", reference)
    return found


_CHILDREN = Prepared(
    queries.LISTED.where(
        Ticket.parent_ticket_id == bindparam("ticket_id"), Ticket.deleted_at.is_(None)
    ).order_by(Ticket.created_at, Ticket.id)
)


def children(ticket_id: str) -> list[dict[str, Any]]:
    """The live tickets below this one, oldest first."""
    return queries.build(_CHILDREN.all(ticket_id=ticket_id))
