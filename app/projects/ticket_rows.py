"""The little that states and labels must know of tickets, which stand above them in the stack."""

from sqlalchemy import case, column, func, select, table, update

from app.core.clock import now_ms
from app.database.columns import Id, Moment
from app.database.session import session
from app.projects.models import WorkflowState

_tickets = table(
    "tickets",
    column("id", Id),
    column("project_id", Id),
    column("state_id", Id),
    column("updated_at", Moment),
    column("deleted_at", Moment),
)
_ticket_labels = table("ticket_labels", column("ticket_id", Id), column("label_id", Id))


def live_in_state(state_id: str) -> int:
    """How many live tickets are in this workflow state."""
    statement = (
        select(func.count())
        .select_from(_tickets)
        .where(_tickets.c.state_id == state_id, _tickets.c.deleted_at.is_(None))
    )
    return session.scalar(statement) or 0


def live_ids_in_state(state_id: str, limit: int) -> list[str]:
    """The ids of live tickets in this workflow state, at most so many."""
    live = select(_tickets.c.id).where(
        _tickets.c.state_id == state_id, _tickets.c.deleted_at.is_(None)
    )
    return list(session.scalars(live.order_by(_tickets.c.id).limit(limit)))


def live_by_state(project_id: str) -> dict[str, int]:
    """How many live tickets each state of a project holds."""
    statement = (
        select(_tickets.c.state_id, func.count())
        .where(_tickets.c.project_id == project_id, _tickets.c.deleted_at.is_(None))
        .group_by(_tickets.c.state_id)
    )
    return dict(session.execute(statement).all())


def live_by_label(project_id: str) -> dict[str, int]:
    """How many live tickets of a project carry each label."""
    statement = (
        select(_ticket_labels.c.label_id, func.count())
        .join(_tickets, _tickets.c.id == _ticket_labels.c.ticket_id)
        .where(_tickets.c.project_id == project_id, _tickets.c.deleted_at.is_(None))
        .group_by(_ticket_labels.c.label_id)
    )
    return dict(session.execute(statement).all())


def live_by_category(project_id: str | None = None) -> dict[str, dict[str, int]]:
    """How many live tickets each project, or this one, has in each category of state."""
    statement = (
        select(_tickets.c.project_id, WorkflowState.category, func.count())
        .join(WorkflowState, WorkflowState.id == _tickets.c.state_id)
        .where(_tickets.c.deleted_at.is_(None))
        .group_by(_tickets.c.project_id, WorkflowState.category)
    )
    if project_id is not None:
        statement = statement.where(_tickets.c.project_id == project_id)
    found: dict[str, dict[str, int]] = {}
    for where, category, count in session.execute(statement):
        found.setdefault(where, {})[category] = count
    return found


def touch_labelled(label_id: str) -> None:
    """Give every ticket with this label a new version, since its labels are about to change."""
    moment = now_ms()
    labelled = select(_ticket_labels.c.ticket_id).where(_ticket_labels.c.label_id == label_id)
    next_version = case((_tickets.c.updated_at < moment, moment), else_=_tickets.c.updated_at + 1)
    session.execute(
        update(_tickets).where(_tickets.c.id.in_(labelled)).values(updated_at=next_version)
    )


def labelled(label_id: str, limit: int) -> list[str]:
    """The ids of tickets that carry this label, deleted ones too, at most so many."""
    carrying = select(_ticket_labels.c.ticket_id).where(_ticket_labels.c.label_id == label_id)
    return list(session.scalars(carrying.order_by(_ticket_labels.c.ticket_id).limit(limit)))


def live_without_label(label_id: str, ticket_ids: list[str]) -> list[str]:
    """Those of some tickets that live and do not carry this label, in their order."""
    carrying = select(_ticket_labels.c.ticket_id).where(_ticket_labels.c.label_id == label_id)
    live = select(_tickets.c.id).where(
        _tickets.c.id.in_(ticket_ids),
        _tickets.c.deleted_at.is_(None),
        _tickets.c.id.not_in(carrying),
    )
    found = set(session.scalars(live))
    return [one for one in ticket_ids if one in found]
