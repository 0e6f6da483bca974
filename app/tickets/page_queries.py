"""What the ticket page reads, in a fixed number of statements.

The API's lists come one by one; a page shows them all at once, so it joins what it can.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, String, and_, case, cast, func, literal, select, union_all
from sqlalchemy.orm import aliased

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User, UserType
from app.audit.catalogue import UNDO_OF, Category
from app.audit.models import AuditEvent, ToolInvocation
from app.core.actor import Access, Actor, operation
from app.core.db import session
from app.core.errors import Gone, NotFound
from app.projects.models import Label, Project, StateCategory, WorkflowState
from app.tickets import queries
from app.tickets.builders import comment_json, state_summary, ticket_json, watcher_json
from app.tickets.models import Comment, Ticket, TicketLabel, TicketWatcher

# Entries of the activity list on the page.
EVENTS_SHOWN = 200
COMMENTS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Subject:
    """A ticket with its project, all labels of the project by name, and who watches it."""

    ticket: dict[str, Any]
    project: dict[str, str]
    labels: list[dict[str, str]]
    watchers: list[dict[str, Any]]


@operation(Access.READ)
def subject(actor: Actor, reference: str) -> Subject:
    """The ticket of a display id; raises NotFound or Gone."""
    row = session.execute(
        queries.FULL.add_columns(Project.key, Project.name, Project.deleted_at.label("gone_at"))
        .join(Project, Project.id == Ticket.project_id)
        .where(Ticket.display_id == reference)
    ).first()
    if row is None or not actor.sees_project(row.project_id):
        raise NotFound("ticket", reference)
    if row.gone_at is not None:
        raise Gone("project", row.project_id)
    if row.deleted_at is not None:
        raise Gone("ticket", reference)
    labels, carried, watchers = _labels_and_watchers(row.project_id, row.id)
    ticket = ticket_json(tuple(row)[: len(queries.COLUMNS)], carried)  # type: ignore[arg-type]  # plain dicts of that shape
    project = {"id": row.project_id, "key": row.key, "name": row.name}
    return Subject(ticket, project, labels, watchers)


Rows = list[dict[str, Any]]


def _labels_and_watchers(project_id: str, ticket_id: str) -> tuple[Rows, Rows, Rows]:
    """The project's labels, those on the ticket, and its watchers, in one statement."""
    labels = (
        select(
            literal("label").label("kind"),
            Label.id,
            Label.name,
            Label.color.label("second"),
            Label.name_key.label("place"),
            TicketLabel.ticket_id,
            literal(0, BigInteger).label("created_at"),
            literal("").label("type"),
        )
        .outerjoin(
            TicketLabel, and_(TicketLabel.label_id == Label.id, TicketLabel.ticket_id == ticket_id)
        )
        .where(Label.project_id == project_id)
    )
    watchers = (
        select(
            literal("watcher"),
            User.id,
            User.display_name,
            User.username,
            cast(TicketWatcher.created_at, String),
            TicketWatcher.ticket_id,
            TicketWatcher.created_at,
            User.type,
        )
        .join(TicketWatcher, TicketWatcher.user_id == User.id)
        .where(TicketWatcher.ticket_id == ticket_id)
    )
    both = union_all(labels, watchers)
    columns = both.selected_columns
    rows = session.execute(both.order_by(columns.kind, columns.place, columns.id)).all()
    of_project: Rows = []
    carried: Rows = []
    watching: Rows = []
    for row in rows:
        if row.kind == "watcher":
            user = user_summary(row.id, row.type, row.second, row.name)
            watching.append(watcher_json(user, row.created_at))
            continue
        label = {"id": row.id, "name": row.name, "color": row.second}
        of_project.append(label)
        if row.ticket_id is not None:
            carried.append(label)
    return of_project, carried, watching


