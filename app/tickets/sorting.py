"""The orders of ticket lists over REST and tools; each has an index, in a project and across all.

``list_orders.py`` has the orders of pages.
"""

from enum import StrEnum

from app.tickets.discussion import LAST_ACTIVITY_AT
from app.tickets.list_orders import OrderKey
from app.tickets.models import DUE_DATE_OR_LAST, LEVEL_OF_PRIORITY, Ticket


class TicketSort(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    ACTIVE = "active"
    RANK = "rank"
    DUE = "due"
    PRIORITY = "priority"


_OLDEST = OrderKey(Ticket.id, "id")
_NEWEST = OrderKey(Ticket.id, "id", is_ascending=False)

# The order ``created`` is that of ``database/pagination.py``.
KEYS: dict[TicketSort, tuple[OrderKey, ...]] = {
    TicketSort.UPDATED: (OrderKey(Ticket.updated_at, is_ascending=False), _NEWEST),
    TicketSort.ACTIVE: (OrderKey(LAST_ACTIVITY_AT, is_ascending=False), _NEWEST),
    TicketSort.RANK: (OrderKey(Ticket.rank, "text"), _OLDEST),
    # Tickets without a date come last.
    TicketSort.DUE: (OrderKey(DUE_DATE_OR_LAST, "text"), _OLDEST),
    TicketSort.PRIORITY: (OrderKey(LEVEL_OF_PRIORITY), _OLDEST),
}
