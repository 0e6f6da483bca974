"""When a ticket's comments, relations and links last changed; its version and ETag stay."""

from typing import Any, cast

from sqlalchemy import BigInteger, Table, bindparam, literal_column, update

from app.database.session import Prepared
from app.tickets.models import LAST_ACTIVE, Ticket

_table = cast("Table", Ticket.__table__)
_DISCUSSED = Prepared(
    update(_table)
    .where(_table.c.id == bindparam("ticket_id"), _table.c.discussed_at < bindparam("moment"))
    .values(discussed_at=bindparam("moment"))
)

LAST_ACTIVITY_AT: Any = literal_column(LAST_ACTIVE, BigInteger)


def discussed(ticket_id: str, moment: int) -> None:
    """Record that a comment, relation or link of the ticket changed at ``moment`` (ms)."""
    _DISCUSSED.all(ticket_id=ticket_id, moment=moment)
