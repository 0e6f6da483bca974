"""Dragging a card: another column is a transition, another swimlane an update of the ticket.

Both happen in one transaction. The board sends the cell in which it showed the card; if the card
has left that cell, nothing is written. Changes to other fields do not prevent the move.
"""

from dataclasses import dataclass, field
from typing import Any

from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField
from app.database.session import session
from app.projects import states
from app.tickets import cards, loaders, messages, rank, service
from app.tickets.filters import CATEGORIES
from app.tickets.models import Ticket, TicketType
from app.tickets.ticket_labels import label_ids_of

# ``rank_after`` or ``rank_before``, with the id of a ticket or None for an end.
Neighbor = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class BoardCell:
    """A column (a state, or a category on the cross-project board) and a swimlane of it."""

    place: str
    # Empty if swimlanes are irrelevant.
    swimlane: str = ""

    def fits(self, other: "BoardCell") -> bool:
        """Whether the other cell is in this one; without a swimlane, any swimlane matches."""
        return self.place == other.place and self.swimlane in ("", other.swimlane)


@dataclass(frozen=True, slots=True)
class MovedCard:
    """The cell before the move, and whether the card was moved: not if it had left ``seen``."""

    before: BoardCell
    is_moved: bool
    # Puts the card back among its neighbors; empty if its position was not changed by hand.
    back: Neighbor = field(default_factory=dict)


@operation(Access.WRITE)
def move_card(
    actor: Actor,
    reference: str,
    *,
    to: BoardCell,
    seen: BoardCell | None,
    grouping: str = "",
    beside: Neighbor | None = None,
) -> MovedCard:
    """Move a card to a cell, ``beside`` another card, if it is in the cell ``seen`` (None: any).

    Raises the errors of ``update_ticket`` and ``transition_ticket``, and InvalidField for a
    swimlane into which the ticket cannot move.
    """
    ticket = loaders.writable(actor, reference)
    by_category = to.place in CATEGORIES
    row = session.execute(cards.SOURCE.where(Ticket.id == ticket.id)).one()
    place = row.category if by_category else row.state_id
    before = BoardCell(place, cards.swimlane_of(row, grouping))
    if seen is not None and not (seen.fits(before) or to.fits(before)):
        return MovedCard(before, is_moved=False)
    changed: dict[str, Any] = {}
    if grouping and to.swimlane and to.swimlane != before.swimlane:
        changed = _swimlane_fields(ticket, grouping, before.swimlane, to.swimlane)
    beside = _existing(beside or {})
    back = _position(ticket) if beside else {}
    if changed or beside:
        service.update_ticket(actor, ticket, **changed, **beside)
    if to.place != before.place:
        state_id = _first_of(ticket.project_id, to.place) if by_category else to.place
        try:
            service.transition_ticket(actor, ticket, state_id=state_id)
        except InvalidField as error:
            # Only pages call this, and they show states that existed.
            raise InvalidField("state_id", "not_found", messages.STATE_DELETED) from error
    return MovedCard(before, is_moved=True, back=back)


def _existing(beside: Neighbor) -> Neighbor:
    """The neighbor, unless it was deleted during the drag."""
    return {
        name: neighbor_id
        for name, neighbor_id in beside.items()
        if neighbor_id is None or ((found := loaders.find(neighbor_id)) and not found.is_deleted)
    }


def _position(ticket: Ticket) -> Neighbor:
    above = rank.id_above(ticket)
    return {"rank_after": above} if above else {"rank_before": None}


def _first_of(project_id: str, category: str) -> str:
    """The first state of a category; raises InvalidField if the project has none."""
    for state in states.ordered(project_id):
        if state.category == category:
            return state.id
    raise InvalidField("state_id", "not_found", messages.no_state_of(category))


def _swimlane_fields(ticket: Ticket, grouping: str, before: str, after: str) -> dict[str, Any]:
    """The fields that a move to a swimlane changes; raises InvalidField."""
    value = None if after == cards.NONE else after
    if grouping == "assignee":
        return {"assignee_user_id": value}
    if grouping == "priority":
        if after not in cards.RANKS:
            raise InvalidField("priority", "invalid_choice", messages.PRIORITY_NOT_FOUND)
        return {"priority": after}
    if grouping == "label":
        kept = [label_id for label_id in label_ids_of(ticket) if label_id != before]
        return {"label_ids": [*kept, value] if value else kept}
    if ticket.type == TicketType.SUBTASK:
        raise InvalidField("parent_ticket_id", "wrong_type", messages.SUBTASK_STAYS)
    return {"parent_ticket_id": value}
