"""Lists of tickets by filter: keyset pages over an index; nothing here grows with the table.

REST and tools list newest first. People sort: by when tickets were made, in one project or all
(``ix_tickets_live_project``, ``ix_tickets_live_all``), and in a project by when they last changed
(``ix_tickets_live_updated``), forwards and back, flat or as a tree. Those are the orders that an
index gives; by anything else a page would read every ticket.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    bindparam,
    exists,
    false,
    literal_column,
    or_,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.core.actor import Access, Actor, operation
from app.database.pagination import Cursor, Page, encode, page
from app.database.session import AnyRow, AnySelect, Prepared, is_postgresql, session
from app.database.sql_functions import Unindexed
from app.projects import loaders as projects
from app.projects.models import StateCategory, WorkflowState
from app.tickets.cards import Parts, parts_of
from app.tickets.filters import FILTERS
from app.tickets.models import Ticket, TicketLabel, TicketType
from app.tickets.read import BODILESS, TICKETS, in_live_projects, tickets_json

# -- for REST and tools: one statement for each set of filters -----------------------------------

# Which tickets a list may hold at all, whatever it is filtered by.
_BOUNDS: dict[str, ColumnElement[bool]] = {
    "live": Ticket.deleted_at.is_(None),
    "in_live_projects": in_live_projects(),
    "allowlist": Ticket.project_id.in_(bindparam("allowlist", expanding=True)),
    "nothing": false(),
}
# Filters in the words that an index or a planner needs; ``_worded`` chooses them.
_WORDED: dict[str, ColumnElement[bool]] = {
    # Of epics there is an index.
    "epics": Ticket.type == literal_column("'epic'"),
    # Asked of one ticket after another, for a label that many have.
    "common_label_id": exists().where(
        TicketLabel.ticket_id == Ticket.id, TicketLabel.label_id == bindparam("common_label_id")
    ),
    "unassigned": Ticket.assignee_user_id.is_(None),
    # Asked once of the one state whose tickets are wanted.
    "category_of_state": select(WorkflowState.category)
    .where(WorkflowState.id == bindparam("state_id"))
    .correlate(None)
    .scalar_subquery()
    == bindparam("category_of_state"),
}
# The filters that an index in list order answers, the one that leaves the fewest tickets first.
_INDEXED = {
    "parent_ticket_id": Ticket.parent_ticket_id,
    "assignee_user_id": Ticket.assignee_user_id,
    "reporter_user_id": Ticket.reporter_user_id,
    "state_id": Ticket.state_id,
    "project_id": Ticket.project_id,
}
# A label on fewer tickets than this is looked up first; with another, one of its tickets is soon
# met on the way through the list.
_COMMON = 2000
_LAST_OF_FEW = Prepared(
    select(TicketLabel.label_id)
    .where(TicketLabel.label_id == bindparam("label_id"))
    .limit(1)
    .offset(_COMMON - 1)
)


@operation(Access.READ)
def list_tickets(
    actor: Actor,
    /,
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool = False,
    with_body: bool = True,
    **filters: Any,
) -> Page:
    """Tickets of all projects that the actor can see, newest first; the body can be None."""
    bounds: dict[str, Any] = {"allowlist": list(actor.allowlist)} if actor.allowlist else {}
    if not include_deleted:
        bounds |= {"live": True, "in_live_projects": True}
    return ticket_page(filters, bounds, limit=limit, cursor=cursor, with_body=with_body)


@operation(Access.READ)
def list_project_tickets(
    actor: Actor,
    /,
    project_id: str,
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool = False,
    **filters: Any,
) -> Page:
    """Tickets of one project, newest first."""
    project = projects.visible(actor, project_id, include_deleted=include_deleted)
    bounds = {} if include_deleted else {"live": True}
    return ticket_page({**filters, "project_id": project.id}, bounds, limit=limit, cursor=cursor)


def ticket_page(
    filters: dict[str, Any],
    bounds: dict[str, Any],
    *,
    limit: int,
    cursor: str | None,
    with_body: bool = True,
) -> Page:
    """A page of tickets, newest first, by values of ``FILTERS``; a list of values means any.

    None and False filter nothing. A query for ids costs a statement made for this page alone.
    """
    values = {
        name: value for name, value in filters.items() if value is not None and value is not False
    }
    queried = {name: value for name, value in values.items() if isinstance(value, Select)}
    values = _worded({name: one for name, one in values.items() if name not in queried}) | bounds
    lists = frozenset(name for name, value in values.items() if isinstance(value, list))
    statement = _filtered(with_body, frozenset(values), lists)
    special = [FILTERS[name].condition(value) for name, value in queried.items()]
    return page(
        statement.where(*special).params(values) if special else statement,
        kind="ticket",
        sort=Ticket.created_at,
        id_column=Ticket.id,
        limit=limit,
        cursor=cursor,
        build=tickets_json,
        values=None if special else values,
    )


def _worded(values: dict[str, Any]) -> dict[str, Any]:
    """The same filters, some in words that databases answer better."""
    values = {
        name: value[0] if isinstance(value, list) and len(value) == 1 and value[0] else value
        for name, value in values.items()
    }
    if values.get("assignee_user_id") == [None]:
        values["unassigned"] = values.pop("assignee_user_id")
    is_epic = values.get("ticket_type") == TicketType.EPIC
    if values.get("ready") and (is_epic or values.get("state_category") == StateCategory.DONE):
        # No such ticket is ready, so none has to be looked at.
        values["nothing"] = True
    if is_epic:
        del values["ticket_type"]
        values["epics"] = True
    label_id = values.get("label_id")
    if isinstance(label_id, str) and _is_common(label_id):
        values["common_label_id"] = values.pop("label_id")
    if {"state_id", "state_category"} <= values.keys() and is_postgresql():
        # It would ask each of the state's tickets; SQLite looks at the state first.
        values["category_of_state"] = values.pop("state_category")
    return values


def _is_common(label_id: str) -> bool:
    return bool(_LAST_OF_FEW.all(label_id=label_id))


@lru_cache(maxsize=512)
def _filtered(with_body: bool, names: frozenset[str], lists: frozenset[str]) -> AnySelect:
    """The query of these filters. It is made once: making it costs more than running it."""
    statement: AnySelect = TICKETS if with_body else BODILESS
    if "nothing" in names:
        return statement.where(false())
    first = next((name for name in _INDEXED if name in names - lists), None)
    if names >= {"epics", "project_id"} and first != "parent_ticket_id":
        # Epics of a project are fewer than what anybody has in it.
        first = "project_id"
    for name in sorted(names):
        if name in _BOUNDS:
            statement = statement.where(_BOUNDS[name])
        elif name in _WORDED:
            statement = statement.where(_WORDED[name])
        elif name in _INDEXED and name != first and name not in lists:
            statement = statement.where(Unindexed(_INDEXED[name]) == bindparam(name))
        else:
            value: BindParameter[Any] = bindparam(name, expanding=name in lists)
            statement = statement.where(FILTERS[name].condition(value))
    return statement


# -- for people: sorted, forwards and back -------------------------------------------------------

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sort:
    """An order: by which column, and whether the smallest comes first."""

    name: str
    column: InstrumentedAttribute[int]
    ascending: bool = False

    @property
    def kind(self) -> str:
        """What cursors of this order are called: those of another one do not fit."""
        return f"ticket.{self.name}"


SORTS = {
    one.name: one
    for one in (
        Sort("created", Ticket.created_at),
        Sort("oldest", Ticket.created_at, ascending=True),
        Sort("updated", Ticket.updated_at),
        Sort("stale", Ticket.updated_at, ascending=True),
    )
}
OF_ALL_PROJECTS = ("created", "oldest")
_LIVE = BODILESS.where(Ticket.deleted_at.is_(None))


@dataclass(frozen=True, slots=True)
class FoundTickets:
    """A page of tickets without bodies, and the cursors of the pages around it."""

    rows: list[Row]
    before: str | None
    after: str | None


def find(
    conditions: Sequence[ColumnElement[bool]],
    sort: Sort,
    *,
    limit: int,
    cursor: str | None,
    backwards: bool = False,
) -> FoundTickets:
    """The page after a cursor, or ``backwards`` the one before it; raises InvalidField."""
    found = page(
        _LIVE.where(*conditions),
        kind=sort.kind,
        sort=sort.column,
        id_column=Ticket.id,
        limit=limit,
        cursor=cursor,
        build=list,
        ascending=sort.ascending != backwards,
    )
    rows = found.data[::-1] if backwards else found.data
    more = found.next_cursor is not None
    return FoundTickets(
        tickets_json(rows),
        before=_cursor(rows, 0, sort) if (more if backwards else cursor is not None) else None,
        after=_cursor(rows, -1, sort) if (backwards or more) else None,
    )


def _cursor(rows: Sequence[AnyRow], at: int, sort: Sort) -> str | None:
    if not rows:
        return None
    return encode(Cursor(sort.kind, rows[at].id, getattr(rows[at], sort.column.key)))


def ids(conditions: Sequence[ColumnElement[bool]], limit: int) -> list[str]:
    """The ids of the tickets that fit, newest first, at most so many."""
    statement = (
        select(Ticket.id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.deleted_at.is_(None), *conditions)
        .order_by(Ticket.created_at.desc(), Ticket.id.desc())
        .limit(limit)
    )
    return list(session.scalars(statement))


# -- as a tree: epics, below them their stories, below those their subtasks ----------------------

LEVELS = 3
# Of one page of trees; more would be no page.
MOST_BELOW = 1000


@dataclass(slots=True)
class Branch:
    """A ticket with what lies below it."""

    row: Row
    level: int
    # Whether it fits the filters itself.
    fits: bool
    parts: Parts
    below: list["Branch"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Forest:
    """A page of trees, flat and in order, and the cursors around it."""

    branches: list[Branch]
    found: FoundTickets


def find_trees(
    project_id: str,
    conditions: Sequence[ColumnElement[bool]],
    sort: Sort,
    *,
    limit: int,
    cursor: str | None,
    backwards: bool = False,
) -> Forest:
    """A page of the project's trees, newest first, with all that lies below; raises InvalidField.

    What does not fit the conditions stays only where something below it does.
    """
    inside = Ticket.project_id == project_id
    shown = _with_ancestors(inside, conditions)
    top = [inside, Ticket.parent_ticket_id.is_(None)]
    if conditions:
        top.append(Ticket.id.in_(shown))
    found = find(top, sort, limit=limit, cursor=cursor, backwards=backwards)
    rows = list(found.rows)
    layer = [row["id"] for row in rows]
    for _ in range(LEVELS - 1):
        if not layer:
            break
        under = [Ticket.parent_ticket_id.in_(layer)]
        if conditions:
            under.append(Ticket.id.in_(shown))
        statement = _LIVE.where(*under).order_by(Ticket.created_at, Ticket.id)
        below = tickets_json(session.execute(statement.limit(MOST_BELOW)).all())
        rows += below
        layer = [row["id"] for row in below]
    return Forest(_flat(found.rows, rows, _fitting(rows, conditions)), found)


def _with_ancestors(inside: ColumnElement[bool], conditions: Sequence[ColumnElement[bool]]) -> Any:
    """A query for the ids of what fits, and of what it lies below."""
    fitting = (
        select(Ticket.id, Ticket.parent_ticket_id.label("above"))
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(inside, Ticket.deleted_at.is_(None), *conditions)
        .cte("fitting")
    )
    parent = aliased(Ticket)
    grand = select(parent.parent_ticket_id).where(parent.id.in_(select(fitting.c.above)))
    both = aliased(Ticket)
    return select(both.id).where(
        or_(
            both.id.in_(select(fitting.c.id)),
            both.id.in_(select(fitting.c.above)),
            both.id.in_(grand),
        )
    )


def _fitting(rows: Sequence[Row], conditions: Sequence[ColumnElement[bool]]) -> set[str]:
    every = [row["id"] for row in rows]
    if not conditions or not every:
        return set(every)
    return set(ids([Ticket.id.in_(every), *conditions], len(every)))


def _flat(top: Sequence[Row], rows: Sequence[Row], fitting: set[str]) -> list[Branch]:
    parts = parts_of([row["id"] for row in rows])
    below: dict[str, list[Row]] = {}
    for row in rows:
        if row["parent_ticket_id"]:
            below.setdefault(row["parent_ticket_id"], []).append(row)
    made: list[Branch] = []

    def add(row: Row, level: int) -> Branch:
        identifier = row["id"]
        branch = Branch(row, level, identifier in fitting, parts.get(identifier, Parts()))
        made.append(branch)
        branch.below = [add(child, level + 1) for child in below.get(identifier, [])]
        return branch

    for row in top:
        add(row, 1)
    return made
