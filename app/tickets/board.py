"""The content of a board: its columns and their cards, in a fixed number of statements.

The columns of a project are its states; the cross-project board has one per category. A column
shows at most ``CARDS_PER_COLUMN``, and done tickets only if they changed in the last ``DONE_DAYS``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
    union_all,
)

from app.accounts.builders import UserSummary
from app.core.clock import DAY_MS, now_ms
from app.database.session import AnyRow, AnySelect, Prepared, session
from app.database.sql_functions import Unindexed
from app.projects.models import StateCategory, WorkflowState
from app.tickets import cards, messages
from app.tickets.cards import BoardOrder, Card
from app.tickets.models import Ticket, TicketType
from app.tickets.read import LabelSummary, in_live_projects

CARDS_PER_COLUMN = 100
DONE_DAYS = 14
# The largest count of a column, to bound the cost of a board.
MAX_COUNT = 10_000

_CARD_TYPES = [TicketType.STORY.value, TicketType.SUBTASK.value]
_MAX_CARDS: ColumnElement[int] = literal_column(str(CARDS_PER_COLUMN))
_priority = case(
    {str(level): number for level, number in cards.RANKS.items()}, value=Ticket.priority, else_=9
)
_due = func.coalesce(Ticket.due_date, cards.NO_DATE)
# The sort key of the cards for each order; ``cards`` gives browsers a key that sorts the same.
_ORDERS: dict[BoardOrder, tuple[Any, ...]] = {
    BoardOrder.RANK: (Ticket.rank, Ticket.id),
    BoardOrder.PRIORITY: (_priority, _due, Ticket.updated_at.desc(), Ticket.id.desc()),
    BoardOrder.DUE: (_due, Ticket.rank, Ticket.id),
    BoardOrder.UPDATED: (Ticket.updated_at.desc(), Ticket.id.desc()),
}


@dataclass(frozen=True, slots=True)
class Outline:
    """The part of a ``Shape`` that determines its statements, which are cached by it."""

    is_cross_project: bool
    with_epics: bool
    all_done: bool
    order: BoardOrder

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns by which its cards are sorted."""
        return _ORDERS[self.order]

    @property
    def within(self) -> ColumnElement[bool]:
        """The tickets that can be on the board; for one project, takes ``project_id``."""
        where = (
            in_live_projects()
            if self.is_cross_project
            else Ticket.project_id == bindparam("project_id")
        )
        types = literal(value=True) if self.with_epics else Ticket.type.in_(_CARD_TYPES)
        return and_(where, Ticket.deleted_at.is_(None), types)

    @property
    def place(self) -> Any:
        """The id of a ticket's column."""
        return WorkflowState.category if self.is_cross_project else Ticket.state_id


@dataclass(frozen=True, slots=True)
class Shape:
    """Which board to show: of a project or (None) of all, its grouping, and its options."""

    project_id: str | None
    grouping: str = ""
    with_epics: bool = False
    all_done: bool = False
    order: BoardOrder = BoardOrder.RANK

    @property
    def outline(self) -> Outline:
        return Outline(self.project_id is None, self.with_epics, self.all_done, self.order)

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the statements of ``outline``."""
        project = {} if self.project_id is None else {"project_id": self.project_id}
        recent = {} if self.all_done else {"done_since": now_ms() - DONE_DAYS * DAY_MS}
        return {**project, **recent}


@dataclass(slots=True)
class Column:
    """One state of the project, or one category, with its cards."""

    id: str
    name: str
    category: str
    # Live tickets in the column without any filter; MAX_COUNT + 1 means that or more.
    total: int
    # The recommended maximum of tickets.
    limit: int | None = None
    cards: list[Card] = field(default_factory=list)
    # Tickets that match the filters, shown or not; of done ones, only recent ones.
    fitting: int = 0

    @property
    def shown(self) -> int:
        return len(self.cards)

    @property
    def is_over(self) -> bool:
        return self.limit is not None and self.total > self.limit

    @property
    def is_many(self) -> bool:
        return self.total > MAX_COUNT

    @property
    def older(self) -> int:
        """The number of matching tickets without a card."""
        return self.fitting - self.shown

    @property
    def is_cut(self) -> bool:
        """Whether there are more tickets than a column shows, so swimlanes do not cover all."""
        return self.older > 0 and self.shown >= CARDS_PER_COLUMN


@dataclass(frozen=True, slots=True)
class Swimlane:
    key: str
    name: str
    # The user, priority, epic or label that its cards share.
    mark: Any
    cells: list[tuple[Column, list[Card]]]

    @property
    def shown(self) -> int:
        return sum(len(cards) for _, cards in self.cells)


def columns(
    shape: Shape, conditions: Sequence[ColumnElement[bool]], users: dict[str, UserSummary]
) -> list[Column]:
    """The board's columns in order, each with the cards that match the conditions."""
    by_id = {column.id: column for column in empty_columns(shape)}
    rows: Sequence[AnyRow]
    if conditions or shape.project_id is None:
        rows = session.execute(_first_of_each(shape.outline, *conditions), shape.values).all()
        fitting = {row.place: row.fitting for row in rows}
    else:
        rows = _first_unfiltered(shape, list(by_id.values()))
        fitting = {column.id: column.total for column in by_id.values()}
    for card in _build(shape, rows, users):
        by_id[card["place"]].cards.append(card)
    for column in by_id.values():
        column.fitting = fitting.get(column.id, 0)
        if column.category == StateCategory.DONE and not conditions and not shape.all_done:
            column.fitting = column.total
    return list(by_id.values())


