"""The little that states and labels must know of tickets, which stand above them in the stack."""

from sqlalchemy import case, column, func, select, table, update

from app.core.clock import now_ms
from app.core.db import Id, Moment, session

_tickets = table(
    "tickets",
    column("id", Id),
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


def touch_labelled(label_id: str) -> None:
    """Give every ticket with this label a new version, since its labels are about to change."""
    moment = now_ms()
    labelled = select(_ticket_labels.c.ticket_id).where(_ticket_labels.c.label_id == label_id)
    next_version = case((_tickets.c.updated_at < moment, moment), else_=_tickets.c.updated_at + 1)
    session.execute(
        update(_tickets).where(_tickets.c.id.in_(labelled)).values(updated_at=next_version)
    )
