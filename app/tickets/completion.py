"""Which tickets a number or word that is being typed may mean."""

from typing import Any

from sqlalchemy import func, or_, select

from app.core.actor import Access, Actor, operation
from app.database.session import session
from app.projects.models import Project
from app.tickets.models import Ticket

COMPLETIONS = 8


@operation(Access.READ)
def tickets_like(actor: Actor, project_id: str | None, typed: str) -> list[dict[str, Any]]:
    """Live tickets by number or title, those of the project first, the newest first."""
    wanted = typed.strip()
    statement = (
        select(Ticket.display_id, Ticket.title)
        .join(Project, Project.id == Ticket.project_id)
        .where(
            Ticket.deleted_at.is_(None),
            Project.deleted_at.is_(None),
            or_(
                Ticket.display_id.startswith(wanted.upper(), autoescape=True),
                func.lower(Ticket.title).contains(wanted.lower(), autoescape=True),
            ),
        )
        .order_by((Ticket.display_id == wanted.upper()).desc())
        .order_by((Ticket.project_id == project_id).desc(), Ticket.created_at.desc(), Ticket.id)
        .limit(COMPLETIONS)
    )
    if actor.allowlist:
        statement = statement.where(Ticket.project_id.in_(actor.allowlist))
    return [dict(row._mapping) for row in session.execute(statement)]
