"""What the ticket page reads, in a fixed number of statements.

The API's lists come one by one; a page shows them all at once, so it joins what it can.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    String,
    bindparam,
    cast,
    func,
    literal,
    select,
    union_all,
)
from sqlalchemy.orm import aliased

from app.accounts.builders import user_summary
from app.accounts.models import User
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.db import Prepared, session
from app.core.errors import Gone, NotFound
from app.projects.models import Label, Project, StateCategory, WorkflowState
from app.tickets import linked_from, read
from app.tickets.linked_from import Source
from app.tickets.models import Ticket, TicketWatcher
from app.tickets.read import state_summary
from app.tickets.stream_queries import actor_of
from app.tickets.watchers import watcher_json


@dataclass(frozen=True, slots=True)
class Subject:
    """A ticket with its project, all labels of the project by name, and what stands around it."""

    ticket: dict[str, Any]
    project: dict[str, str]
    labels: list[dict[str, str]]
    watchers: list[dict[str, Any]]
    # What leads to it from elsewhere, for people.
    sources: list[Source]


_SUBJECT = Prepared(
    read.TICKETS.add_columns(Project.key, Project.name, Project.deleted_at.label("gone_at"))
    .join(Project, Project.id == Ticket.project_id)
    .where(Ticket.display_id == bindparam("reference"))
)


@operation(Access.READ)
def subject(actor: Actor, reference: str) -> Subject:
    """The ticket of a display id; raises NotFound or Gone."""
    row = _SUBJECT.first(reference=reference)
    if row is None or not actor.sees_project(row.project_id):
        raise NotFound("ticket", reference)
    if row.gone_at is not None:
        raise Gone("project", row.project_id)
    if row.deleted_at is not None:
        raise Gone("ticket", reference)
    around = _AROUND.all(
        project_id=row.project_id,
        ticket_id=row.id,
        display_id=row.display_id,
        user_id=actor.id,
    )
    labels, watchers = _labels_and_watchers(around)
    ticket = read.ticket_json(row)
    project = {"id": row.project_id, "key": row.key, "name": row.name}
    return Subject(ticket, project, labels, watchers, linked_from.sources(around))


Rows = list[dict[str, Any]]


def _around() -> Prepared:
    """The project's labels, the ticket's watchers, and what leads to it."""
    labels = select(
        literal("label").label("kind"),
        Label.id,
        Label.name,
        Label.color.label("second"),
        Label.name_key.label("place"),
        literal(0, BigInteger).label("created_at"),
        literal("").label("type"),
    ).where(Label.project_id == bindparam("project_id"))
    watchers = (
        select(
            literal("watcher"),
            User.id,
            User.display_name,
            User.username,
            cast(TicketWatcher.created_at, String),
            TicketWatcher.created_at,
            User.type,
        )
        .join(TicketWatcher, TicketWatcher.user_id == User.id)
        .where(TicketWatcher.ticket_id == bindparam("ticket_id"))
    )
    every = union_all(labels, watchers, *linked_from.queries())
    columns = every.selected_columns
    return Prepared(every.order_by(columns.kind, columns.place, columns.id))


_AROUND = _around()


def _labels_and_watchers(rows: Iterable[Any]) -> tuple[Rows, Rows]:
    """The project's labels, and who watches the ticket."""
    of_project: Rows = []
    watching: Rows = []
    for row in rows:
        if row.kind == "watcher":
            user = user_summary(row.id, row.type, row.second, row.name)
            watching.append(watcher_json(user, row.created_at))
        elif row.kind == "label":
            of_project.append({"id": row.id, "name": row.name, "color": row.second})
    return of_project, watching


def _all_children() -> Prepared:
    below = aliased(Ticket, name="below")
    its_state = aliased(WorkflowState, name="its_state")
    parts = (
        select(func.count())
        .select_from(below)
        .where(below.parent_ticket_id == Ticket.id, below.deleted_at.is_(None))
        .correlate(Ticket)
    )
    done = parts.join(its_state, its_state.id == below.state_id).where(
        its_state.category == StateCategory.DONE.value
    )
    return Prepared(
        select(
            Ticket.id,
            Ticket.display_id,
            Ticket.title,
            Ticket.type.label("kind"),
            Ticket.due_date,
            WorkflowState.id.label("state_id"),
            WorkflowState.name,
            WorkflowState.category,
            parts.scalar_subquery().label("parts"),
            done.scalar_subquery().label("parts_done"),
            User.id.label("user_id"),
            User.type,
            User.username,
            User.display_name,
        )
        .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
        .outerjoin(User, User.id == Ticket.assignee_user_id)
        .where(Ticket.parent_ticket_id == bindparam("ticket_id"), Ticket.deleted_at.is_(None))
        .order_by(Ticket.created_at, Ticket.id)
    )


_CHILDREN = _all_children()


def children(ticket_id: str) -> list[dict[str, Any]]:
    """The live tickets below this one, oldest first, with how much lies below each."""
    return [
        {
            "id": row.id,
            "display_id": row.display_id,
            "title": row.title,
            "state": state_summary(row.state_id, row.name, row.category),
            "assignee": actor_of(row),
            "type": row.kind,
            "due_date": row.due_date,
            "parts": row.parts,
            "parts_done": row.parts_done,
        }
        for row in _CHILDREN.all(ticket_id=ticket_id)
    ]


@operation(Access.HUMAN)
def deleted(actor: Actor, reference: str) -> dict[str, Any]:
    """What people see of a deleted ticket: who deleted it and when, and what lies below it."""
    row = session.execute(
        select(Ticket.id, Ticket.display_id, Ticket.title, Ticket.deleted_at, Project.key)
        .add_columns(Project.name, Project.id.label("project_id"))
        .join(Project, Project.id == Ticket.project_id)
        .where(Ticket.display_id == reference)
    ).one()
    last = session.execute(
        select(User.id.label("user_id"), User.type, User.username, User.display_name)
        .select_from(AuditEvent)
        .outerjoin(User, User.id == AuditEvent.actor_user_id)
        .where(AuditEvent.ticket_id == row.id, AuditEvent.event_type == "ticket.deleted")
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(1)
    ).first()
    return {
        "ticket": {"display_id": row.display_id, "title": row.title, "deleted_at": row.deleted_at},
        "project": {"id": row.project_id, "key": row.key, "name": row.name},
        "by": actor_of(last) if last else None,
        "children": children(row.id),
    }
