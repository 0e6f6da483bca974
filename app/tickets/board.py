"""What the board shows: columns with their cards, in few statements however many tickets there are.

Order inside a column: priority, then due date, then newest change. A column shows at most
``CARDS_PER_COLUMN``; of what is done, only the last ``DONE_DAYS`` (ui.md 3.3).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, literal, or_, select
from sqlalchemy.orm import aliased

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.core.clock import DAY_MS, iso, now_ms
from app.core.db import AnyRow, session
from app.projects.models import StateCategory, WorkflowState
from app.tickets.builders import LabelSummary
from app.tickets.models import Priority, RelationType, Ticket, TicketLabel, TicketRelation

CARDS_PER_COLUMN = 100
DONE_DAYS = 14

RANKS = {Priority.URGENT: 0, Priority.HIGH: 1, Priority.MEDIUM: 2, Priority.LOW: 3}
# After every date, for cards without one.
NO_DATE = "9999-99-99"

Parent = aliased(Ticket, name="parent")
_rank = case({str(level): rank for level, rank in RANKS.items()}, value=Ticket.priority, else_=9)
_due = func.coalesce(Ticket.due_date, NO_DATE)
_order = (_rank, _due, Ticket.updated_at.desc(), Ticket.id.desc())

CARD = (
    Ticket.id,
    Ticket.display_id,
    Ticket.type,
    Ticket.title,
    Ticket.priority,
    Ticket.due_date,
    Ticket.state_id,
    Ticket.assignee_user_id,
    WorkflowState.category,
    Parent.display_id.label("parent_display_id"),
    Parent.title.label("parent_title"),
    Parent.type.label("parent_type"),
)


@dataclass(slots=True)
class Column:
    """One state of the project, its cards and how many tickets it holds."""

    id: str
    name: str
    category: str
    # Live tickets in the state, whatever the filters.
    total: int
    cards: list[dict[str, Any]] = field(default_factory=list)
    # Cards that fit the filters, shown or not.
    fitting: int = 0

    @property
    def shown(self) -> int:
        """How many cards there are."""
        return len(self.cards)

    @property
    def older(self) -> int:
        """How many tickets that fit are left to the list."""
        return self.fitting - self.shown


@dataclass(frozen=True, slots=True)
class Around:
    """What cards refer to: users, and the labels of the project by id."""

    users: dict[str, UserSummary]
    labels: dict[str, LabelSummary]


def all_users() -> Sequence[AnyRow]:
    """Everyone, people before bots, by name."""
    return session.execute(
        select(
            User.id, User.type, User.username, User.display_name, User.is_active, User.project_ids
        ).order_by(User.type.desc(), User.display_name)
    ).all()


def summaries(users: Iterable[AnyRow]) -> dict[str, UserSummary]:
    """Summaries by id."""
    return {row.id: user_summary(row.id, row.type, row.username, row.display_name) for row in users}


def columns(
    project_id: str,
    conditions: Sequence[ColumnElement[bool]],
    around: Around,
    *,
    with_epics: bool,
    all_done: bool,
) -> list[Column]:
    """The project's columns by position, each with the cards that fit."""
    counted = and_(
        Ticket.state_id == WorkflowState.id, Ticket.deleted_at.is_(None), _kind(with_epics)
    )
    states = session.execute(
        select(
            WorkflowState.id,
            WorkflowState.name,
            WorkflowState.category,
            func.count(Ticket.id).label("total"),
        )
        .outerjoin(Ticket, counted)
        .where(WorkflowState.project_id == project_id)
        .group_by(WorkflowState.id)
        .order_by(WorkflowState.position)
    )
    found = {row.id: Column(row.id, row.name, row.category, row.total) for row in states}
    rows = session.execute(
        _ranked(project_id, [*conditions, _kind(with_epics)], all_done=all_done)
    ).all()
    for card in _cards(rows, around):
        column = found[card["state_id"]]
        column.cards.append(card)
        column.fitting = card["fitting"]
    for column in found.values():
        if column.category == StateCategory.DONE and not conditions and not all_done:
            column.fitting = column.total
    return list(found.values())


def _kind(with_epics: bool) -> ColumnElement[bool]:
    """Epics are not cards unless they are asked for."""
    return literal(value=True) if with_epics else Ticket.type != "epic"


