"""Epics with what lies below them: how far each one is, and when its stories are due."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import case, func, select

from app.database.session import session
from app.projects.models import StateCategory, WorkflowState
from app.tickets.models import Ticket, TicketType

# Of a project, the open ones first, then the newest; the rest is in the list.
EPICS_SHOWN = 50

_is_done = WorkflowState.category == StateCategory.DONE.value


@dataclass(slots=True)
class Epic:
    """An epic: how many of its stories are done, and when they are due."""

    id: str
    display_id: str
    title: str
    due_date: str | None
    state: str
    category: str
    stories: int = 0
    stories_done: int = 0
    # The due dates of its stories, with whether each story is done.
    dates: list[tuple[str, bool]] = field(default_factory=list)


def of_project(project_id: str) -> tuple[list[Epic], bool]:
    """The project's epics, open ones first, then the newest; and whether there are more."""
    rows = session.execute(
        select(
            Ticket.id,
            Ticket.display_id,
            Ticket.title,
            Ticket.due_date,
            WorkflowState.name.label("state"),
            WorkflowState.category,
        )
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(
            Ticket.project_id == project_id,
            Ticket.type == TicketType.EPIC.value,
            Ticket.deleted_at.is_(None),
        )
        .order_by(_is_done, Ticket.created_at.desc(), Ticket.id.desc())
        .limit(EPICS_SHOWN + 1)
    ).all()
    epics = [
        Epic(row.id, row.display_id, row.title, row.due_date, row.state, row.category)
        for row in rows[:EPICS_SHOWN]
    ]
    _count(epics)
    return epics, len(rows) > EPICS_SHOWN


def _count(epics: Sequence[Epic]) -> None:
    """How many stories each epic has, how many are done, and when they are due."""
    known = {one.id: one for one in epics}
    if not known:
        return
    rows = session.execute(
        select(
            Ticket.parent_ticket_id,
            Ticket.due_date,
            func.count().label("stories"),
            func.sum(case((_is_done, 1), else_=0)).label("done"),
        )
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.parent_ticket_id.in_(known), Ticket.deleted_at.is_(None))
        .group_by(Ticket.parent_ticket_id, Ticket.due_date)
    )
    for parent_id, due_date, stories, done in rows:
        epic = known[parent_id]
        epic.stories += stories
        epic.stories_done += done
        if due_date:
            epic.dates.append((due_date, done == stories))
    for epic in epics:
        epic.dates.sort()
