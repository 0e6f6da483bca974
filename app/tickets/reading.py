"""Reading tickets: one, or many by filter."""

from typing import Any

from app.core.actor import Access, Actor, operation
from app.core.db import session
from app.core.pagination import Page
from app.projects import loaders as projects
from app.tickets import loaders, queries
from app.tickets.models import Ticket


@operation(Access.READ)
def list_tickets(actor: Actor, /, *, limit: int, cursor: str | None, **filters: Any) -> Page:
    """Tickets of all projects that the actor can see, newest first."""
    include_deleted = bool(filters.pop("include_deleted", False))
    conditions = [] if include_deleted else [queries.in_live_projects()]
    if actor.allowlist:
        conditions.append(Ticket.project_id.in_(actor.allowlist))
    return queries.ticket_page(
        conditions, filters, limit=limit, cursor=cursor, include_deleted=include_deleted
    )


@operation(Access.READ)
def list_project_tickets(
    actor: Actor, /, project_id: str, *, limit: int, cursor: str | None, **filters: Any
) -> Page:
    """Tickets of one project, newest first."""
    include_deleted = bool(filters.pop("include_deleted", False))
    project = projects.visible(actor, project_id, include_deleted=include_deleted)
    return queries.ticket_page(
        [Ticket.project_id == project.id],
        filters,
        limit=limit,
        cursor=cursor,
        include_deleted=include_deleted,
    )


@operation(Access.READ)
def get_ticket(actor: Actor, reference: str, *, include_deleted: bool = False) -> Ticket:
    """One ticket, by UUID or display id."""
    return loaders.visible(actor, reference, include_deleted=include_deleted)


def children(ticket: Ticket) -> list[dict[str, Any]]:
    """The live tickets below this one, oldest first."""
    rows = session.execute(
        queries.FULL.where(
            Ticket.parent_ticket_id == ticket.id, Ticket.deleted_at.is_(None)
        ).order_by(Ticket.created_at, Ticket.id)
    ).all()
    return queries.build(rows)
