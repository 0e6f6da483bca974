"""Reading tickets: their columns, their JSON, and the lookup of one.

REST, tools, pages and exports share these. Lists are in ``listing.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypedDict

import orjson
from sqlalchemy import ColumnElement, bindparam, func, null, select

from app.accounts.builders import UserSummary
from app.accounts.models import User
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, iso_or_none
from app.core.errors import Gone, NotFound
from app.core.etag import etag
from app.core.ids import as_uuid, is_display_id
from app.database.columns import shared_alias
from app.database.session import AnyRow, AnySelect, Prepared
from app.database.sql_functions import JsonRows
from app.projects.models import Label, Project, WorkflowState
from app.tickets.models import Comment, Ticket, TicketLabel


# Short forms of resources, for use inside other resources.
class StateSummary(TypedDict):
    id: str
    name: str
    category: str


class LabelSummary(TypedDict):
    id: str
    name: str
    color: str


def state_summary(
    identifier: str | None, name: str | None, category: str | None
) -> StateSummary | None:
    """The summary of a state; None for a deleted ticket without a state."""
    if identifier is None or name is None or category is None:
        return None
    return {"id": identifier, "name": name, "category": category}


def labels_in(json_rows: str | None) -> list[LabelSummary]:
    """Parse a value of the column ``LABELS``; labels are ordered by name."""
    return list(_label_summaries(json_rows)) if json_rows else []


@lru_cache(maxsize=1024)
def _label_summaries(json_rows: str) -> tuple[LabelSummary, ...]:
    # Cached, because many tickets of a project have the same labels.
    rows = sorted(orjson.loads(json_rows))
    return tuple(
        {"id": identifier, "name": name, "color": color} for _, identifier, name, color in rows
    )


_Assignee = shared_alias(User, "assignee")
_Reporter = shared_alias(User, "reporter")
Parent = shared_alias(Ticket, "parent")
_ParentState = shared_alias(WorkflowState, "parent_state")

# The labels of a ticket, to be parsed by ``labels_in``.
LABELS = (
    select(JsonRows(Label.name_key, Label.id, Label.name, Label.color))
    .select_from(TicketLabel)
    .join(Label, Label.id == TicketLabel.label_id)
    .where(TicketLabel.ticket_id == Ticket.id)
    .correlate(Ticket)
    .scalar_subquery()
    .label("labels")
)

# All columns that ``ticket_json`` reads.
_COLUMNS = (
    Ticket.id,
    Ticket.display_id,
    Ticket.ticket_number,
    Ticket.project_id,
    Ticket.type,
    Ticket.title,
    Ticket.body,
    Ticket.priority,
    Ticket.due_date,
    Ticket.rank,
    Ticket.created_at,
    Ticket.updated_at,
    Ticket.discussed_at,
    Ticket.deleted_at,
    Ticket.state_id,
    Ticket.assignee_user_id,
    Ticket.reporter_user_id,
    Ticket.parent_ticket_id,
    WorkflowState.name.label("state_name"),
    WorkflowState.category.label("state_category"),
    _Assignee.type.label("assignee_type"),
    _Assignee.username.label("assignee_username"),
    _Assignee.display_name.label("assignee_display_name"),
    _Reporter.type.label("reporter_type"),
    _Reporter.username.label("reporter_username"),
    _Reporter.display_name.label("reporter_display_name"),
    Parent.display_id.label("parent_display_id"),
    Parent.title.label("parent_title"),
    Parent.type.label("parent_type"),
    _ParentState.id.label("parent_state_id"),
    _ParentState.name.label("parent_state_name"),
    _ParentState.category.label("parent_state_category"),
    LABELS,
)


def _joined(*columns: Any) -> Any:
    """Select from a ticket and the rows it refers to; outer joins make tickets the first table."""
    return (
        select(*columns)
        .select_from(Ticket)
        .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
        .outerjoin(_Assignee, _Assignee.id == Ticket.assignee_user_id)
        .outerjoin(_Reporter, _Reporter.id == Ticket.reporter_user_id)
        .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
        .outerjoin(_ParentState, _ParentState.id == Parent.state_id)
    )


TICKETS = _joined(*_COLUMNS)
# The same with null for the body, which is most of the size of a row.
BODILESS = _joined(
    *(null().label("body") if column is Ticket.body else column for column in _COLUMNS)
)

_COMMENTS = (
    select(func.count())
    .select_from(Comment)
    .where(Comment.ticket_id == Ticket.id, Comment.deleted_at.is_(None))
    .correlate(Ticket)
    .scalar_subquery()
    .label("comments")
)
# The columns of a short row, with names only, and the number of comments.
_SHORT_COLUMNS = (
    *(Ticket.id, Ticket.display_id, Ticket.type, Ticket.title, Ticket.priority, Ticket.due_date),
    *(Ticket.created_at, Ticket.updated_at, Ticket.discussed_at),
    WorkflowState.name.label("state_name"),
    _Assignee.username.label("assignee_username"),
    Parent.display_id.label("parent_display_id"),
    LABELS,
    _COMMENTS,
)
SHORT = (
    select(*_SHORT_COLUMNS)
    .select_from(Ticket)
    .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
    .outerjoin(_Assignee, _Assignee.id == Ticket.assignee_user_id)
    .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
)
# Tickets that are not deleted.
LIVE = BODILESS.where(Ticket.deleted_at.is_(None))

# The fields of a ticket that can be null; the body is in lists without bodies.
MAY_BE_EMPTY = (
    "body",
    "state_id",
    "state",
    "assignee_user_id",
    "assignee",
    "parent_ticket_id",
    "parent",
    "due_date",
    "deleted_at",
)


def ticket_json(row: AnyRow) -> dict[str, Any]:
    """The ticket resource of a row of ``TICKETS`` or ``BODILESS``."""
    assignee = parent = None
    if row.assignee_user_id is not None:
        assignee = UserSummary(
            id=row.assignee_user_id,
            type=row.assignee_type,
            username=row.assignee_username,
            display_name=row.assignee_display_name,
        )
    if row.parent_ticket_id is not None:
        parent = {
            "id": row.parent_ticket_id,
            "display_id": row.parent_display_id,
            "title": row.parent_title,
            "type": row.parent_type,
            "state": state_summary(
                row.parent_state_id, row.parent_state_name, row.parent_state_category
            ),
        }
    return {
        "id": row.id,
        "display_id": row.display_id,
        "ticket_number": row.ticket_number,
        "project_id": row.project_id,
        "type": row.type,
        "title": row.title,
        "body": row.body,
        "state_id": row.state_id,
        "state": state_summary(row.state_id, row.state_name, row.state_category),
        "priority": row.priority,
        "assignee_user_id": row.assignee_user_id,
        "assignee": assignee,
        "reporter_user_id": row.reporter_user_id,
        "reporter": UserSummary(
            id=row.reporter_user_id,
            type=row.reporter_type,
            username=row.reporter_username,
            display_name=row.reporter_display_name,
        ),
        "parent_ticket_id": row.parent_ticket_id,
        "parent": parent,
        "labels": labels_in(row.labels),
        "due_date": row.due_date,
        "rank": row.rank,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
        "last_activity_at": iso(max(row.updated_at, row.discussed_at)),
        "deleted_at": iso_or_none(row.deleted_at),
    }


def tickets_json(rows: Sequence[AnyRow]) -> list[dict[str, Any]]:
    return [ticket_json(row) for row in rows]


@dataclass(frozen=True, slots=True)
class TicketShape:
    """The columns that a list selects of tickets, and how they become its rows."""

    statement: AnySelect
    build: Callable[[Sequence[AnyRow]], list[dict[str, Any]]]


WHOLE, WITHOUT_BODY = TicketShape(TICKETS, tickets_json), TicketShape(BODILESS, tickets_json)


def in_live_projects(ticket: type[Ticket] = Ticket) -> ColumnElement[bool]:
    """The condition that the project of a ticket is not deleted."""
    deleted = select(Project.id).where(Project.deleted_at.is_not(None))
    return ticket.project_id.not_in(deleted)


# The latest change of a ticket and of each row that its JSON includes.
_CHANGED = Prepared(
    _joined(
        Ticket.updated_at,
        Ticket.discussed_at,
        WorkflowState.updated_at.label("state"),
        _Assignee.updated_at.label("assignee"),
        _Reporter.updated_at.label("reporter"),
        Parent.updated_at.label("parent"),
        _ParentState.updated_at.label("parent_state"),
        select(func.max(Label.updated_at))
        .select_from(TicketLabel)
        .join(Label, Label.id == TicketLabel.label_id)
        .where(TicketLabel.ticket_id == Ticket.id)
        .correlate(Ticket)
        .scalar_subquery()
        .label("labels"),
        Project.ranks_spread_at,
    )
    .join(Project, Project.id == Ticket.project_id)
    .where(Ticket.id == bindparam("ticket_id"))
)


def shows_nothing_newer(ticket_id: str) -> bool:
    """Whether no row that the ticket's JSON includes is newer than the ticket and its ETag."""
    own, *others = _CHANGED.first(ticket_id=ticket_id)
    return all(other is None or other <= own for other in others)


