"""When a ticket's comments and relations changed last, which leaves its version and ETag alone."""

from typing import Any, cast

from sqlalchemy import Table, bindparam, case, update

from app.database.session import Prepared
from app.tickets.models import Ticket

_table = cast("Table", Ticket.__table__)
_DISCUSSED = Prepared(
    update(_table)
    .where(_table.c.id == bindparam("ticket_id"), _table.c.discussed_at < bindparam("moment"))
    .values(discussed_at=bindparam("moment"))
)

# The later of a ticket's own change and that of its comments and relations, in milliseconds.
LAST_ACTIVITY_AT: Any = case(
    (Ticket.discussed_at > Ticket.updated_at, Ticket.discussed_at), else_=Ticket.updated_at
)


def discussed(ticket_id: str, moment: int) -> None:
    """Note that a comment or relation of the ticket changed at ``moment`` (ms)."""
    _DISCUSSED.all(ticket_id=ticket_id, moment=moment)
