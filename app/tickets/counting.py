"""Counts of tickets by filter, without rows."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, func, select

from app.accounts.models import User
from app.core.actor import Access, Actor, operation
from app.core.lanes import Lane, require
from app.database.session import session
from app.projects.loaders import within_allowlist
from app.projects.models import Label, WorkflowState
from app.tickets import filters, list_pages, read
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


# Filters that are checked ticket by ticket; the other filters can use an index.
_CHECKED = ("ticket_type", "priority", "updated_since")


@dataclass(frozen=True, slots=True)
class Counted:
    """The numbers of tickets by name, the largest first."""

    numbers: dict[str, int]
    # Whether only the newest ``list_pages.MAX_COUNT`` tickets after the other filters were counted.
    is_partial: bool


def _matching(actor: Actor, given: dict[str, Any]) -> tuple[list[ColumnElement[bool]], bool]:
    """The conditions of the tickets to count, and whether they cover only a part.

    Covers the live tickets that the actor sees and the filters match.
    """
    present = filters.given(given)
    checked = {name: present.pop(name) for name in _CHECKED if name in present}
    candidates = (
        select(Ticket.id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(
            Ticket.deleted_at.is_(None),
            read.in_live_projects(),
            *filters.conditions(present.items()),
        )
    )
    candidates = within_allowlist(actor, candidates, Ticket.project_id)
    is_partial = not list_pages.are_few(candidates)
    newest = candidates.order_by(Ticket.created_at.desc(), Ticket.id.desc())
    counted = newest.limit(list_pages.MAX_COUNT).subquery()
    conditions = filters.conditions(checked.items())
    return [Ticket.id.in_(select(counted.c.id)), *conditions], is_partial


@operation(Access.READ)
def count_tickets(actor: Actor, /, **given: Any) -> Counted:
    """The number of tickets that match these values of ``FILTERS``, as ``total``."""
    require(Lane.POOL)
    conditions, is_partial = _matching(actor, given)
    number = session.scalar(select(func.count(Ticket.id)).where(*conditions))
    return Counted({"total": int(number or 0)}, is_partial)


@operation(Access.READ)
def count_tickets_by(actor: Actor, by: CountBy, /, **given: Any) -> Counted:
    """Like ``count_tickets``, for each name; a ticket counts for each of its labels."""
    require(Lane.POOL)
    conditions, is_partial = _matching(actor, given)
    column = _COLUMNS[by]
    number = func.count().label("number")
    statement = select(column.label("name"), number).select_from(Ticket).where(*conditions)
    if by is CountBy.STATE:
        statement = statement.join(WorkflowState, WorkflowState.id == Ticket.state_id)
    if by is CountBy.ASSIGNEE:
        statement = statement.outerjoin(User, User.id == Ticket.assignee_user_id)
    if by is CountBy.LABEL:
        statement = statement.outerjoin(TicketLabel, TicketLabel.ticket_id == Ticket.id)
        statement = statement.outerjoin(Label, Label.id == TicketLabel.label_id)
    rows = session.execute(statement.group_by(column).order_by(number.desc(), column)).all()
    return Counted({row.name or NONE: row.number for row in rows}, is_partial)
