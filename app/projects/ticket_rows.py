"""Queries on tickets for states and labels, whose package may not import the tickets package."""

from typing import Any

from sqlalchemy import Select, case, column, func, select, table, update

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
_is_live = _tickets.c.deleted_at.is_(None)


def live_in_state(state_id: str) -> int:
    statement = select(func.count()).select_from(_tickets)
    return session.scalar(statement.where(_tickets.c.state_id == state_id, _is_live)) or 0


def live_ids_in_state(state_id: str, limit: int) -> list[str]:
    """The ids of the first ``limit`` live tickets in a state."""
    live = select(_tickets.c.id).where(_tickets.c.state_id == state_id, _is_live)
    return list(session.scalars(live.order_by(_tickets.c.id).limit(limit)))


def live_by_state(project_id: str) -> dict[str, int]:
    statement = (
        select(_tickets.c.state_id, func.count())
        .where(_tickets.c.project_id == project_id, _is_live)
        .group_by(_tickets.c.state_id)
    )
    return dict(session.execute(statement).all())


def live_by_label(project_id: str) -> dict[str, int]:
    statement = (
        select(_ticket_labels.c.label_id, func.count())
        .join(_tickets, _tickets.c.id == _ticket_labels.c.ticket_id)
        .where(_tickets.c.project_id == project_id, _is_live)
        .group_by(_ticket_labels.c.label_id)
    )
    return dict(session.execute(statement).all())


def live_by_category(project_id: str | None = None) -> dict[str, dict[str, int]]:
    """The number of live tickets by project id and category, for all projects or for one."""
    statement = (
        select(_tickets.c.project_id, WorkflowState.category, func.count())
        .join(WorkflowState, WorkflowState.id == _tickets.c.state_id)
        .where(_is_live)
        .group_by(_tickets.c.project_id, WorkflowState.category)
    )
    if project_id is not None:
        statement = statement.where(_tickets.c.project_id == project_id)
    counts: dict[str, dict[str, int]] = {}
    for ticket_project_id, category, count in session.execute(statement):
        counts.setdefault(ticket_project_id, {})[category] = count
    return counts


def touch_labelled(label_id: str) -> None:
    """Give every ticket with this label a new version, before its labels change."""
    moment = now_ms()
    next_version = case((_tickets.c.updated_at < moment, moment), else_=_tickets.c.updated_at + 1)
    session.execute(
        update(_tickets)
        .where(_tickets.c.id.in_(_carrying(label_id)))
        .values(updated_at=next_version)
    )


def labeled(label_id: str, limit: int) -> list[str]:
    """The ids of the first ``limit`` tickets with a label, deleted ones included."""
    carrying = _carrying(label_id)
    return list(session.scalars(carrying.order_by(_ticket_labels.c.ticket_id).limit(limit)))


def live_without_label(label_id: str, ticket_ids: list[str]) -> list[str]:
    """The tickets among ``ticket_ids`` that are live and lack this label, in the same order."""
    live = set(
        session.scalars(
            select(_tickets.c.id).where(
                _tickets.c.id.in_(ticket_ids),
                _is_live,
                _tickets.c.id.not_in(_carrying(label_id)),
            )
        )
    )
    return [ticket_id for ticket_id in ticket_ids if ticket_id in live]


def _carrying(label_id: str) -> Select[Any]:
    return select(_ticket_labels.c.ticket_id).where(_ticket_labels.c.label_id == label_id)
