"""Manual order: the tickets of a project are sorted by the bytes of their ranks.

A rank is a fraction in base 62 without trailing zeros, so another fits between any two. Ranks grow
longer if tickets are often placed between the same two; the neighbors then get shorter ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Text, bindparam, false, literal, select, tuple_, update

from app.core.clock import now_ms
from app.database.columns import Id
from app.database.session import session
from app.projects.models import Project
from app.tickets.models import Priority, Ticket

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BASE = len(DIGITS)
# If a rank would be longer, the neighbors are spread instead.
MAX_LENGTH = 60

# Urgent tickets start on top. The space between the bands is for tickets placed by hand.
_BANDS = {Priority.URGENT: "2", Priority.HIGH: "4", Priority.MEDIUM: "6", Priority.LOW: "8"}


def initial(priority: str, number: int) -> str:
    """The rank of a new ticket: below all unmoved tickets of its priority.

    It is derived from the ticket's number alone, so creating tickets compares no neighbors.
    """
    return f"{_BANDS[Priority(priority)]}{number:010d}V"


def between(low: str, high: str) -> str:
    """The shortest rank between two; an empty ``low`` is the top, an empty ``high`` the bottom.

    Raises ValueError unless ``low`` sorts before ``high``.
    """
    if high and low >= high:
        raise ValueError(f"nothing lies between {low!r} and {high!r}")
    common = _common_length(low, high)
    if common:
        return high[:common] + between(low[common:], high[common:])
    first = DIGITS.index(low[0]) if low else 0
    end = DIGITS.index(high[0]) if high else _BASE
    if end - first > 1:
        return DIGITS[(first + end) // 2]
    if len(high) > 1:
        return high[0]
    return DIGITS[first] + between(low[1:], "")


def _common_length(low: str, high: str) -> int:
    """The number of digits with which both begin; ``low`` counts as followed by zeros."""
    length = 0
    while length < len(high) and (low[length] if length < len(low) else DIGITS[0]) == high[length]:
        length += 1
    return length


def spread(low: str, high: str, count: int) -> Sequence[str]:
    """``count`` ranks between two, in order and evenly spaced; arguments as in ``between``."""
    if count == 0:
        return []
    middle = between(low, high)
    left = count // 2
    return [*spread(low, middle, left), middle, *spread(middle, high, count - left - 1)]


# -- placing a ticket ----------------------------------------------------------------------------

# How many neighbors on each side get new ranks if there is no room; doubled until there is.
_SPREAD = 100
_Rows = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where to put a ticket: right after (or before) another; None means last (or first)."""

    side: Literal["after", "before"]
    neighbor: Ticket | None


def rank_for(ticket: Ticket, placement: Placement) -> str:
    """The rank that puts the ticket there; neighbors may get other ranks to make room.

    Locks the project, so that tickets moved at the same time are placed one after the other.
    """
    lock = select(Project.id).where(Project.id == ticket.project_id).with_for_update(key_share=True)
    session.execute(lock)
    if placement.neighbor is not None:
        # It may have been moved while this call waited for the lock.
        session.refresh(placement.neighbor, ["rank"])
    above, below = _around(ticket, placement, 1)
    low, high = (above[-1][1] if above else ""), (below[0][1] if below else "")
    if low < ticket.rank and (not high or ticket.rank < high):
        return ticket.rank
    if not high or low < high:
        rank = between(low, high)
        if len(rank) <= MAX_LENGTH:
            return rank
    return _make_room(ticket, placement)


def _position_of(ticket: Ticket) -> Any:
    return tuple_(literal(ticket.rank, Text), literal(ticket.id, Id))


def _around(ticket: Ticket, placement: Placement, count: int) -> tuple[_Rows, _Rows]:
    """Ids and ranks of up to ``count`` live tickets above and below the place, in order."""
    neighbor = placement.neighbor
    here = tuple_(Ticket.rank, Ticket.id)
    others = select(Ticket.id, Ticket.rank).where(
        Ticket.project_id == ticket.project_id,
        Ticket.deleted_at.is_(None),
        Ticket.id != ticket.id,
    )
    is_after = placement.side == "after"
    above, below = others, others
    if neighbor is None:
        # At an end, all others are on one side.
        above, below = (above, below.where(false())) if is_after else (above.where(false()), below)
    else:
        mark = _position_of(neighbor)
        above = above.where(here <= mark if is_after else here < mark)
        below = below.where(here > mark if is_after else here >= mark)
    first = session.execute(above.order_by(Ticket.rank.desc(), Ticket.id.desc()).limit(count))
    last = session.execute(below.order_by(Ticket.rank, Ticket.id).limit(count))
    return [(row.id, row.rank) for row in first][::-1], [(row.id, row.rank) for row in last]


def _make_room(ticket: Ticket, placement: Placement) -> str:
    """Spread the neighbors evenly; returns the rank of the gap that is left for the ticket.

    Their order stays, so nothing is recorded and their versions stay as well.
    """
    count = _SPREAD
    while True:
        # One more on each side bounds the stretch.
        above, below = _around(ticket, placement, count + 1)
        low = above[0][1] if len(above) > count else ""
        high = below[-1][1] if len(below) > count else ""
        above, below = above[-count:], below[:count]
        if not high or low < high:
            ranks = spread(low, high, len(above) + 1 + len(below))
            if max(map(len, ranks)) <= MAX_LENGTH // 2 or (not low and not high):
                break
        count *= 2
    moved = [*above, (ticket.id, ""), *below]
    session.execute(
        update(Ticket.__table__)  # type: ignore[arg-type]  # a Table, past the ORM's versions
        .where(Ticket.id == bindparam("ticket_id"))
        .values(rank=bindparam("rank")),
        [
            {"ticket_id": identifier, "rank": rank}
            for (identifier, _), rank in zip(moved, ranks, strict=True)
            if identifier != ticket.id
        ],
    )
    project = session.get_one(Project, ticket.project_id)
    project.ranks_spread_at = now_ms()
    return ranks[len(above)]


def id_above(ticket: Ticket) -> str | None:
    """The id of the live ticket right above this one; None if it is the first."""
    return session.scalar(
        select(Ticket.id)
        .where(
            Ticket.project_id == ticket.project_id,
            Ticket.deleted_at.is_(None),
            tuple_(Ticket.rank, Ticket.id) < _position_of(ticket),
        )
        .order_by(Ticket.rank.desc(), Ticket.id.desc())
        .limit(1)
    )
