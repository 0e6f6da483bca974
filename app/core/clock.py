"""The only place that reads the time, and the one form in which times are shown.

Times are integers everywhere inside: milliseconds since the epoch, UTC. Clients see ISO 8601 with
milliseconds and ``Z``.
"""

import time
from datetime import UTC, datetime
from functools import lru_cache

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def now_ms() -> int:
    """Wall-clock time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@lru_cache(maxsize=4096)
def _iso_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


# Lists show a hundred times each.
_ENDINGS = tuple(f".{rest:03d}Z" for rest in range(1000))


def iso(milliseconds: int) -> str:
    """``2026-11-20T19:23:58.123Z`` for a time in milliseconds."""
    second, rest = divmod(milliseconds, 1000)
    return _iso_second(second) + _ENDINGS[rest]


def iso_or_none(milliseconds: int | None) -> str | None:
    """As ``iso``, with an absent time shown as null."""
    return None if milliseconds is None else iso(milliseconds)


def next_version(previous: int | None) -> int:
    """The ``updated_at`` of the next version of a row.

    It strictly grows, so two versions of a row never share an ETag.
    """
    return now_ms() if previous is None else max(now_ms(), previous + 1)