_BY_ID = Prepared(TICKETS.where(Ticket.id == bindparam("ticket_id")))


def ticket_by_id(ticket_id: str) -> dict[str, Any]:
    """The JSON of a ticket that exists. The caller has checked access to it."""
    return ticket_json(_BY_ID.all(ticket_id=ticket_id)[0])


WITH_PROJECT = TICKETS.add_columns(
    Project.deleted_at.label("project_deleted_at"), Project.sign_off, Project.review_state_id
).join(Project, Project.id == Ticket.project_id)
_FOUND_BY_ID = Prepared(WITH_PROJECT.where(Ticket.id == bindparam("reference")))
_FOUND_BY_DISPLAY_ID = Prepared(WITH_PROJECT.where(Ticket.display_id == bindparam("reference")))


@dataclass(frozen=True, slots=True)
class FoundTicket:
    """A row of ``TICKETS``; its JSON is built on demand."""

    row: AnyRow

    @property
    def id(self) -> str:
        return str(self.row.id)

    @property
    def project_id(self) -> str:
        return str(self.row.project_id)

    @property
    def etag(self) -> str:
        return etag(self.row.updated_at, self.row.id)

    def json(self) -> dict[str, Any]:
        return ticket_json(self.row)


@operation(Access.READ)
def get_ticket(actor: Actor, reference: str, *, include_deleted: bool = False) -> FoundTicket:
    """The ticket with a UUID or display id; raises NotFound or Gone."""
    row = None
    if is_display_id(reference):
        row = _FOUND_BY_DISPLAY_ID.first(reference=reference)
    elif (canonical := as_uuid(reference)) is not None:
        row = _FOUND_BY_ID.first(reference=canonical)
    return FoundTicket(checked(actor, row, reference, include_deleted=include_deleted))


def checked(
    actor: Actor, row: AnyRow | None, reference: str, *, include_deleted: bool = False
) -> AnyRow:
    """The row of ``WITH_PROJECT``; raises NotFound or Gone unless the actor sees the ticket."""
    if row is None or not actor.sees_project(row.project_id):
        raise NotFound("ticket", reference)
    if not include_deleted:
        if row.project_deleted_at is not None:
            raise Gone("project", row.project_id)
        if row.deleted_at is not None:
            raise Gone("ticket", reference)
    return row


_CHILDREN = Prepared(
    BODILESS.where(
        Ticket.parent_ticket_id == bindparam("ticket_id"), Ticket.deleted_at.is_(None)
    ).order_by(Ticket.created_at, Ticket.id)
)


def children(ticket_id: str) -> list[dict[str, Any]]:
    """The live children of a ticket, oldest first, without bodies."""
    return tickets_json(_CHILDREN.all(ticket_id=ticket_id))
