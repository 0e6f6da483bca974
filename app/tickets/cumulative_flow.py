"""How many tickets were in each state at the end of each day: the cumulative flow of a project.

The counts of now are walked back through the events: what came into a state on a day was not there
on the day before. Epics count too; what was deleted leaves, what was restored comes back.
"""

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import and_, case, func, select

from app.audit.models import AuditEvent
from app.core.clock import DAY_MS, iso, now_ms
from app.database.session import session
from app.projects.models import WorkflowState
from app.tickets.models import Ticket

CREATED, MOVED = "ticket.created", "ticket.state_changed"
DELETED, RESTORED = "ticket.deleted", "ticket.restored"
FEWEST_DAYS = 8


@dataclass(frozen=True, slots=True)
class Band:
    """A state, and how many tickets were in it at the end of each day."""

    name: str
    category: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """The days (``2026-11-21``), the oldest first, and the states by position."""

    days: tuple[str, ...]
    bands: tuple[Band, ...]

    @property
    def totals(self) -> list[int]:
        """All tickets of each day."""
        return [sum(counts) for counts in zip(*(one.counts for one in self.bands), strict=True)]


def flow(project_id: str, days: int) -> Flow:
    """The flow of the last days, today among them."""
    rows = session.execute(
        select(
            WorkflowState.id,
            WorkflowState.name,
            WorkflowState.category,
            func.count(Ticket.id).label("now"),
        )
        .outerjoin(Ticket, and_(Ticket.state_id == WorkflowState.id, Ticket.deleted_at.is_(None)))
        .where(WorkflowState.project_id == project_id)
        .group_by(WorkflowState.id)
        .order_by(WorkflowState.position)
    ).all()
    today = now_ms() // DAY_MS
    first = today - days + 1
    changes = _changes(project_id, first * DAY_MS)
    bands = []
    for row in rows:
        counts = [row.now]
        for day in range(today, first, -1):
            # A ticket that was deleted and restored may have moved in between: never below none.
            counts.append(max(0, counts[-1] - changes[row.id, day]))
        bands.append(Band(row.name, row.category, tuple(reversed(counts))))
    return _begun(
        Flow(tuple(iso(day * DAY_MS)[:10] for day in range(first, today + 1)), tuple(bands))
    )


def _begun(whole: Flow) -> Flow:
    """Without the days before the first ticket, but for the last of them, and at least a week."""
    empty = next((at for at, total in enumerate(whole.totals) if total), 0)
    start = max(0, min(empty - 1, len(whole.days) - FEWEST_DAYS))
    return Flow(
        whole.days[start:],
        tuple(Band(one.name, one.category, one.counts[start:]) for one in whole.bands),
    )


def _changes(project_id: str, since: int) -> dict[tuple[str, int], int]:
    """By how many each state grew on each day, in one statement that the database sums up."""
    kind, payload = AuditEvent.event_type, AuditEvent.payload
    day = (AuditEvent.created_at - AuditEvent.created_at % DAY_MS).label("day")
    came = case(
        (kind == MOVED, payload["to_state_id"].as_string()),
        (kind.in_((CREATED, RESTORED)), payload["state_id"].as_string()),
    ).label("came")
    left = case((kind == MOVED, payload["from_state_id"].as_string())).label("left")
    gone = case((kind == DELETED, Ticket.state_id)).label("gone")
    rows = session.execute(
        select(day, came, left, gone, func.count().label("events"))
        .outerjoin(Ticket, Ticket.id == AuditEvent.ticket_id)
        .where(
            AuditEvent.project_id == project_id,
            kind.in_((CREATED, MOVED, DELETED, RESTORED)),
            AuditEvent.created_at >= since,
        )
        .group_by(day, came, left, gone)
    )
    found: dict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        at = row.day // DAY_MS
        for state_id, by in ((row.came, 1), (row.left, -1), (row.gone, -1)):
            if state_id is not None:
                found[state_id, at] += by * row.events
    return found
