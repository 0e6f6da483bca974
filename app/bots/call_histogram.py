"""What bots called within a day, hour by hour, from the tool log: one statement for all of them."""

from dataclasses import dataclass, field

from sqlalchemy import bindparam, case, func, select

from app.audit.models import ToolInvocation
from app.core.actor import Access, Actor, operation
from app.core.clock import HOUR_MS, now_ms
from app.database.session import Prepared

HOURS = 24
# A bar's height in the drawing, for the busiest hour.
HEIGHT = 20
OK = "ok"

_hour = (ToolInvocation.created_at // HOUR_MS).label("hour")
_CALLS = Prepared(
    select(
        ToolInvocation.bot_user_id,
        _hour,
        func.count().label("calls"),
        func.sum(case((ToolInvocation.result_status == OK, 0), else_=1)).label("errors"),
    )
    .where(ToolInvocation.created_at >= bindparam("since"))
    .group_by(ToolInvocation.bot_user_id, _hour)
)


@dataclass(slots=True)
class Pulse:
    """The calls of one bot: how many in each hour, the present one last, and how many failed."""

    hours: list[int] = field(default_factory=lambda: [0] * HOURS)
    errors: int = 0

    @property
    def calls(self) -> int:
        """All of them."""
        return sum(self.hours)

    @property
    def bars(self) -> list[tuple[int, int]]:
        """The hours in which there was a call, each with its bar's height."""
        most = max(self.hours)
        return [
            (hour, max(2, round(calls * HEIGHT / most)))
            for hour, calls in enumerate(self.hours)
            if calls
        ]


@operation(Access.HUMAN)
def of_all(actor: Actor) -> dict[str, Pulse]:
    """The pulse of every bot that called within a day, by its id."""
    last = now_ms() // HOUR_MS
    first = last - HOURS + 1
    found: dict[str, Pulse] = {}
    for row in _CALLS.all(since=first * HOUR_MS):
        pulse = found.setdefault(row.bot_user_id, Pulse())
        # A call of this very moment can be of the next hour.
        pulse.hours[min(row.hour, last) - first] += row.calls
        pulse.errors += row.errors
    return found
