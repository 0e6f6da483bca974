"""Which events a rewind undoes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, TextClause, and_, func, not_, or_, select

from app.audit.models import HAS_INDEXED_TARGET, AuditEvent
from app.core.clock import DAY_MS, HOUR_MS, LATEST_MS, MINUTE_MS, now_ms
from app.core.ids import created_ms
from app.database.session import session

# The most requests of one import; each writes a thousand rows.
MAX_REQUESTS = 50
_AGO = re.compile(r"([0-9]{1,6})([mhd])")
# Events that make a ticket exist.
BEGUN = ("ticket.created", "ticket.restored")
_UNITS = {"m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}


def moment_of(text: str) -> int:
    """The time (ms) of ``2026-11-25T13:00``, in UTC unless it has an offset, or of ``4h`` ago.

    Raises ValueError.
    """
    ago = _AGO.fullmatch(text)
    if ago is not None:
        moment = now_ms() - int(ago[1]) * _UNITS[ago[2]]
    else:
        time = datetime.fromisoformat(text)
        moment = round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    # An offset can exceed the range of times that can be shown.
    return min(max(moment, 0), LATEST_MS)


def end_of_now() -> int:
    """The end of a scope that takes in all so far, as an end is not included."""
    return now_ms() + 1


@dataclass(frozen=True, slots=True)
class RewindScope:
    """What one user did from ``since`` until before ``until`` (ms).

    If set, limited to the project and to the request ids.
    """

    user_id: str
    since: int
    until: int
    project_id: str | None = None
    request_ids: tuple[str, ...] = ()

    @classmethod
    def of_requests(cls, user_id: str, request_ids: Iterable[str]) -> "RewindScope":
        """What a user did in these requests, at any time."""
        chosen = tuple(sorted(set(request_ids)))
        start = min((created_ms(one) for one in chosen), default=0)
        return cls(user_id, min(start, LATEST_MS - 1), LATEST_MS, None, chosen)

    def condition(self) -> ColumnElement[bool]:
        """The condition for events of the scope; never null, so that it can be negated."""
        parts = [
            func.coalesce(AuditEvent.actor_user_id == self.user_id, False),
            AuditEvent.created_at >= self.since,
            AuditEvent.created_at < self.until,
        ]
        if self.project_id is not None:
            parts.append(func.coalesce(AuditEvent.project_id == self.project_id, False))
        if self.request_ids:
            parts.append(func.coalesce(AuditEvent.request_id.in_(self.request_ids), False))
        return and_(*parts)

    def others(self) -> ColumnElement[bool]:
        return not_(self.condition())

    def _candidates(self, types: Sequence[str]) -> ColumnElement[bool]:
        # Repeats a part of the condition in a form that an index serves.
        by_user = AuditEvent.actor_user_id == self.user_id
        return and_(by_user, self.condition(), AuditEvent.event_type.in_(types))

    def events(
        self, types: Sequence[str], limit: int, *, beyond: str | None = None
    ) -> Sequence[AuditEvent]:
        """The newest events of these types, older than the event ``beyond``."""
        statement = select(AuditEvent).where(self._candidates(types))
        if beyond is not None:
            moment = created_ms(beyond)
            older = and_(AuditEvent.created_at == moment, AuditEvent.id < beyond)
            statement = statement.where(
                AuditEvent.created_at <= moment, or_(AuditEvent.created_at < moment, older)
            )
        newest_first = (AuditEvent.created_at.desc(), AuditEvent.id.desc())
        return session.scalars(statement.order_by(*newest_first).limit(limit)).all()

    def begun_after(self, event: AuditEvent, ticket_id: str) -> AuditEvent | None:
        """The creation of a ticket after an event, or else its restore, if in the scope."""
        later = and_(AuditEvent.ticket_id == ticket_id, AuditEvent.id > event.id)
        first = AuditEvent.event_type, AuditEvent.id.desc()
        found = select(AuditEvent).where(self._candidates(BEGUN), later).order_by(*first)
        return session.scalars(found.limit(1)).first()

    def deletion_before(self, event: AuditEvent, ticket_id: str | None = None) -> AuditEvent | None:
        """The last deletion before an event, if it is in the scope.

        It is the deletion of the ticket with this id, or else of the event's subject.
        """
        kind = "ticket" if ticket_id else event.event_type.partition(".")[0]
        parts: list[ColumnElement[bool] | TextClause] = [
            AuditEvent.event_type == f"{kind}.deleted",
            AuditEvent.created_at <= event.created_at,
            AuditEvent.id < event.id,
        ]
        if kind == "wiki":
            parts += [AuditEvent.target_id == event.target_id, HAS_INDEXED_TARGET]
        else:
            parts.append(AuditEvent.ticket_id == (ticket_id or event.ticket_id))
        if kind == "comment":
            comment_id = AuditEvent.payload["comment_id"].as_string()
            parts.append(comment_id == event.payload["comment_id"])
        found = _newest(and_(*parts))
        return found if found is not None and self.holding([found.id]) else None

    def count(self, types: Sequence[str], limit: int) -> int:
        """The number of its events of these types, at most ``limit``."""
        found = select(AuditEvent.id).where(self._candidates(types)).limit(limit).subquery()
        return session.scalar(select(func.count()).select_from(found)) or 0

    def holding(self, event_ids: Sequence[str]) -> set[str]:
        """The ids of those events that are in the scope."""
        found = select(AuditEvent.id).where(AuditEvent.id.in_(event_ids), self.condition())
        return set(session.scalars(found))


def _newest(condition: ColumnElement[bool]) -> AuditEvent | None:
    newest_first = (AuditEvent.created_at.desc(), AuditEvent.id.desc())
    return session.scalars(
        select(AuditEvent).where(condition).order_by(*newest_first).limit(1)
    ).first()
