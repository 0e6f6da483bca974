"""What the board shows: columns with their cards, in few statements however many tickets there are.

A project's columns are its states; the board of all projects has one column a category. Order
inside a column: priority, then due date, then newest change. A column shows at most
``CARDS_PER_COLUMN``; of what is done, only the last ``DONE_DAYS``.
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
from app.tickets import cards
from app.tickets.cards import Card
from app.tickets.models import DUE_SQL, RANK_SQL, Ticket, TicketType
from app.tickets.read import LabelSummary, in_live_projects

CARDS_PER_COLUMN = 100
_CARDS = [TicketType.STORY.value, TicketType.SUBTASK.value]
DONE_DAYS = 14
# A column's tickets are counted up to here, so that a board costs the same however long it is used.
COUNTED = 10_000

# Of tickets alone; where other tables have such columns, the table is named.
_rank: ColumnElement[int] = literal_column(RANK_SQL.replace("priority", "tickets.priority"))
_due: ColumnElement[str] = literal_column(DUE_SQL.replace("due_date", "tickets.due_date"))
_MOST: ColumnElement[int] = literal_column(str(CARDS_PER_COLUMN))
_order = (_rank, _due, Ticket.updated_at.desc(), Ticket.id.desc())


@dataclass(frozen=True, slots=True)
class Outline:
    """What a board's statements depend on, so that each is made once."""

    everywhere: bool
    with_epics: bool
    all_done: bool

    @property
    def within(self) -> ColumnElement[bool]:
        """Which tickets are on the board at all; takes ``project_id`` unless of all projects."""
        where = (
            in_live_projects() if self.everywhere else Ticket.project_id == bindparam("project_id")
        )
        # Epics are not cards unless they are asked for.
        kind = literal(value=True) if self.with_epics else Ticket.type.in_(_CARDS)
        return and_(where, Ticket.deleted_at.is_(None), kind)

    @property
    def place(self) -> Any:
        """What decides on a ticket's column."""
        return WorkflowState.category if self.everywhere else Ticket.state_id


@dataclass(frozen=True, slots=True)
class Shape:
    """What a board shows: of which project (None: of all), grouped how, and how much."""

    project_id: str | None
    grouping: str = ""
    with_epics: bool = False
    all_done: bool = False

    @property
    def outline(self) -> Outline:
        """What its statements are made of."""
        return Outline(self.project_id is None, self.with_epics, self.all_done)

    @property
    def values(self) -> dict[str, Any]:
        """The values that those statements take."""
        project = {} if self.project_id is None else {"project_id": self.project_id}
        recent = {} if self.all_done else {"done_since": now_ms() - DONE_DAYS * DAY_MS}
        return {**project, **recent}


@dataclass(slots=True)
class Column:
    """One state of the project (or one category), its cards and how many tickets it holds."""

    id: str
    name: str
    category: str
    # Live tickets in the column, whatever the filters; one more than COUNTED stands for any more.
    total: int
    cards: list[Card] = field(default_factory=list)
    # Cards that fit the filters, shown or not; of what is done, recent ones alone.
    fitting: int = 0

    @property
    def shown(self) -> int:
        """How many cards there are."""
        return len(self.cards)

    @property
    def is_many(self) -> bool:
        """Whether there are more tickets than are counted."""
        return self.total > COUNTED

    @property
    def older(self) -> int:
        """How many tickets that fit are left to the list."""
        return self.fitting - self.shown


@dataclass(frozen=True, slots=True)
class BoardLane:
    """A row of a grouped board: what its cards have in common, and the cards by column."""

    key: str
    name: str
    # The user, priority, epic or label that it stands for.
    mark: Any
    cells: list[tuple[Column, list[Card]]]

    @property
    def shown(self) -> int:
        """How many cards there are."""
        return sum(len(held) for _, held in self.cells)


def columns(
    shape: Shape, conditions: Sequence[ColumnElement[bool]], users: dict[str, UserSummary]
) -> list[Column]:
    """The board's columns in order, each with the cards that fit."""
    found = {column.id: column for column in empty_columns(shape)}
    rows: Sequence[AnyRow]
    if conditions or shape.project_id is None:
        rows = session.execute(_first_of_each(shape.outline, *conditions), shape.values).all()
        fitting = {row.place: row.fitting for row in rows}
    else:
        rows = _first(shape, list(found.values()))
        fitting = {column.id: column.total for column in found.values()}
    for card in _build(shape, rows, users):
        found[card["place"]].cards.append(card)
    for column in found.values():
        column.fitting = fitting.get(column.id, 0)
        if column.category == StateCategory.DONE and not conditions and not shape.all_done:
            column.fitting = column.total
    return list(found.values())


def empty_columns(shape: Shape) -> list[Column]:
    """The board's columns in order, with how many tickets each holds, and no cards yet."""
    rows = _totals(shape.outline).all(**shape.values)
    if shape.project_id is None:
        counted = {row.category: min(row.total, COUNTED + 1) for row in rows}
        return [
            Column(str(one), str(one).capitalize(), str(one), counted.get(str(one), 0))
            for one in StateCategory
        ]
    return [Column(row.id, row.name, row.category, row.total) for row in rows]


