"""The hierarchy: an epic has no parent, a story may have an epic, a subtask must have a story."""

from app.core.errors import InvalidField
from app.database.session import by_id
from app.tickets.models import Ticket, TicketType

FIELD = "parent_ticket_id"

PARENT_TYPE = {TicketType.STORY: TicketType.EPIC, TicketType.SUBTASK: TicketType.STORY}


def checked_parent(project_id: str, kind: str, parent_ticket_id: str | None) -> Ticket | None:
    """The parent that a ticket of this type may have; raises InvalidField ``parent_ticket_id``."""
    if parent_ticket_id is None:
        if kind == TicketType.SUBTASK:
            raise InvalidField(FIELD, "parent_required", "A subtask needs a story as its parent.")
        return None
    if kind == TicketType.EPIC:
        raise InvalidField(FIELD, "epic_has_no_parent", "An epic cannot have a parent.")
    parent = by_id(Ticket, parent_ticket_id)
    if parent is None or parent.is_deleted or parent.project_id != project_id:
        raise InvalidField(FIELD, "not_found", "The parent is a live ticket of the same project.")
    wanted = PARENT_TYPE[TicketType(kind)]
    if parent.type != wanted:
        raise InvalidField(FIELD, "wrong_type", f"The parent of a {kind} is a {wanted}.")
    return parent