def children(ticket_id: str) -> list[dict[str, Any]]:
    """The live tickets below this one, oldest first, with how much lies below each."""
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
    rows = session.execute(
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
        .where(Ticket.parent_ticket_id == ticket_id, Ticket.deleted_at.is_(None))
        .order_by(Ticket.created_at, Ticket.id)
    )
    return [
        {
            "id": row.id,
            "display_id": row.display_id,
            "title": row.title,
            "state": state_summary(row.state_id, row.name, row.category),
            "assignee": _user(row),
            "type": row.kind,
            "due_date": row.due_date,
            "parts": row.parts,
            "parts_done": row.parts_done,
        }
        for row in rows
    ]


def _user(row: Any) -> UserSummary | None:
    if row.user_id is None:
        return None
    return user_summary(row.user_id, row.type, row.username, row.display_name)


def comments_of(ticket_id: str, *, among: Collection[str] | None = None) -> list[dict[str, Any]]:
    """The newest comments on a ticket (or these of them), oldest first, deleted ones too."""
    statement = (
        select(Comment, User.id, User.type, User.username, User.display_name)
        .join(User, User.id == Comment.author_user_id)
        .where(Comment.ticket_id == ticket_id)
        .order_by(Comment.created_at.desc(), Comment.id.desc())
        .limit(COMMENTS_SHOWN)
    )
    if among is not None:
        statement = statement.where(Comment.id.in_(among))
    rows = session.execute(statement).all()
    return [
        comment_json(row.Comment, user_summary(row.id, row.type, row.username, row.display_name))
        for row in reversed(rows)
    ]


def events_of(
    ticket_id: str,
    *,
    request_id: str | None = None,
    comment_id: str | None = None,
    among: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """The newest events of a ticket (or of a request, a comment, or of these), oldest first.

    Those of comments name their comment and nothing of its text, which the comment itself has.
    """
    is_comment = AuditEvent.event_type.like("comment.%")
    called = (
        select(ToolInvocation.tool_name)
        .where(ToolInvocation.request_id == AuditEvent.request_id)
        .limit(1)
        .scalar_subquery()
    )
    statement = (
        select(
            AuditEvent.id,
            AuditEvent.event_type,
            case((~is_comment, AuditEvent.payload)).label("payload"),
            case((is_comment, AuditEvent.payload["comment_id"].as_string())).label("comment_id"),
            AuditEvent.payload[UNDO_OF].as_string().label(UNDO_OF),
            AuditEvent.request_id,
            AuditEvent.created_at,
            case((User.type == UserType.BOT.value, called)).label("tool"),
            User.id.label("user_id"),
            User.type,
            User.username,
            User.display_name,
        )
        .outerjoin(User, User.id == AuditEvent.actor_user_id)
        .where(AuditEvent.ticket_id == ticket_id, AuditEvent.category == Category.ACTIVITY.value)
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(EVENTS_SHOWN)
    )
    if request_id is not None:
        statement = statement.where(AuditEvent.request_id == request_id)
    if comment_id is not None:
        statement = statement.where(
            is_comment, AuditEvent.payload["comment_id"].as_string() == comment_id
        )
    if among is not None:
        statement = statement.where(AuditEvent.id.in_(among))
    rows = session.execute(statement).all()
    return [
        {
            "id": row.id,
            "event_type": row.event_type,
            "payload": row.payload or {},
            "comment_id": row.comment_id,
            "undo_of": row.undo_of,
            "request_id": row.request_id,
            "tool": row.tool,
            "created_at": row.created_at,
            "actor": _user(row),
        }
        for row in reversed(rows)
    ]


def names_of(identifiers: Iterable[str]) -> dict[str, str]:
    """What users are called, and the display ids of tickets, by their ids, in one statement."""
    wanted = list(identifiers)
    if not wanted:
        return {}
    users = select(User.id, User.display_name.label("name")).where(User.id.in_(wanted))
    tickets = select(Ticket.id, Ticket.display_id).where(Ticket.id.in_(wanted))
    return {row.id: row.name for row in session.execute(users.union_all(tickets))}


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
        "by": _user(last) if last else None,
        "children": children(row.id),
    }
