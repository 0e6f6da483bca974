"""The time of rows and events, and the form in which clients see times.

Internally, a time is an integer: milliseconds since the epoch. Clients see ISO 8601 in UTC with
milliseconds and ``Z``.
"""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def now_ms() -> int:
    return time.time_ns() // 1_000_000


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# Cached, as lists show the same times again and again.
@lru_cache(maxsize=16_384)
def iso(milliseconds: int) -> str:
    """``2026-11-20T19:23:58.123Z`` for a time in milliseconds."""
    moment = EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_or_none(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else iso(milliseconds)


def next_version(previous: int | None) -> int:
    """The next ``updated_at`` of a row; always greater, so that versions never share an ETag."""
    return now_ms() if previous is None else max(now_ms(), previous + 1)
