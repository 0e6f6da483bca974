"""Filtered lists of tickets: keyset pages along an index, whose cost does not grow with the table.

REST and tools list newest first. Pages also sort, in both directions, by the orders of an index: by
creation in one project or all (``ix_tickets_live_project``, ``ix_tickets_live_all``), and by latest
change in a project (``ix_tickets_live_updated``).
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

# -- REST and tools: one cached statement per set of filters -------------------------------------

# The tickets that a list can hold, independent of its filters.
_BOUNDS: dict[str, ColumnElement[bool]] = {
    "live": Ticket.deleted_at.is_(None),
    "in_live_projects": in_live_projects(),
    "allowlist": Ticket.project_id.in_(bindparam("allowlist", expanding=True)),
    "nothing": false(),
}
# Rewritten filters for an index or a planner; ``_rewritten`` chooses them.
_REWRITTEN: dict[str, ColumnElement[bool]] = {
    # Matches the partial index of epics.
    "epics": Ticket.type == literal_column("'epic'"),
    # Checked per ticket, for a label that many tickets carry.
    "common_label_id": exists().where(
        TicketLabel.ticket_id == Ticket.id, TicketLabel.label_id == bindparam("common_label_id")
    ),
    "unassigned": Ticket.assignee_user_id.is_(None),
    # Checked once, for the state of the filter ``state_id``.
    "category_of_state": select(WorkflowState.category)
    .where(WorkflowState.id == bindparam("state_id"))
    .correlate(None)
    .scalar_subquery()
    == bindparam("category_of_state"),
}
# The filters with an index in list order, the most selective one first.
_INDEXED = {
    "parent_ticket_id": Ticket.parent_ticket_id,
    "assignee_user_id": Ticket.assignee_user_id,
    "reporter_user_id": Ticket.reporter_user_id,
    "state_id": Ticket.state_id,
    "project_id": Ticket.project_id,
}
# The tickets of a label on fewer tickets than this are looked up first. Those of any other label
# are frequent enough to be found along the list.
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
    """Tickets of all projects that the actor sees, newest first; their body can be None."""
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
    """A page of tickets, newest first, by values of ``FILTERS``; a list matches any of its values.

    None and False are no filters. With a query as a value, the statement cannot be cached.
    """
    values = {
        name: value for name, value in filters.items() if value is not None and value is not False
    }
    queries = {name: value for name, value in values.items() if isinstance(value, Select)}
    values = {name: value for name, value in values.items() if name not in queries}
    values = _rewritten(values) | bounds
    lists = frozenset(name for name, value in values.items() if isinstance(value, list))
    statement = _filtered(with_body, frozenset(values), lists)
    special = [FILTERS[name].condition(value) for name, value in queries.items()]
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


def _rewritten(values: dict[str, Any]) -> dict[str, Any]:
    """The same filters, with those of ``_REWRITTEN`` where a database answers them faster."""
    values = {
        name: value[0] if isinstance(value, list) and len(value) == 1 and value[0] else value
        for name, value in values.items()
    }
    if values.get("assignee_user_id") == [None]:
        values["unassigned"] = values.pop("assignee_user_id")
    is_epic = values.get("ticket_type") == TicketType.EPIC
    if values.get("ready") and (is_epic or values.get("state_category") == StateCategory.DONE):
        # Such tickets are never ready, so no ticket is read.
        values["nothing"] = True
    if is_epic:
        del values["ticket_type"]
        values["epics"] = True
    label_id = values.get("label_id")
    if isinstance(label_id, str) and _is_common(label_id):
        values["common_label_id"] = values.pop("label_id")
    if {"state_id", "state_category"} <= values.keys() and is_postgresql():
        # PostgreSQL would check each ticket of the state; SQLite reads the state first.
        values["category_of_state"] = values.pop("state_category")
    return values


def _is_common(label_id: str) -> bool:
    return bool(_LAST_OF_FEW.all(label_id=label_id))


@lru_cache(maxsize=512)
def _filtered(with_body: bool, names: frozenset[str], lists: frozenset[str]) -> AnySelect:
    """The statement of these filters. Cached, because building it costs more than running it."""
    statement: AnySelect = TICKETS if with_body else BODILESS
    if "nothing" in names:
        return statement.where(false())
    first = next((name for name in _INDEXED if name in names - lists), None)
    if names >= {"epics", "project_id"} and first != "parent_ticket_id":
        # A project has fewer epics than an assignee has tickets.
        first = "project_id"
    for name in sorted(names):
        if name in _BOUNDS:
            statement = statement.where(_BOUNDS[name])
        elif name in _REWRITTEN:
            statement = statement.where(_REWRITTEN[name])
        elif name in _INDEXED and name != first and name not in lists:
            statement = statement.where(Unindexed(_INDEXED[name]) == bindparam(name))
        else:
            value: BindParameter[Any] = bindparam(name, expanding=name in lists)
            statement = statement.where(FILTERS[name].condition(value))
    return statement


# -- pages: sorted, in both directions -----------------------------------------------------------

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sort:
    name: str
    column: InstrumentedAttribute[int]
    ascending: bool = False

    @property
    def kind(self) -> str:
        """The kind of its cursors; a cursor of another kind is refused."""
        return f"ticket.{self.name}"


SORTS = {
    sort.name: sort
    for sort in (
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
    """A page of tickets without bodies, and the cursors of the neighboring pages."""

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
    """The page after a cursor, or if ``backwards`` the page before it; raises InvalidField."""
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


def _cursor(rows: Sequence[AnyRow], index: int, sort: Sort) -> str | None:
    if not rows:
        return None
    return encode(Cursor(sort.kind, rows[index].id, getattr(rows[index], sort.column.key)))


def ids(conditions: Sequence[ColumnElement[bool]], limit: int) -> list[str]:
    """The ids of matching tickets, newest first."""
    statement = (
        select(Ticket.id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.deleted_at.is_(None), *conditions)
        .order_by(Ticket.created_at.desc(), Ticket.id.desc())
        .limit(limit)
    )
    return list(session.scalars(statement))


# -- pages: trees of epics, stories and subtasks -------------------------------------------------

LEVELS = 3
# Per level of one page.
MOST_BELOW = 1000


@dataclass(slots=True)
class Branch:
    """A ticket with its descendants."""

    row: Row
    level: int
    # Whether the ticket itself matches the filters.
    fits: bool
    parts: Parts
    below: list["Branch"] = field(default_factory=list)


def find_trees(
    project_id: str,
    conditions: Sequence[ColumnElement[bool]],
    sort: Sort,
    *,
    limit: int,
    cursor: str | None,
    backwards: bool = False,
) -> tuple[list[Branch], FoundTickets]:
    """A page of the project's trees: all branches, depth first, and the page of their roots.

    A ticket that does not match stays only if one of its descendants matches. Raises InvalidField.
    """
    inside = Ticket.project_id == project_id
    shown = _with_ancestors(inside, conditions)
    roots = [inside, Ticket.parent_ticket_id.is_(None)]
    if conditions:
        roots.append(Ticket.id.in_(shown))
    found = find(roots, sort, limit=limit, cursor=cursor, backwards=backwards)
    rows = list(found.rows)
    parent_ids = [row["id"] for row in rows]
    for _ in range(LEVELS - 1):
        if not parent_ids:
            break
        conditions_below = [Ticket.parent_ticket_id.in_(parent_ids)]
        if conditions:
            conditions_below.append(Ticket.id.in_(shown))
        statement = _LIVE.where(*conditions_below).order_by(Ticket.created_at, Ticket.id)
        below = tickets_json(session.execute(statement.limit(MOST_BELOW)).all())
        rows += below
        parent_ids = [row["id"] for row in below]
    return _branches(found.rows, rows, _fitting(rows, conditions)), found


def _with_ancestors(inside: ColumnElement[bool], conditions: Sequence[ColumnElement[bool]]) -> Any:
    """A query for the ids of matching tickets and their ancestors."""
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
    all_ids = [row["id"] for row in rows]
    if not conditions or not all_ids:
        return set(all_ids)
    return set(ids([Ticket.id.in_(all_ids), *conditions], len(all_ids)))


def _branches(top: Sequence[Row], rows: Sequence[Row], fitting: set[str]) -> list[Branch]:
    parts = parts_of([row["id"] for row in rows])
    below: dict[str, list[Row]] = {}
    for row in rows:
        if row["parent_ticket_id"]:
            below.setdefault(row["parent_ticket_id"], []).append(row)
    branches: list[Branch] = []

    def add(row: Row, level: int) -> Branch:
        identifier = row["id"]
        branch = Branch(row, level, identifier in fitting, parts.get(identifier, Parts()))
        branches.append(branch)
        branch.below = [add(child, level + 1) for child in below.get(identifier, [])]
        return branch

    for row in top:
        add(row, 1)
    return branches
