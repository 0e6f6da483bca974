"""Which labels a ticket carries."""

from typing import cast

from sqlalchemy import Table, bindparam, delete, insert, select

from app.database.session import Prepared, pipeline, session
from app.tickets.models import Ticket, TicketLabel

_OF_TICKET = Prepared(
    select(TicketLabel.label_id).where(TicketLabel.ticket_id == bindparam("ticket_id"))
)
_INSERT = Prepared(insert(cast("Table", TicketLabel.__table__)))


def label_ids_of(ticket: Ticket) -> list[str]:
    """The ids of the ticket's labels, sorted."""
    return sorted(row.label_id for row in _OF_TICKET.all(ticket_id=ticket.id))


def replace_labels(ticket: Ticket, label_ids: list[str]) -> None:
    before = set(label_ids_of(ticket))
    removed = before - set(label_ids)
    if removed:
        session.execute(
            delete(TicketLabel).where(
                TicketLabel.ticket_id == ticket.id, TicketLabel.label_id.in_(removed)
            )
        )
    add_labels(ticket.id, [label_id for label_id in label_ids if label_id not in before])


def add_labels(ticket_id: str, label_ids: list[str]) -> None:
    """Add labels; the ticket must not have any of them."""
    with pipeline():
        for label_id in label_ids:
            _INSERT.all(ticket_id=ticket_id, label_id=label_id)