def empty_columns(shape: Shape) -> list[Column]:
    """The board's columns in order with their totals, without cards."""
    rows = _totals(shape.outline).all(**shape.values)
    if shape.project_id is None:
        totals = {row.category: min(row.total, MAX_COUNT + 1) for row in rows}
        return [
            Column(name, name.capitalize(), name, totals.get(name, 0))
            for name in map(str, StateCategory)
        ]
    return [Column(row.id, row.name, row.category, row.total, row.wip_limit) for row in rows]


@lru_cache
def _totals(outline: Outline) -> Prepared:
    # One count per column along the index of boards; a grouped join takes five times as long.
    within = and_(Ticket.state_id == WorkflowState.id, outline.within)
    tickets = (
        select(Ticket.id).where(within).correlate(WorkflowState).limit(MAX_COUNT + 1).subquery()
    )
    total = select(func.count()).select_from(tickets).scalar_subquery().label("total")
    if outline.is_cross_project:
        by_state = select(WorkflowState.category, total).subquery()
        return Prepared(
            select(
                by_state.c.category, cast(func.sum(by_state.c.total), BigInteger).label("total")
            ).group_by(by_state.c.category)
        )
    return Prepared(
        select(
            WorkflowState.id,
            WorkflowState.name,
            WorkflowState.category,
            WorkflowState.wip_limit,
            total,
        )
        .where(WorkflowState.project_id == bindparam("project_id"))
        .order_by(WorkflowState.position)
    )


def _fitting(
    outline: Outline, conditions: Sequence[ColumnElement[bool]], statement: AnySelect
) -> AnySelect:
    """A statement over tickets and their states, limited to matching tickets of the board."""
    statement = statement.where(outline.within, *conditions)
    if outline.all_done:
        return statement
    recent = Ticket.updated_at >= bindparam("done_since", type_=BigInteger)
    return statement.where(or_(WorkflowState.category != StateCategory.DONE.value, recent))


def _first_of_each(outline: Outline, *conditions: ColumnElement[bool]) -> AnySelect:
    """The first cards of every column, and the number of matching tickets.

    Only ids are sorted, and the rest is joined afterwards: sorting whole rows takes three times as
    long.
    """
    number = (
        func.row_number().over(partition_by=outline.place, order_by=outline.columns).label("number")
    )
    fitting = func.count().over(partition_by=outline.place).label("fitting")
    states = select(Ticket.id, outline.place.label("place"), number, fitting).join(
        WorkflowState, WorkflowState.id == Ticket.state_id
    )
    table = _fitting(outline, conditions, states).subquery()
    return (
        cards.SOURCE.add_columns(table.c.place, table.c.fitting)
        .join(table, table.c.id == Ticket.id)
        .where(table.c.number <= CARDS_PER_COLUMN)
        .order_by(table.c.number)
    )


