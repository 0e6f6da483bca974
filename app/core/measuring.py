"""Where measurements go: nowhere, unless METRICS_TOKEN is set (app/metrics/recording.py).

Each function costs one comparison where nothing is measured.
"""

import time
from typing import Literal, Protocol

UnitOfWork = Literal["read", "write"]


class Measurements(Protocol):
    """What takes measurements; times are in seconds. No call raises or waits."""

    def request(self, method: str, route: str, status: int, actor: str, took: float) -> None: ...

    def unit_of_work(self, kind: UnitOfWork, took: float) -> None: ...

    def collision(self) -> None: ...

    def writer_lock(self, waited: float) -> None: ...

    def delivery(self, status: str, took: float) -> None: ...

    def tool_call(self, tool: str, status: str, took: float) -> None: ...


# Set before workers start.
measurements: Measurements | None = None


def use(chosen: Measurements | None) -> None:
    """Have all measurements of this process go there."""
    global measurements  # noqa: PLW0603 - one for each process
    measurements = chosen


def unit_of_work(kind: UnitOfWork, started: float) -> None:
    """A unit of work ended well that began then (time.perf_counter)."""
    if measurements is not None:
        measurements.unit_of_work(kind, time.perf_counter() - started)


def collision() -> None:
    """A unit of work met another and runs again."""
    if measurements is not None:
        measurements.collision()


def writer_lock(started: float) -> None:
    """The writer lock of SQLite is taken, after waiting since then (time.perf_counter)."""
    if measurements is not None:
        measurements.writer_lock(time.perf_counter() - started)


def delivery(status: str, took: float) -> None:
    """An attempt to deliver to a webhook ended."""
    if measurements is not None:
        measurements.delivery(status, took)


def tool_call(tool: str, status: str, took: float) -> None:
    """A bot's call of a tool ended; ``status`` is ``ok`` or the code of an error."""
    if measurements is not None:
        measurements.tool_call(tool, status, took)