def _ranked(project_id: str, conditions: Sequence[ColumnElement[bool]], *, all_done: bool) -> Any:
    """The first cards of every column, and how many there are in all."""
    recent = Ticket.updated_at >= now_ms() - DONE_DAYS * DAY_MS
    place = func.row_number().over(partition_by=Ticket.state_id, order_by=_order).label("place")
    fitting = func.count().over(partition_by=Ticket.state_id).label("fitting")
    inner = (
        select(*CARD, place, fitting)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
        .where(Ticket.project_id == project_id, Ticket.deleted_at.is_(None), *conditions)
    )
    if not all_done:
        inner = inner.where(or_(WorkflowState.category != StateCategory.DONE.value, recent))
    table = inner.subquery()
    return select(table).where(table.c.place <= CARDS_PER_COLUMN).order_by(table.c.place)


def card(ticket_id: str, around: Around) -> dict[str, Any]:
    """One card, as the board shows it."""
    rows = session.execute(
        select(*CARD, literal(1).label("place"), literal(1).label("fitting"))
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
        .where(Ticket.id == ticket_id)
    ).all()
    return _cards(rows, around)[0]


def _cards(rows: Sequence[AnyRow], around: Around) -> list[dict[str, Any]]:
    ids = [row.id for row in rows]
    labels = _labels_on(ids, around.labels)
    parts = _parts_of(ids)
    today = iso(now_ms())[:10]
    return [
        {
            "id": row.id,
            "display_id": row.display_id,
            "type": row.type,
            "title": row.title,
            "priority": row.priority,
            "due_date": row.due_date,
            "overdue": bool(
                row.due_date and row.due_date < today and row.category != StateCategory.DONE
            ),
            "state_id": row.state_id,
            "assignee": around.users.get(row.assignee_user_id),
            "labels": labels.get(row.id, []),
            "epic": row.parent_title if row.parent_type == "epic" else None,
            "children": parts.get(row.id, (0, 0, 0))[0],
            "children_done": parts.get(row.id, (0, 0, 0))[1],
            "blockers": parts.get(row.id, (0, 0, 0))[2],
            "sort_key": f"{RANKS[Priority(row.priority)]} {row.due_date or NO_DATE}",
            "fitting": row.fitting,
        }
        for row in rows
    ]


def _labels_on(
    ticket_ids: Sequence[str], labels: dict[str, LabelSummary]
) -> dict[str, list[LabelSummary]]:
    """The labels on these tickets, in the order of ``labels`` (by name)."""
    if not ticket_ids or not labels:
        return {}
    pairs = session.execute(
        select(TicketLabel.ticket_id, TicketLabel.label_id).where(
            TicketLabel.ticket_id.in_(ticket_ids)
        )
    )
    carried: dict[str, set[str]] = {}
    for ticket_id, label_id in pairs:
        carried.setdefault(ticket_id, set()).add(label_id)
    return {
        ticket_id: [label for label_id, label in labels.items() if label_id in chosen]
        for ticket_id, chosen in carried.items()
    }


def _parts_of(ticket_ids: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """For each ticket: how many lie below it, how many of those are done, how many block it."""
    if not ticket_ids:
        return {}
    is_done = WorkflowState.category == StateCategory.DONE.value
    below = (
        select(
            Ticket.parent_ticket_id.label("id"),
            func.count().label("children"),
            func.sum(case((is_done, 1), else_=0)).label("done"),
            literal(0).label("blockers"),
        )
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.parent_ticket_id.in_(ticket_ids), Ticket.deleted_at.is_(None))
        .group_by(Ticket.parent_ticket_id)
    )
    blocking = (
        select(
            TicketRelation.target_ticket_id.label("id"),
            literal(0),
            literal(0),
            func.count().label("blockers"),
        )
        .join(Ticket, Ticket.id == TicketRelation.source_ticket_id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(
            TicketRelation.target_ticket_id.in_(ticket_ids),
            TicketRelation.type == RelationType.BLOCKS.value,
            Ticket.deleted_at.is_(None),
            ~is_done,
        )
        .group_by(TicketRelation.target_ticket_id)
    )
    found: dict[str, tuple[int, int, int]] = {}
    for ticket_id, children, done, blockers in session.execute(below.union_all(blocking)):
        before = found.get(ticket_id, (0, 0, 0))
        found[ticket_id] = (before[0] + children, before[1] + done, before[2] + blockers)
    return found