@lru_cache
def _totals(outline: Outline) -> Prepared:
    """The columns, and how many tickets each holds."""
    # A count for each along the index of boards: grouping a join takes five times as long.
    within = and_(Ticket.state_id == WorkflowState.id, outline.within)
    some = select(Ticket.id).where(within).correlate(WorkflowState).limit(COUNTED + 1).subquery()
    total = select(func.count()).select_from(some).scalar_subquery().label("total")
    if outline.everywhere:
        by_state = select(WorkflowState.category, total).subquery()
        return Prepared(
            select(
                by_state.c.category, cast(func.sum(by_state.c.total), BigInteger).label("total")
            ).group_by(by_state.c.category)
        )
    return Prepared(
        select(WorkflowState.id, WorkflowState.name, WorkflowState.category, total)
        .where(WorkflowState.project_id == bindparam("project_id"))
        .order_by(WorkflowState.position)
    )


def _fitting(
    outline: Outline, conditions: Sequence[ColumnElement[bool]], statement: AnySelect
) -> AnySelect:
    """Of a statement over tickets and their states, what is on the board and fits."""
    statement = statement.where(outline.within, *conditions)
    if outline.all_done:
        return statement
    recent = Ticket.updated_at >= bindparam("done_since", type_=BigInteger)
    return statement.where(or_(WorkflowState.category != StateCategory.DONE.value, recent))


def _first_of_each(outline: Outline, *conditions: ColumnElement[bool]) -> AnySelect:
    """The first cards of every column, and how many there are in all.

    What a card shows is fetched only for those: sorting whole rows takes three times as long.
    """
    number = func.row_number().over(partition_by=outline.place, order_by=_order).label("number")
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


def _first(shape: Shape, found: Sequence[Column]) -> list[Any]:
    """The first cards of every column of a project's board that nothing filters."""
    cut = tuple(column.category == StateCategory.DONE and not shape.all_done for column in found)
    places = {f"place_{number}": column.id for number, column in enumerate(found)}
    values = shape.values if any(cut) else {"project_id": shape.project_id}
    return _firsts(shape.outline, cut).all(**values, **places)


@lru_cache
def _firsts(outline: Outline, cut: tuple[bool, ...]) -> Prepared:
    """The first cards of so many states, each read along the index; ``cut`` ones recent alone."""
    columns = []
    for number, is_cut in enumerate(cut):
        column = select(Ticket.id).where(
            outline.within, Ticket.state_id == bindparam(f"place_{number}")
        )
        if is_cut:
            # Along the order of the column until there are enough, not through all that is recent.
            recent = Unindexed(Ticket.updated_at) >= bindparam("done_since", type_=BigInteger)
            column = column.where(recent)
        columns.append(select(column.order_by(*_order).limit(_MOST).subquery().c.id))
    return Prepared(cards.SOURCE.where(Ticket.id.in_(union_all(*columns))).order_by(*_order))


def _build(shape: Shape, rows: Sequence[AnyRow], users: dict[str, UserSummary]) -> list[Card]:
    return cards.build(rows, users, grouping=shape.grouping, by_category=shape.project_id is None)


def cards_among(
    shape: Shape,
    conditions: Sequence[ColumnElement[bool]],
    ticket_ids: Sequence[str],
    users: dict[str, UserSummary],
) -> list[Card]:
    """Of these tickets, the cards that the board shows."""
    among = Ticket.id.in_(ticket_ids)
    statement = _fitting(shape.outline, [*conditions, among], cards.SOURCE).order_by(*_order)
    return _build(shape, session.execute(statement, shape.values).all(), users)


def card(shape: Shape, ticket_id: str, users: dict[str, UserSummary]) -> Card:
    """One card, as the board shows it, whether it fits or not."""
    rows = session.execute(cards.SOURCE.where(Ticket.id == ticket_id)).all()
    return _build(shape, rows, users)[0]


def lanes(
    shape: Shape,
    found: Sequence[Column],
    users: dict[str, UserSummary],
    labels: Sequence[LabelSummary],
) -> list[BoardLane]:
    """The cards of these columns by lane; lanes in a fixed order, what has none of it last."""
    marks = _marks(shape.grouping, found, users, labels)
    held: dict[tuple[str, str], list[Card]] = {}
    for column in found:
        for one in column.cards:
            held.setdefault((one["lane"], column.id), []).append(one)
    return [
        BoardLane(key, name, mark, [(column, held.get((key, column.id), [])) for column in found])
        for key, (name, mark) in marks.items()
    ]


def _marks(
    grouping: str,
    found: Sequence[Column],
    users: dict[str, UserSummary],
    labels: Sequence[LabelSummary],
) -> dict[str, tuple[str, Any]]:
    """The lanes that are shown, by key: priorities all, of the rest those that hold a card."""
    if grouping == "priority":
        return {str(level): (str(level).capitalize(), str(level)) for level in cards.RANKS}
    used = {one["lane"]: one for column in found for one in column.cards}
    made: dict[str, tuple[str, Any]] = {}
    if grouping == "assignee":
        made = {key: (user["display_name"], user) for key, user in users.items() if key in used}
    elif grouping == "label":
        made = {one["id"]: (one["name"], one) for one in labels if one["id"] in used}
    elif grouping == "epic":
        epics = sorted((one["epic"], key) for key, one in used.items() if key != cards.NONE)
        made = {key: (title, title) for title, key in epics}
    missing = {"assignee": "Nobody", "label": "No label", "epic": "No epic"}[grouping]
    return {**made, cards.NONE: (missing, None)}
