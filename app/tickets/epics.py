"""Epics with what lies below them: how far each one is, and when its stories are due."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import and_, case, func, select
from sqlalchemy.orm import aliased

from app.core.db import AnyRow, session
from app.projects.models import StateCategory, WorkflowState
from app.tickets.models import Ticket, TicketType

# Of a project, the newest; and of one epic, the open ones first. The rest is in the list.
EPICS_SHOWN = 50
STORIES_SHOWN = 40

_is_done = WorkflowState.category == StateCategory.DONE.value
_Part = aliased(Ticket, name="part")
_PartState = aliased(WorkflowState, name="part_state")


@dataclass(frozen=True, slots=True)
class Story:
    """A story below an epic, with how many of its subtasks are done."""

    id: str
    display_id: str
    title: str
    due_date: str | None
    state: str
    category: str
    parts: int
    parts_done: int

    @property
    def is_done(self) -> bool:
        """Whether its state says so."""
        return self.category == StateCategory.DONE


@dataclass(slots=True)
class Epic:
    """An epic: how many of its stories are done, and the first of them."""

    id: str
    display_id: str
    title: str
    due_date: str | None
    state: str
    category: str
    stories: int = 0
    stories_done: int = 0
    shown: list[Story] = field(default_factory=list)
    # The due dates of its stories, with whether each story is done.
    dates: list[tuple[str, bool]] = field(default_factory=list)

    @property
    def left_out(self) -> int:
        """How many stories are not among those shown."""
        return self.stories - len(self.shown)


def of_project(project_id: str) -> tuple[list[Epic], bool]:
    """The project's epics, open ones first, then the newest; and whether there are more."""
    rows = session.execute(
        select(
            Ticket.id,
            Ticket.display_id,
            Ticket.title,
            Ticket.due_date,
            WorkflowState.name,
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
    epics = [Epic(*row) for row in rows[:EPICS_SHOWN]]
    _count(epics)
    _fill(epics)
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


def _fill(epics: Sequence[Epic]) -> None:
    """The first stories of each epic, with their own progress."""
    known = {one.id: one for one in epics}
    if not known:
        return
    place = (
        func.row_number()
        .over(
            partition_by=Ticket.parent_ticket_id,
            order_by=(_is_done, Ticket.created_at, Ticket.id),
        )
        .label("place")
    )
    inner = (
        select(
            Ticket.id,
            Ticket.display_id,
            Ticket.title,
            Ticket.due_date,
            Ticket.parent_ticket_id,
            WorkflowState.name,
            WorkflowState.category,
            place,
        )
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.parent_ticket_id.in_(known), Ticket.deleted_at.is_(None))
        .subquery()
    )
    rows = session.execute(
        select(inner).where(inner.c.place <= STORIES_SHOWN).order_by(inner.c.place)
    ).all()
    parts = parts_of(row.id for row in rows)
    for row in rows:
        known[row.parent_ticket_id].shown.append(_story(row, parts))


def _story(row: AnyRow, parts: dict[str, tuple[int, int]]) -> Story:
    every, done = parts.get(row.id, (0, 0))
    return Story(
        row.id, row.display_id, row.title, row.due_date, row.name, row.category, every, done
    )


def parts_of(ticket_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Of each of these tickets: how many lie below it, and how many of those are done."""
    wanted = list(ticket_ids)
    if not wanted:
        return {}
    rows = session.execute(
        select(
            _Part.parent_ticket_id,
            func.count().label("parts"),
            func.sum(case((_PartState.category == StateCategory.DONE.value, 1), else_=0)),
        )
        .join(_PartState, _PartState.id == _Part.state_id)
        .where(and_(_Part.parent_ticket_id.in_(wanted), _Part.deleted_at.is_(None)))
        .group_by(_Part.parent_ticket_id)
    )
    return {parent_id: (parts, done) for parent_id, parts, done in rows}