def _first_unfiltered(shape: Shape, columns: Sequence[Column]) -> list[Any]:
    """The first cards of every column of a project's board without filters."""
    cut = tuple(column.category == StateCategory.DONE and not shape.all_done for column in columns)
    places = {f"place_{number}": column.id for number, column in enumerate(columns)}
    values = shape.values if any(cut) else {"project_id": shape.project_id}
    return _firsts(shape.outline, cut).all(**values, **places)


@lru_cache
def _firsts(outline: Outline, cut: tuple[bool, ...]) -> Prepared:
    """The first cards of each state along the index; only recent ones for states in ``cut``."""
    columns = []
    for number, is_cut in enumerate(cut):
        column = select(Ticket.id).where(
            outline.within, Ticket.state_id == bindparam(f"place_{number}")
        )
        if is_cut:
            # Reads along the index of the column's order until there are enough cards. The index of
            # ``updated_at`` would read all recent tickets.
            recent = Unindexed(Ticket.updated_at) >= bindparam("done_since", type_=BigInteger)
            column = column.where(recent)
        columns.append(select(column.order_by(*outline.columns).limit(_MAX_CARDS).subquery().c.id))
    return Prepared(
        cards.SOURCE.where(Ticket.id.in_(union_all(*columns))).order_by(*outline.columns)
    )


def _build(shape: Shape, rows: Sequence[AnyRow], users: dict[str, UserSummary]) -> list[Card]:
    return cards.build(
        rows,
        users,
        grouping=shape.grouping,
        by_category=shape.project_id is None,
        order=shape.order,
    )


def cards_among(
    shape: Shape,
    conditions: Sequence[ColumnElement[bool]],
    ticket_ids: Sequence[str],
    users: dict[str, UserSummary],
) -> list[Card]:
    """The cards of those of these tickets that are on the board."""
    among = Ticket.id.in_(ticket_ids)
    statement = _fitting(shape.outline, [*conditions, among], cards.SOURCE).order_by(
        *shape.outline.columns
    )
    return _build(shape, session.execute(statement, shape.values).all(), users)


def card(shape: Shape, ticket_id: str, users: dict[str, UserSummary]) -> Card:
    """The card of a ticket, even if it does not match the filters of the board."""
    rows = session.execute(cards.SOURCE.where(Ticket.id == ticket_id)).all()
    return _build(shape, rows, users)[0]


def swimlanes(
    shape: Shape,
    columns: Sequence[Column],
    users: dict[str, UserSummary],
    labels: Sequence[LabelSummary],
) -> list[Swimlane]:
    """The cards of these columns by swimlane, in a fixed order; ``cards.NONE`` is last."""
    cells: dict[tuple[str, str], list[Card]] = {}
    for column in columns:
        for card in column.cards:
            cells.setdefault((card["swimlane"], column.id), []).append(card)
    return [
        Swimlane(key, name, mark, [(column, cells.get((key, column.id), [])) for column in columns])
        for key, (name, mark) in _marks(shape.grouping, columns, users, labels).items()
    ]


def _marks(
    grouping: str,
    columns: Sequence[Column],
    users: dict[str, UserSummary],
    labels: Sequence[LabelSummary],
) -> dict[str, tuple[str, Any]]:
    """Name and mark of each swimlane by key: all priorities, else only swimlanes with a card."""
    if grouping == "priority":
        return {str(level): (str(level).capitalize(), str(level)) for level in cards.RANKS}
    used = {card["swimlane"]: card for column in columns for card in column.cards}
    marks: dict[str, tuple[str, Any]] = {}
    if grouping == "assignee":
        marks = {key: (user["display_name"], user) for key, user in users.items() if key in used}
    elif grouping == "label":
        marks = {label["id"]: (label["name"], label) for label in labels if label["id"] in used}
    elif grouping == "epic":
        epics = sorted((card["epic"], key) for key, card in used.items() if key != cards.NONE)
        marks = {key: (title, title) for title, key in epics}
    missing = {"assignee": messages.NOBODY, "label": messages.NO_LABEL, "epic": messages.NO_EPIC}[
        grouping
    ]
    return {**marks, cards.NONE: (missing, None)}
