"""Carrying a card: to another column moves the ticket, to another lane changes it.

Both are one change to whoever carries it, so they happen in one transaction. The board says where
it saw the card: if it is elsewhere by now, nothing is written. Fields that the board does not go by
may change meanwhile without harm.
"""

from dataclasses import dataclass
from typing import Any

from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField
from app.database.session import session
from app.projects import states
from app.projects.models import StateCategory, WorkflowState
from app.tickets import cards, loaders, read, service
from app.tickets.models import Ticket, TicketType
from app.tickets.ticket_labels import label_ids_of

CATEGORIES = frozenset(str(one) for one in StateCategory)


@dataclass(frozen=True, slots=True)
class BoardCell:
    """Where a card is: its column (a state, or a category on the board of all) and its lane."""

    place: str
    # Empty where lanes do not matter.
    lane: str = ""

    def fits(self, other: "BoardCell") -> bool:
        """Whether the other one is here; without a lane, any lane is."""
        return self.place == other.place and self.lane in ("", other.lane)


@dataclass(frozen=True, slots=True)
class MovedCard:
    """Where a card was, and whether it was moved; it was not if it had left where it was seen."""

    before: BoardCell
    is_moved: bool


@operation(Access.WRITE)
def move_card(
    actor: Actor, reference: str, *, to: BoardCell, seen: BoardCell | None, grouping: str = ""
) -> MovedCard:
    """Put a card into a column and a lane; without ``seen``, wherever it is by now.

    Raises what the verbs that change a ticket do, and InvalidField for what no lane can change.
    """
    ticket = loaders.writable(actor, reference)
    by_category = to.place in CATEGORIES
    before = BoardCell(_column_of(ticket, by_category=by_category), _lane(ticket, grouping))
    if seen is not None and not (seen.fits(before) or to.fits(before)):
        return MovedCard(before, is_moved=False)
    if grouping and to.lane and to.lane != before.lane:
        changed = _lane_fields(ticket, grouping, before.lane, to.lane)
        service.update_ticket(actor, ticket, **changed)
    if to.place != before.place:
        state_id = _first_of(ticket.project_id, to.place) if by_category else to.place
        service.transition_ticket(actor, ticket, state_id=state_id)
    return MovedCard(before, is_moved=True)


def _column_of(ticket: Ticket, *, by_category: bool) -> str:
    if not by_category:
        return ticket.state_id or ""
    state = session.get(WorkflowState, ticket.state_id) if ticket.state_id else None
    return state.category if state else ""


def _first_of(project_id: str, category: str) -> str:
    """The first state of a category; raises InvalidField where the project has none."""
    found = [one.id for one in states.ordered(project_id) if one.category == category]
    if not found:
        raise InvalidField("state_id", "not_found", f"This project has no {category} state.")
    return found[0]


def _lane(ticket: Ticket, grouping: str) -> str:
    """The lane that a ticket is in, as ``cards.lane_of`` says of its card."""
    if grouping == "assignee":
        return ticket.assignee_user_id or cards.NONE
    if grouping == "priority":
        return ticket.priority
    if grouping == "label":
        carried = read.labels_of(ticket.id)
        return carried[0]["id"] if carried else cards.NONE
    if grouping == "epic":
        parent = session.get(Ticket, ticket.parent_ticket_id) if ticket.parent_ticket_id else None
        above = parent.parent_ticket_id if parent and parent.type == TicketType.STORY else None
        is_epic = parent is not None and parent.type == TicketType.EPIC
        return (parent.id if parent and is_epic else above) or cards.NONE
    return ""


def _lane_fields(ticket: Ticket, grouping: str, before: str, after: str) -> dict[str, Any]:
    """What a ticket gets by being carried into a lane."""
    value = None if after == cards.NONE else after
    if grouping == "assignee":
        return {"assignee_user_id": value}
    if grouping == "priority":
        if after not in cards.RANKS:
            raise InvalidField("priority", "invalid_choice", "There is no such priority.")
        return {"priority": after}
    if grouping == "label":
        kept = [one for one in label_ids_of(ticket) if one != before]
        return {"label_ids": [*kept, value] if value else kept}
    if ticket.type == TicketType.SUBTASK:
        raise InvalidField(
            "parent_ticket_id", "wrong_type", "A subtask stays with its story; carry the story."
        )
    return {"parent_ticket_id": value}
