"""The lists of pages: sorted, grouped and counted at a bounded cost.

A filter with an index leaves candidates: the tickets of an assignee, say, or of the open states. At
most ``MAX_COUNT`` of them are read. If there are no more, the list can be sorted by anything;
otherwise it is read along an index in the order of that index.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    case,
    func,
    literal,
    literal_column,
    select,
    true,
    type_coerce,
    union_all,
)

from app.database.columns import Id
from app.database.session import AnyRow, session
from app.database.sql_functions import Unindexed
from app.projects.models import StateCategory, WorkflowState
from app.tickets.list_orders import (
    NEWEST,
    OrderKey,
    Sort,
    after,
    columns_of,
    decode,
    encode,
    groups_of,
    order_by,
    selected,
    stretches,
    turned,
)
from app.tickets.models import Ticket
from app.tickets.read import LIVE, in_live_projects, tickets_json

MAX_COUNT = 10_000
_LIMIT: ColumnElement[int] = literal_column(str(MAX_COUNT + 1), Integer)

Row = dict[str, Any]


@dataclass(frozen=True)
class TicketList:
    """The filters of a list; those by state are separate."""

    project_id: str | None
    conditions: Sequence[ColumnElement[bool]]
    # The id and category of each state of its projects.
    states: Sequence[AnyRow]
    # The ids of the states shown; None for all.
    shown: frozenset[str] | None = None
    # One of the conditions: an indexed one that leaves few tickets.
    narrow: ColumnElement[bool] | None = None
    # Whether the conditions can be checked ticket by ticket.
    is_countable: bool = True

    @property
    def is_cross_project(self) -> bool:
        return self.project_id is None

    @property
    def within(self) -> ColumnElement[bool]:
        if self.project_id is None:
            return in_live_projects()
        return Ticket.project_id == self.project_id

    def _of(self, *, done: bool) -> frozenset[str]:
        is_done = StateCategory.DONE.value
        return frozenset(one.id for one in self.states if (one.category == is_done) is done)

    @cached_property
    def open_ids(self) -> frozenset[str]:
        return self._of(done=False)

    @cached_property
    def done_ids(self) -> frozenset[str]:
        return self._of(done=True)

    def in_states(self, state_ids: frozenset[str]) -> ColumnElement[bool]:
        """The tickets of these states, by an index."""
        condition = Ticket.state_id.in_(sorted(state_ids))
        return condition if self.is_cross_project else and_(self.within, condition)

    @property
    def all_conditions(self) -> list[ColumnElement[bool]]:
        """Every condition of the list, for statements that read along an index in its order."""
        conditions = [self.within, *self.conditions]
        if self.shown is not None:
            state_id: Any = Ticket.state_id
            if len(self.shown) > 1:
                # The index of states is in list order only within a single state.
                state_id = type_coerce(Unindexed(state_id), Id())
            conditions.append(state_id.in_(sorted(self.shown)))
        return conditions


# -- counting ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tally:
    """The numbers of matching open and done tickets, and the candidates if they can be sorted.

    A number above ``MAX_COUNT`` means that or more; None means that counting would read too many.
    """

    open: int | None = None
    done: int | None = None
    candidates: ColumnElement[bool] | None = None


def tally(ticket_list: TicketList) -> Tally:
    if not ticket_list.is_countable:
        return Tally()
    if ticket_list.narrow is not None:
        found = _tally_narrow(ticket_list, ticket_list.narrow)
        if found.candidates is not None:
            return found
    return _tally_states(ticket_list)


def _tally_narrow(ticket_list: TicketList, narrow: ColumnElement[bool]) -> Tally:
    read = _candidates(
        narrow,
        and_(ticket_list.within, *ticket_list.conditions).label("fits"),
        Ticket.state_id.in_(sorted(ticket_list.done_ids)).label("is_done"),
    ).subquery()
    fits, is_done = read.c.fits, read.c.is_done
    seen, open_ones, done = session.execute(
        select(func.count(), _sum(and_(fits, ~is_done)), _sum(and_(fits, is_done))).select_from(
            read
        )
    ).one()
    if seen > MAX_COUNT:
        return Tally()
    return Tally(open_ones, done, narrow)


def _tally_states(ticket_list: TicketList) -> Tally:
    places = {"open": ticket_list.open_ids, "done": ticket_list.done_ids}
    if ticket_list.shown is not None and ticket_list.shown not in places.values():
        places["own"] = ticket_list.shown
    statements = [
        _count(name, ticket_list.in_states(ids), ticket_list.conditions)
        for name, ids in places.items()
        if ids
    ]
    rows = session.execute(union_all(*statements)).all() if statements else []
    seen = {row.place: row.seen for row in rows}
    counts = {
        row.place: row.fitting if row.seen <= MAX_COUNT or row.fitting > MAX_COUNT else None
        for row in rows
    }
    candidates: ColumnElement[bool] | None = None
    if ticket_list.shown is None:
        if sum(seen.values()) <= MAX_COUNT:
            candidates = ticket_list.within
    else:
        own = next(name for name, ids in places.items() if ids == ticket_list.shown)
        if seen.get(own, 0) <= MAX_COUNT:
            candidates = ticket_list.in_states(ticket_list.shown)
    return Tally(counts.get("open", 0), counts.get("done", 0), candidates)


def _count(
    place: str, source: ColumnElement[bool], conditions: Sequence[ColumnElement[bool]]
) -> Select[Any]:
    if not conditions:
        # An index holds everything that this reads.
        read = select(Ticket.id).where(Ticket.deleted_at.is_(None), source).limit(_LIMIT).subquery()
        fitting: Any = func.count()
    else:
        read = _candidates(source, and_(*conditions).label("fits")).subquery()
        fitting = _sum(read.c.fits)
    return select(
        literal(place).label("place"), func.count().label("seen"), fitting.label("fitting")
    ).select_from(read)


def _candidates(source: ColumnElement[bool], *columns: Any) -> Select[Any]:
    """The given columns of the candidates, at most one row more than can be sorted."""
    return (
        select(*columns)
        .select_from(Ticket)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.deleted_at.is_(None), source)
        .limit(_LIMIT)
    )


def _sum(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


def are_few(ids: Select[Any]) -> bool:
    """Whether a query finds no more ids than can be sorted."""
    read = ids.limit(_LIMIT).subquery()
    return (session.scalar(select(func.count()).select_from(read)) or 0) <= MAX_COUNT


# -- pages ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The group of a row: the values that its tickets share, and their number."""

    values: tuple[Any, ...]
    size: int


