"""How the tools of bots do: calls, errors and durations over a span of time."""

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import select

from app.audit.models import ToolInvocation
from app.core.actor import Access, Actor, operation
from app.database.session import session

# The newest calls of the span; more would tell nothing else and cost seconds.
MOST_CALLS = 20_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one tool: calls, how many ended in an error, and durations in milliseconds."""

    tool: str
    calls: int
    errors: int
    p50: int
    p95: int

    @property
    def error_percent(self) -> int:
        """The share of calls that ended in an error."""
        return round(100 * self.errors / self.calls)


@operation(Access.HUMAN)
def tool_figures(actor: Actor, *, since: int) -> list[Figures]:
    """The figures of each tool that was called since then (milliseconds), the busiest first."""
    rows = session.execute(
        select(ToolInvocation.tool_name, ToolInvocation.duration_ms, ToolInvocation.result_status)
        .where(ToolInvocation.created_at >= since)
        .order_by(ToolInvocation.created_at.desc())
        .limit(MOST_CALLS)
    )
    durations: dict[str, list[int]] = defaultdict(list)
    errors: dict[str, int] = defaultdict(int)
    for row in rows:
        durations[row.tool_name].append(row.duration_ms)
        errors[row.tool_name] += row.result_status != "ok"
    found = [_figures(tool, sorted(took), errors[tool]) for tool, took in durations.items()]
    return sorted(found, key=lambda one: (-one.calls, one.tool))


def _figures(tool: str, took: list[int], errors: int) -> Figures:
    last = len(took) - 1
    return Figures(tool, len(took), errors, took[last // 2], took[round(last * 0.95)])
