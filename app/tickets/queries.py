"""Reading tickets: explicit columns, and one query for the rows with all that they show.

Lists are keyset pages over an index; nothing here grows with the table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, exists, func, select
from sqlalchemy.orm import aliased

from app.accounts.models import User
from app.core.db import AnyRow, AnySelect, Prepared
from app.core.etag import etag
from app.core.ids import as_uuid, is_display_id
from app.core.json_rows import JsonRows
from app.core.pagination import Page, page
from app.core.unindexed import Unindexed
from app.projects.models import Label, Project, WorkflowState
from app.tickets.builders import LabelSummary, ticket_json
from app.tickets.models import Ticket, TicketLabel
from app.tickets.readiness import in_live_projects, is_ready

Assignee = aliased(User, name="assignee")
Reporter = aliased(User, name="reporter")
Parent = aliased(Ticket, name="parent")
ParentState = aliased(WorkflowState, name="parent_state")

# The labels of the ticket at hand (``builders.labels_in``).
_CARRIED = (
    select(JsonRows(Label.name_key, Label.id, Label.name, Label.color))
    .select_from(TicketLabel)
    .join(Label, Label.id == TicketLabel.label_id)
    .where(TicketLabel.ticket_id == Ticket.id)
    .correlate(Ticket)
    .scalar_subquery()
)

# In the order in which ``builders.ticket_json`` unpacks them.
COLUMNS = (
    Ticket.id,
    Ticket.display_id,
    Ticket.ticket_number,
    Ticket.project_id,
    Ticket.type,
    Ticket.title,
    Ticket.body,
    Ticket.priority,
    Ticket.due_date,
    Ticket.created_at,
    Ticket.updated_at,
    Ticket.deleted_at,
    Ticket.state_id,
    WorkflowState.name.label("state_name"),
    WorkflowState.category.label("state_category"),
    Ticket.assignee_user_id,
    Assignee.type.label("assignee_type"),
    Assignee.username.label("assignee_username"),
    Assignee.display_name.label("assignee_display_name"),
    Ticket.reporter_user_id,
    Reporter.type.label("reporter_type"),
    Reporter.username.label("reporter_username"),
    Reporter.display_name.label("reporter_display_name"),
    Ticket.parent_ticket_id,
    Parent.display_id.label("parent_display_id"),
    Parent.title.label("parent_title"),
    Parent.type.label("parent_type"),
    ParentState.id.label("parent_state_id"),
    ParentState.name.label("parent_state_name"),
    ParentState.category.label("parent_state_category"),
    _CARRIED.label("labels"),
)

FULL = (
    select(*COLUMNS)
    .join(Reporter, Reporter.id == Ticket.reporter_user_id)
    .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
    .outerjoin(Assignee, Assignee.id == Ticket.assignee_user_id)
    .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
    .outerjoin(ParentState, ParentState.id == Parent.state_id)
)


# In the order in which labels are shown.
_LABELS = Prepared(
    select(Label.name_key, Label.id, Label.name, Label.color, TicketLabel.ticket_id)
    .join(TicketLabel, TicketLabel.label_id == Label.id)
    .where(TicketLabel.ticket_id.in_(bindparam("ticket_ids", expanding=True)))
)


def labels_of(ticket_ids: Iterable[str]) -> dict[str, list[LabelSummary]]:
    """The labels of each of these tickets, by name, in one query."""
    wanted = list(ticket_ids)
    found: dict[str, list[LabelSummary]] = {ticket_id: [] for ticket_id in wanted}
    if not wanted:
        return found
    rows = _LABELS.all(ticket_ids=wanted)
    for _, label_id, name, color, ticket_id in sorted(tuple(row) for row in rows):
        found[ticket_id].append({"id": label_id, "name": name, "color": color})
    return found


def build(rows: Iterable[AnyRow]) -> list[dict[str, Any]]:
    """The JSON of full rows."""
    return [ticket_json(row) for row in rows]


_BY_ID = Prepared(FULL.where(Ticket.id == bindparam("ticket_id")))


def ticket_by_id(ticket_id: str) -> dict[str, Any]:
    """The JSON of one ticket that was found before."""
    return build(_BY_ID.all(ticket_id=ticket_id))[0]


_FOUND = FULL.add_columns(Project.deleted_at.label("project_deleted_at")).join(
    Project, Project.id == Ticket.project_id
)
_FOUND_BY_ID = Prepared(_FOUND.where(Ticket.id == bindparam("reference")))
_FOUND_BY_DISPLAY_ID = Prepared(_FOUND.where(Ticket.display_id == bindparam("reference")))


@dataclass(frozen=True, slots=True)
class FoundTicket:
    """A ticket as it was found; its JSON is made when it is wanted."""

    row: AnyRow

    @property
    def id(self) -> str:
        """The ticket's UUID."""
        return str(self.row.id)

    @property
    def project_id(self) -> str:
        """The UUID of its project."""
        return str(self.row.project_id)

    @property
    def etag(self) -> str:
        """The ticket's weak ETag."""
        return etag(self.row.updated_at, self.row.id)

    def json(self) -> dict[str, Any]:
        """The ticket resource."""
        return ticket_json(self.row[: len(COLUMNS)])


