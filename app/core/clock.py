"""The time of rows and events, and the form in which clients see times.

Internally, a time is an integer: milliseconds since the epoch. Clients see ISO 8601 in UTC with
milliseconds and ``Z``.

On SQLite the time is that of the host. On PostgreSQL it is that of the database, as ids of several
hosts must sort by time: a process measures how far that clock is ahead of its monotonic one
(``database/connect.py``), so the clock of the host has no part in it. It measures at the start of
each transaction that writes: no id that is made in one has an earlier time than its start.
"""

import re
import threading
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


# A clock that was set back by more than this is followed; by less, time stands still meanwhile.
MAX_STANDSTILL_MS = 1_000


@dataclass(slots=True)
class _SharedTime:
    # How far the clock of the database is ahead of ``time.monotonic_ns``; None: not measured.
    ahead_ns: int | None = None
    # Time does not go back behind this.
    floor_ms: int = 0


_shared = _SharedTime()
_lock = threading.Lock()
# More than this is worth a word to the operator.
HOST_MAY_BE_OFF_MS = 1_000


def now_ms() -> int:
    if _shared.ahead_ns is None:
        return host_ms()
    return max(_shared.floor_ms, (time.monotonic_ns() + _shared.ahead_ns) // 1_000_000)


def host_ms() -> int:
    """The time by the clock of the host."""
    return time.time_ns() // 1_000_000


def host_is_off_ms() -> int:
    """How far the clock of the host is ahead of the time that counts."""
    return host_ms() - now_ms()


def follow(moment: int, before: int, after: int) -> bool:
    """Let ``now_ms`` follow a clock that showed ``moment`` between two monotonic times, all in ns.

    Returns whether it followed no clock before.
    """
    at_least, at_most = moment - after, moment - before
    # Another thread's older measurement must not replace this one.
    with _lock:
        known = _shared.ahead_ns
        if known is None:
            # What the host's clock showed does not count. At least, as a reader who marks an event
            # from ahead of time as read would miss what others do until then.
            _shared.ahead_ns = at_least
            return True
        # A slow answer is no reason to change what a faster one showed.
        ahead = min(max(known, at_least), at_most)
        if ahead != known:
            now = now_ms()
            lag = now - (time.monotonic_ns() + ahead) // 1_000_000
            _shared.floor_ms = now if lag <= MAX_STANDSTILL_MS else 0
            _shared.ahead_ns = ahead
        return False


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The last millisecond of the year 9999, the latest time that ``iso`` can show.
LATEST_MS = 253_402_300_799_999


# Cached, as lists show the same times again and again.
@lru_cache(maxsize=16_384)
def iso(milliseconds: int) -> str:
    """``2026-11-20T19:23:58.123Z`` for a time in milliseconds."""
    moment = EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_day(value: str) -> bool:
    """Whether the text is a date such as ``2026-11-20``, and no other form of ISO 8601."""
    try:
        return _DAY.fullmatch(value) is not None and bool(date.fromisoformat(value))
    except ValueError:
        return False


def iso_or_none(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else iso(milliseconds)


def next_version(previous: int | None) -> int:
    """The next ``updated_at`` of a row; always greater, so that versions never share an ETag."""
    return now_ms() if previous is None else max(now_ms(), previous + 1)
