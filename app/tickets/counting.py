"""Counts of tickets by filter, for who wants no rows."""

from enum import StrEnum
from typing import Any

from sqlalchemy import func, select

from app.accounts.models import User
from app.core.actor import Access, Actor, operation
from app.core.lanes import Lane, require
from app.database.session import session
from app.projects.models import Label, WorkflowState
from app.tickets import filters, read
from app.tickets.models import Ticket, TicketLabel

# The name of tickets without an assignee or label.
NONE = "none"


class CountBy(StrEnum):
    STATE = "state"
    TYPE = "type"
    PRIORITY = "priority"
    ASSIGNEE = "assignee"
    LABEL = "label"


_COLUMNS: dict[CountBy, Any] = {
    CountBy.STATE: WorkflowState.name,
    CountBy.TYPE: Ticket.type,
    CountBy.PRIORITY: Ticket.priority,
    CountBy.ASSIGNEE: User.username,
    CountBy.LABEL: Label.name,
}


def _matching(actor: Actor, given: dict[str, Any], *columns: Any) -> Any:
    """A query over the live tickets that the actor sees and the filters match."""
    present = [(name, value) for name, value in given.items() if value not in (None, False)]
    statement = (
        select(*columns)
        .select_from(Ticket)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.deleted_at.is_(None), read.in_live_projects(), *filters.conditions(present))
    )
    if actor.allowlist:
        statement = statement.where(Ticket.project_id.in_(actor.allowlist))
    return statement


@operation(Access.READ)
def count_tickets(actor: Actor, /, **given: Any) -> int:
    """The number of tickets that match these values of ``FILTERS``."""
    require(Lane.POOL)
    return int(session.scalar(_matching(actor, given, func.count())) or 0)


@operation(Access.READ)
def count_tickets_by(actor: Actor, by: CountBy, /, **given: Any) -> dict[str, int]:
    """The same for each name, the largest number first; a ticket counts for each of its labels."""
    require(Lane.POOL)
    column = _COLUMNS[by]
    number = func.count().label("number")
    statement = _matching(actor, given, column.label("name"), number).group_by(column)
    if by is CountBy.ASSIGNEE:
        statement = statement.outerjoin(User, User.id == Ticket.assignee_user_id)
    if by is CountBy.LABEL:
        statement = statement.outerjoin(TicketLabel, TicketLabel.ticket_id == Ticket.id)
        statement = statement.outerjoin(Label, Label.id == TicketLabel.label_id)
    rows = session.execute(statement.order_by(number.desc(), column)).all()
    return {row.name or NONE: row.number for row in rows}
