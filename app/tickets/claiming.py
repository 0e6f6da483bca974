"""Claiming work: each ready ticket goes to one worker, even if many ask at once."""

from typing import Any

from sqlalchemy import select

from app.core.actor import Access, Actor, operation
from app.database.session import session
from app.projects.loaders import within_allowlist
from app.projects.models import WorkflowState
from app.tickets import filters, read, service
from app.tickets.list_orders import order_by
from app.tickets.models import Ticket
from app.tickets.sorting import KEYS, TicketSort


@operation(Access.WRITE)
def claim_next(actor: Actor, /, *, assignee_user_id: str, **narrowed: Any) -> Ticket | None:
    """Assign the first ready ticket by rank, then age; None if no ticket is ready.

    ``narrowed`` are values of ``FILTERS``. On PostgreSQL a ticket that another transaction is
    changing is skipped, so that claims do not wait for one another. SQLite has one writer.
    """
    statement = (
        select(Ticket)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(
            filters.is_ready(),
            read.in_live_projects(),
            *filters.conditions(narrowed.items()),
        )
        .order_by(*order_by(KEYS[TicketSort.RANK]))
        .limit(1)
        .with_for_update(of=Ticket, skip_locked=True, key_share=True)
    )
    ticket = session.scalars(within_allowlist(actor, statement, Ticket.project_id)).first()
    if ticket is None:
        return None
    return service.update_ticket(actor, ticket, assignee_user_id=assignee_user_id)
