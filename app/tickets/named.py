"""What the tickets of a list name: people, states and parents, each read once.

Joined to each ticket they would take as long as the tickets themselves: a list names few of them,
many times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.core.db import AnyRow, AnySelect, Prepared
from app.projects.models import WorkflowState
from app.tickets.builders import StateSummary, TicketSummary, parent_summary, state_summary
from app.tickets.models import Ticket


@dataclass(frozen=True, slots=True)
class Named:
    """What some tickets name, by its id; what is gone by now is not in it."""

    users: dict[str | None, UserSummary]
    states: dict[str | None, StateSummary | None]
    parents: dict[str | None, TicketSummary]


def _of_these(statement: AnySelect, model: Any) -> Prepared:
    wanted = model.id.in_(bindparam("ids", expanding=True))
    return Prepared(statement.where(wanted), planned_once=True)


_USERS = _of_these(select(User.id, User.type, User.username, User.display_name), User)
_STATES = _of_these(
    select(WorkflowState.id, WorkflowState.name, WorkflowState.category), WorkflowState
)
_PARENTS = _of_these(
    select(
        Ticket.id,
        Ticket.display_id,
        Ticket.title,
        Ticket.type,
        WorkflowState.id.label("state_id"),
        WorkflowState.name,
        WorkflowState.category,
    ).outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id),
    Ticket,
)


def named_by(tickets: Sequence[AnyRow]) -> Named:
    """What these rows name by ``assignee_user_id``, ``reporter_user_id`` and the like."""
    people = {one.assignee_user_id for one in tickets} | {one.reporter_user_id for one in tickets}
    states = {one.state_id for one in tickets}
    parents = {one.parent_ticket_id for one in tickets}
    return Named(
        {row.id: user_summary(*row) for row in _rows(_USERS, people)},
        {row.id: state_summary(*row) for row in _rows(_STATES, states)},
        {row.id: parent_summary(*row) for row in _rows(_PARENTS, parents)},
    )


def _rows(statement: Prepared, ids: set[str | None]) -> list[Any]:
    named = [one for one in ids if one is not None]
    return statement.all(ids=named) if named else []
