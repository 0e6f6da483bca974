"""Reading tickets: explicit columns, and one query for the rows with all that they show.

Lists are in ``list_queries.py``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, func, null, select
from sqlalchemy.orm import aliased

from app.accounts.builders import user_summary
from app.accounts.models import User
from app.core.db import AnyRow, Prepared
from app.core.etag import etag
from app.core.ids import as_uuid, is_display_id
from app.core.json_rows import JsonRows
from app.projects.models import Label, Project, WorkflowState
from app.tickets.builders import (
    LabelSummary,
    labels_in,
    parent_summary,
    state_summary,
    ticket_json,
)
from app.tickets.models import Ticket, TicketLabel
from app.tickets.named import named_by

Assignee = aliased(User, name="assignee")
Reporter = aliased(User, name="reporter")
Parent = aliased(Ticket, name="parent")
ParentState = aliased(WorkflowState, name="parent_state")

# The labels of the ticket at hand (``builders.labels_in``).
CARRIED = (
    select(JsonRows(Label.name_key, Label.id, Label.name, Label.color))
    .select_from(TicketLabel)
    .join(Label, Label.id == TicketLabel.label_id)
    .where(TicketLabel.ticket_id == Ticket.id)
    .correlate(Ticket)
    .scalar_subquery()
)

# What a ticket has of its own, in the order in which ``builders.ticket_json`` unpacks it.
OWN = (
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
    Ticket.assignee_user_id,
    Ticket.reporter_user_id,
    Ticket.parent_ticket_id,
)

_NAMING = len(OWN)

# And what it names, in the order of ``whole``, which takes ids from the end of ``OWN``.
COLUMNS = (
    *OWN,
    WorkflowState.name.label("state_name"),
    WorkflowState.category.label("state_category"),
    Assignee.type.label("assignee_type"),
    Assignee.username.label("assignee_username"),
    Assignee.display_name.label("assignee_display_name"),
    Reporter.type.label("reporter_type"),
    Reporter.username.label("reporter_username"),
    Reporter.display_name.label("reporter_display_name"),
    Parent.display_id.label("parent_display_id"),
    Parent.title.label("parent_title"),
    Parent.type.label("parent_type"),
    ParentState.id.label("parent_state_id"),
    ParentState.name.label("parent_state_name"),
    ParentState.category.label("parent_state_category"),
    CARRIED.label("labels"),
)

# One ticket with all that it shows; lists read what many tickets name once (``named.py``).
FULL = (
    select(*COLUMNS)
    .join(Reporter, Reporter.id == Ticket.reporter_user_id)
    .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
    .outerjoin(Assignee, Assignee.id == Ticket.assignee_user_id)
    .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
    .outerjoin(ParentState, ParentState.id == Parent.state_id)
)

# Tickets of a list with their labels, and the same with None for the body, which is most of a row.
# The state is there for filters to ask for.
LISTED = select(*OWN, CARRIED.label("labels")).outerjoin(
    WorkflowState, WorkflowState.id == Ticket.state_id
)
BODILESS = LISTED.with_only_columns(
    *(null().label("body") if column is Ticket.body else column for column in OWN),
    CARRIED.label("labels"),
    maintain_column_froms=True,
)

# When a ticket, and each thing that it shows beside its own row, was changed last.
_CHANGED = Prepared(
    select(
        Ticket.updated_at,
        WorkflowState.updated_at.label("state"),
        Assignee.updated_at.label("assignee"),
        Reporter.updated_at.label("reporter"),
        Parent.updated_at.label("parent"),
        ParentState.updated_at.label("parent_state"),
        select(func.max(Label.updated_at))
        .select_from(TicketLabel)
        .join(Label, Label.id == TicketLabel.label_id)
        .where(TicketLabel.ticket_id == Ticket.id)
        .correlate(Ticket)
        .scalar_subquery()
        .label("labels"),
    )
    .select_from(Ticket)
    .join(Reporter, Reporter.id == Ticket.reporter_user_id)
    .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
    .outerjoin(Assignee, Assignee.id == Ticket.assignee_user_id)
    .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
    .outerjoin(ParentState, ParentState.id == Parent.state_id)
    .where(Ticket.id == bindparam("ticket_id"))
)

# In the order in which labels are shown.
_LABELS = Prepared(
    select(Label.name_key, Label.id, Label.name, Label.color, TicketLabel.ticket_id)
    .join(TicketLabel, TicketLabel.label_id == Label.id)
    .where(TicketLabel.ticket_id.in_(bindparam("ticket_ids", expanding=True))),
    planned_once=True,
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


def build(rows: Sequence[AnyRow]) -> list[dict[str, Any]]:
    """The JSON of rows of ``LISTED`` or ``BODILESS``; what several name is one object in all.

    PostgreSQL reads the rows before what they name. People and parents stay; a ticket whose state
    is gone by then has another, and is read again.
    """
    named = named_by(rows)
    users, states, parents = named.users, named.states, named.parents
    return [
        ticket_json(
            row[:_NAMING],
            states.get(row.state_id),
            users.get(row.assignee_user_id),
            users.get(row.reporter_user_id),
            parents.get(row.parent_ticket_id),
            labels_in(row.labels),
        )
        if row.state_id is None or row.state_id in states
        else ticket_by_id(row.id)
        for row in rows
    ]


def shows_nothing_newer(ticket_id: str) -> bool:
    """Whether all that the ticket shows of others is as old as its own row, and so its ETag."""
    own, *others = _CHANGED.first(ticket_id=ticket_id)
    return all(other is None or other <= own for other in others)


def whole(row: Sequence[Any]) -> dict[str, Any]:
    """The JSON of a row of ``FULL``."""
    (
        state_name,
        state_category,
        assignee_type,
        assignee_username,
        assignee_display_name,
        reporter_type,
        reporter_username,
        reporter_display_name,
        parent_display_id,
        parent_title,
        parent_type,
        parent_state_id,
        parent_state_name,
        parent_state_category,
        labels,
    ) = row[_NAMING : len(COLUMNS)]
    own = row[:_NAMING]
    state_id, assignee_id, reporter_id, parent_id = own[-4:]
    return ticket_json(
        own,
        state_summary(state_id, state_name, state_category),
        None
        if assignee_id is None
        else user_summary(assignee_id, assignee_type, assignee_username, assignee_display_name),
        user_summary(reporter_id, reporter_type, reporter_username, reporter_display_name),
        None
        if parent_id is None
        else parent_summary(
            parent_id,
            parent_display_id,
            parent_title,
            parent_type,
            parent_state_id,
            parent_state_name,
            parent_state_category,
        ),
        labels_in(labels),
    )


_BY_ID = Prepared(FULL.where(Ticket.id == bindparam("ticket_id")))


def ticket_by_id(ticket_id: str) -> dict[str, Any]:
    """The JSON of one ticket that was found before."""
    return whole(_BY_ID.all(ticket_id=ticket_id)[0])


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
        return whole(self.row)


def found(reference: str) -> FoundTicket | None:
    """The ticket of a UUID or display id, deleted or not."""
    if is_display_id(reference):
        row = _FOUND_BY_DISPLAY_ID.first(reference=reference)
    else:
        canonical = as_uuid(reference)
        row = _FOUND_BY_ID.first(reference=canonical) if canonical else None
    return FoundTicket(row) if row is not None else None
