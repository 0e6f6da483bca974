"""Where measurements go: nowhere, unless METRICS_TOKEN is set (app/metrics/recording.py).

Code that measures does nothing where ``measurements`` is None.
"""

from typing import Literal, Protocol

UnitOfWorkKind = Literal["read", "write"]


class Measurements(Protocol):
    """A receiver of measurements; times are in seconds. No call raises or blocks."""

    def request(self, method: str, route: str, status: int, actor: str, seconds: float) -> None: ...

    def unit_of_work(self, kind: UnitOfWorkKind, seconds: float) -> None: ...

    def collision(self) -> None: ...

    def writer_lock(self, seconds: float) -> None: ...

    def delivery(self, status: str, seconds: float) -> None: ...

    def tool_call(self, tool: str, status: str, seconds: float) -> None: ...


# Set before workers start.
measurements: Measurements | None = None


def set_receiver(receiver: Measurements | None) -> None:
    """Send all measurements of this process to ``receiver``."""
    global measurements  # noqa: PLW0603 - one for each process
    measurements = receiver
