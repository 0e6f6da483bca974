"""Where measurements go: nowhere, unless METRICS_TOKEN is set (app/metrics/recording.py).

Code that measures does nothing where ``measurements`` is None.
"""

from typing import Literal, Protocol

UnitOfWork = Literal["read", "write"]


class Measurements(Protocol):
    """A receiver of measurements; times are in seconds. No call raises or blocks."""

    def request(self, method: str, route: str, status: int, actor: str, took: float) -> None: ...

    def unit_of_work(self, kind: UnitOfWork, took: float) -> None: ...

    def collision(self) -> None: ...

    def writer_lock(self, waited: float) -> None: ...

    def delivery(self, status: str, took: float) -> None: ...

    def tool_call(self, tool: str, status: str, took: float) -> None: ...


# Set before workers start.
measurements: Measurements | None = None


def use(chosen: Measurements | None) -> None:
    """Send all measurements of this process to ``chosen``."""
    global measurements  # noqa: PLW0603 - one for each process
    measurements = chosen