@dataclass(frozen=True, slots=True)
class FoundTickets:
    """A page of tickets without bodies, and the cursors of the neighboring pages."""

    rows: list[Row]
    before: str | None
    after: str | None
    # By ticket id, if the list is grouped.
    groups: dict[str, GroupKey] = field(default_factory=dict)
    # The group of the row before the page.
    group_before: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list; its groups come first."""

    sort: Sort = NEWEST
    grouping: str = ""

    @property
    def kind(self) -> str:
        """The kind of its cursors; a cursor of another kind is refused."""
        return f"{self.sort.name}/{self.grouping}"

    def keys(self, *, is_cross_project: bool) -> tuple[OrderKey, ...]:
        groups = groups_of(is_cross_project=is_cross_project)
        return (*groups.get(self.grouping, ()), *self.sort.keys(is_cross_project=is_cross_project))

    def is_along_index(self, *, is_cross_project: bool) -> bool:
        return not self.grouping and self.sort.has_index(is_cross_project=is_cross_project)


def allowed_order(order: Order, ticket_list: TicketList, counted: Tally) -> Order:
    """The order itself, or if there are too many tickets to sort, newest first."""
    if counted.candidates is None and not order.is_along_index(
        is_cross_project=ticket_list.is_cross_project
    ):
        return Order()
    return order


def find(
    ticket_list: TicketList,
    order: Order,
    candidates: ColumnElement[bool] | None,
    *,
    limit: int,
    cursor: str | None,
    backwards: bool = False,
) -> FoundTickets:
    """The page after a cursor, or if ``backwards`` the page before it; raises InvalidField.

    The order must be that of ``allowed_order``.
    """
    along = order.is_along_index(is_cross_project=ticket_list.is_cross_project)
    if candidates is None or (along and ticket_list.shown is None):
        return walk(
            ticket_list.all_conditions,
            order,
            is_cross_project=ticket_list.is_cross_project,
            limit=limit,
            cursor=cursor,
            backwards=backwards,
        )
    keys = order.keys(is_cross_project=ticket_list.is_cross_project)
    count = len(keys) - len(order.sort.keys(is_cross_project=ticket_list.is_cross_project))
    position = decode(cursor, order.kind, keys) if cursor else None
    statement = _sorted(ticket_list, candidates, keys, count, position, backwards=backwards)
    found = session.execute(statement.limit(limit + 1)).all()
    id_key = f"key_{len(keys) - 1}"
    ids = [getattr(row, id_key) for row in found]
    by_id = {row.id: row for row in session.execute(LIVE.where(Ticket.id.in_(ids)))}
    page = _page(
        [row for row in found if getattr(row, id_key) in by_id], limit, cursor, backwards=backwards
    )
    return FoundTickets(
        tickets_json([by_id[getattr(row, id_key)] for row in page.rows]),
        before=_cursor(order, keys, page.rows[0]) if page.has_before else None,
        after=_cursor(order, keys, page.rows[-1]) if page.has_after else None,
        groups={
            getattr(row, id_key): GroupKey(tuple(row[:count]), row.of_group)
            for row in page.rows
            if count
        },
        group_before=tuple(position[:count]) if position and not backwards else None,
    )


def _sorted(
    ticket_list: TicketList,
    candidates: ColumnElement[bool],
    keys: Sequence[OrderKey],
    groups: int,
    position: Sequence[Any] | None,
    *,
    backwards: bool,
) -> Select[Any]:
    """The keys of matching candidates in order; the first ``groups`` keys make a group."""
    shown = true() if ticket_list.shown is None else Ticket.state_id.in_(sorted(ticket_list.shown))
    fits = and_(ticket_list.within, shown, *ticket_list.conditions)
    read = _candidates(candidates, *selected(keys), fits.label("fits")).subquery()
    keys = columns_of(keys, read)
    statement = select(*selected(keys)).where(read.c.fits)
    if groups:
        grouped = [key.expression for key in keys[:groups]]
        of_group = func.count().over(partition_by=grouped).label("of_group")
        fitting = statement.add_columns(of_group).subquery()
        keys = columns_of(keys, fitting)
        statement = select(fitting)
    ordered = turned(keys) if backwards else keys
    if position is not None:
        statement = statement.where(after(ordered, position))
    return statement.order_by(*order_by(ordered))


def walk(
    conditions: Sequence[ColumnElement[bool]],
    order: Order,
    *,
    is_cross_project: bool = False,
    limit: int,
    cursor: str | None,
    backwards: bool,
) -> FoundTickets:
    """The page after or before a cursor, along the index of an order; raises InvalidField."""
    keys = order.keys(is_cross_project=is_cross_project)
    ordered = turned(keys) if backwards else keys
    position = decode(cursor, order.kind, keys) if cursor else None
    statement = LIVE.where(*conditions).add_columns(*selected(keys))
    rows: list[AnyRow] = []
    for stretch, along in stretches(order.sort, ordered, position, backwards=backwards):
        # A constant, because PostgreSQL plans for a small page only if it sees the limit.
        count = literal_column(str(limit + 1 - len(rows)), Integer)
        part = statement.where(*stretch).order_by(*order_by(along)).limit(count)
        rows += session.execute(part).all()
        if len(rows) > limit:
            break
    page = _page(rows, limit, cursor, backwards=backwards)
    return FoundTickets(
        tickets_json(page.rows),
        before=_cursor(order, keys, page.rows[0]) if page.has_before else None,
        after=_cursor(order, keys, page.rows[-1]) if page.has_after else None,
    )


@dataclass(frozen=True, slots=True)
class _RowsOfPage:
    rows: Sequence[AnyRow]
    has_before: bool
    has_after: bool


def _page(
    found: Sequence[AnyRow], limit: int, cursor: str | None, *, backwards: bool
) -> _RowsOfPage:
    """The rows of a page; one more row was read in the direction of reading."""
    rows, more = found[:limit], len(found) > limit
    if backwards:
        rows = rows[::-1]
    has_before = more if backwards else cursor is not None
    return _RowsOfPage(rows, bool(rows) and has_before, bool(rows) and (backwards or more))


def _cursor(order: Order, keys: Sequence[OrderKey], row: AnyRow) -> str:
    return encode(order.kind, [getattr(row, f"key_{number}") for number in range(len(keys))])


def epics(ids: Collection[str]) -> dict[str, Row]:
    """Epics by their ids, for heads of groups."""
    columns = (Ticket.id, Ticket.display_id, Ticket.title, Ticket.type)
    rows = session.execute(select(*columns).where(Ticket.id.in_(sorted(set(ids)))))
    return {row.id: row._asdict() for row in rows}