def found(reference: str) -> FoundTicket | None:
    """The ticket of a UUID or display id, deleted or not."""
    if is_display_id(reference):
        row = _FOUND_BY_DISPLAY_ID.first(reference=reference)
    else:
        canonical = as_uuid(reference)
        row = _FOUND_BY_ID.first(reference=canonical) if canonical else None
    return FoundTicket(row) if row is not None else None


def _labelled(wanted: ColumnElement[bool]) -> ColumnElement[bool]:
    return Ticket.id.in_(select(TicketLabel.ticket_id).where(wanted))


def _carrying_label() -> ColumnElement[bool]:
    """As ``label_id``, asked of one ticket after another, for a label that many have."""
    return exists().where(
        TicketLabel.ticket_id == Ticket.id, TicketLabel.label_id == bindparam("common_label_id")
    )


# What each filter asks of a ticket: first the filters of REST (interface.md, Tickets), then those
# of the tools and of the verbs themselves; lists mean any of them, times are milliseconds.
CONDITIONS: dict[str, ColumnElement[bool]] = {
    "project_id": Ticket.project_id == bindparam("project_id"),
    "state_id": Ticket.state_id == bindparam("state_id"),
    "ticket_type": Ticket.type == bindparam("ticket_type"),
    "assignee_user_id": Ticket.assignee_user_id == bindparam("assignee_user_id"),
    "reporter_user_id": Ticket.reporter_user_id == bindparam("reporter_user_id"),
    "priority": Ticket.priority == bindparam("priority"),
    "parent_ticket_id": Ticket.parent_ticket_id == bindparam("parent_ticket_id"),
    "state_category": WorkflowState.category == bindparam("state_category"),
    "label_id": _labelled(TicketLabel.label_id == bindparam("label_id")),
    "common_label_id": _carrying_label(),
    "ready": is_ready(),
    "state_ids": Ticket.state_id.in_(bindparam("state_ids", expanding=True)),
    "label_ids": _labelled(TicketLabel.label_id.in_(bindparam("label_ids", expanding=True))),
    "unassigned": Ticket.assignee_user_id.is_(None),
    "updated_since": Ticket.updated_at >= bindparam("updated_since"),
    "project_ids": Ticket.project_id.in_(bindparam("project_ids", expanding=True)),
    "in_live_projects": in_live_projects(),
    "live": Ticket.deleted_at.is_(None),
}


# The filters that an index in list order answers, the one that leaves the fewest tickets first.
_INDEXED = {
    "parent_ticket_id": Ticket.parent_ticket_id,
    "assignee_user_id": Ticket.assignee_user_id,
    "reporter_user_id": Ticket.reporter_user_id,
    "state_id": Ticket.state_id,
    "project_id": Ticket.project_id,
}


@lru_cache(maxsize=512)
def _filtered(names: frozenset[str]) -> AnySelect:
    """The query of these filters. It is made once: making it costs more than running it."""
    first = next((name for name in _INDEXED if name in names), None)
    statement = FULL
    for name in sorted(names):
        if name in _INDEXED and name != first:
            statement = statement.where(Unindexed(_INDEXED[name]) == bindparam(name))
        else:
            statement = statement.where(CONDITIONS[name])
    return statement


# A label on fewer tickets than this is looked up first; with another, one of its tickets is soon
# met on the way through the list.
_COMMON = 2000
_CARRIERS = Prepared(
    select(func.count().label("carriers")).select_from(
        select(TicketLabel.ticket_id)
        .where(TicketLabel.label_id == bindparam("label_id"))
        .limit(_COMMON)
        .subquery()
    )
)


def _is_common(label_id: str) -> bool:
    return bool(_CARRIERS.all(label_id=label_id)[0].carriers == _COMMON)


def ticket_page(
    conditions: Iterable[ColumnElement[bool]],
    filters: dict[str, Any],
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool,
) -> Page:
    """A page of tickets, newest first, by the filters of ``CONDITIONS``.

    ``among`` is a query for the ids to choose from; ``conditions`` are whatever else must hold.
    Both cost a query made for this page alone.
    """
    given = {name: filters[name] for name in CONDITIONS.keys() & filters.keys()}
    values = {name: value for name, value in given.items() if value is not None}
    values = {name: value for name, value in values.items() if value is not False}
    if not include_deleted:
        values["live"] = True
    if "label_id" in values and _is_common(values["label_id"]):
        values["common_label_id"] = values.pop("label_id")
    statement = _filtered(frozenset(values))
    special = [*conditions]
    if filters.get("among") is not None:
        special.append(Ticket.id.in_(filters["among"]))
    return page(
        statement.where(*special).params(values) if special else statement,
        kind="ticket",
        sort=Ticket.created_at,
        id_column=Ticket.id,
        limit=limit,
        cursor=cursor,
        build=build,
        values=None if special else values,
    )
