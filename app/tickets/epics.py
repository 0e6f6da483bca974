"""Epics: their progress and due dates, and the cumulative flow of a project's states."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import and_, case, func, select

from app.audit.models import AuditEvent
from app.core.clock import DAY_MS, iso, now_ms
from app.database.session import session
from app.projects.models import StateCategory, WorkflowState
from app.tickets.models import Ticket, TicketType

CREATED, MOVED = "ticket.created", "ticket.state_changed"
DELETED, RESTORED = "ticket.deleted", "ticket.restored"
MIN_DAYS = 8


@dataclass(frozen=True, slots=True)
class Band:
    """A state, and the number of its tickets at the end of each day."""

    name: str
    category: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """The days (``2026-11-21``), oldest first, and the states by position."""

    days: tuple[str, ...]
    bands: tuple[Band, ...]

    @property
    def totals(self) -> list[int]:
        return [sum(counts) for counts in zip(*(band.counts for band in self.bands), strict=True)]


def flow(project_id: str, days: int) -> Flow:
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
            # Moves of a deleted ticket can distort the sum, so it is kept from going negative.
            counts.append(max(0, counts[-1] - changes[row.id, day]))
        bands.append(Band(row.name, row.category, tuple(reversed(counts))))
    names = tuple(iso(day * DAY_MS)[:10] for day in range(first, today + 1))
    return _trimmed(Flow(names, tuple(bands)))


def _trimmed(flow: Flow) -> Flow:
    """The flow without the days before the first ticket, except the last; at least ``MIN_DAYS``."""
    empty = next((index for index, total in enumerate(flow.totals) if total), 0)
    start = max(0, min(empty - 1, len(flow.days) - MIN_DAYS))
    return Flow(
        flow.days[start:],
        tuple(Band(band.name, band.category, band.counts[start:]) for band in flow.bands),
    )


def _changes(project_id: str, since: int) -> dict[tuple[str, int], int]:
    """The net growth by (state id, day), summed up by the database."""
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
    changes: dict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        for state_id, sign in ((row.came, 1), (row.left, -1), (row.gone, -1)):
            if state_id is not None:
                changes[state_id, row.day // DAY_MS] += sign * row.events
    return changes


# The list of tickets shows the rest.
EPICS_SHOWN = 50

_is_done = WorkflowState.category == StateCategory.DONE.value


@dataclass(slots=True)
class Epic:
    id: str
    display_id: str
    title: str
    due_date: str | None
    state: str
    category: str
    stories: int = 0
    stories_done: int = 0
    # The due dates of its stories, each with whether the story is done.
    dates: list[tuple[str, bool]] = field(default_factory=list)


def of_project(project_id: str) -> tuple[list[Epic], bool]:
    """The project's epics, open ones first, then newest first; and whether there are more."""
    rows = session.execute(
        select(
            Ticket.id,
            Ticket.display_id,
            Ticket.title,
            Ticket.due_date,
            WorkflowState.name.label("state"),
            WorkflowState.category,
        )
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(
            Ticket.project_id == project_id,
            Ticket.type == TicketType.EPIC.value,
            Ticket.deleted_at.is_(None),
        )
        .order_by(_is_done, Ticket.created_at.desc(), Ticket.id.desc())
        .limit(EPICS_SHOWN + 1)
    ).all()
    epics = [
        Epic(row.id, row.display_id, row.title, row.due_date, row.state, row.category)
        for row in rows[:EPICS_SHOWN]
    ]
    _count(epics)
    return epics, len(rows) > EPICS_SHOWN


def _count(epics: Sequence[Epic]) -> None:
    epics_by_id = {epic.id: epic for epic in epics}
    if not epics_by_id:
        return
    rows = session.execute(
        select(
            Ticket.parent_ticket_id,
            Ticket.due_date,
            func.count().label("stories"),
            func.sum(case((_is_done, 1), else_=0)).label("done"),
        )
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.parent_ticket_id.in_(epics_by_id), Ticket.deleted_at.is_(None))
        .group_by(Ticket.parent_ticket_id, Ticket.due_date)
    )
    for parent_id, due_date, stories, done in rows:
        epic = epics_by_id[parent_id]
        epic.stories += stories
        epic.stories_done += done
        if due_date:
            epic.dates.append((due_date, done == stories))
    for epic in epics:
        epic.dates.sort()
