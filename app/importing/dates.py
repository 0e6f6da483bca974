"""Parsing times and days from other trackers."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.core.clock import now_ms
from app.importing import messages

# Tried in this order, after ISO 8601. Ambiguous formats such as 6/7/2025 are missing: they need
# ``order_of`` or --date-format.
KNOWN_FORMATS = (
    "%d/%b/%y %I:%M %p",
    "%d/%b/%y %H:%M",
    "%d/%b/%Y %I:%M %p",
    "%d/%b/%Y %H:%M",
    "%d/%b/%y",
    "%d/%b/%Y",
    "%d %b %Y %H:%M",
    "%d %b %Y",
    "%b %d, %Y",
    "%a, %d %b %Y %H:%M:%S %z",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
    "%Y-%m-%d %H:%M:%S %z",
    "%Y-%m-%d %H:%M:%S UTC",
    "%a %b %d %Y %H:%M:%S GMT%z",
)
_SLASHED = re.compile(r"\s*(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
MONTHS = 12


def order_of(values: Iterable[str]) -> tuple[str, ...]:
    """The formats of times such as 6/21/2025; none if the order is ambiguous."""
    matches = [match for match in map(_SLASHED.match, values) if match]
    day_first = any(int(match.group(1)) > MONTHS for match in matches)
    month_first = any(int(match.group(2)) > MONTHS for match in matches)
    if day_first == month_first:
        return ()
    return slashed(day_first=day_first, long_year=len(matches[0].group(3)) > 2)


def slashed(*, day_first: bool, long_year: bool = True) -> tuple[str, ...]:
    """The formats of times such as 6/21/2025; the more likely year length comes first."""
    day = "%d/%m/" if day_first else "%m/%d/"
    years = ("%Y", "%y") if long_year else ("%y", "%Y")
    return tuple(f"{day}{year}{clock}" for year in years for clock in _CLOCKS)


def zone_of(name: str) -> ZoneInfo:
    """The time zone with this name; raises ValueError."""
    try:
        return ZoneInfo(name)
    # Names are looked up as files, so a folder or an overlong name is an OSError.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(messages.unknown_time_zone(name)) from error


def moment(value: str, formats: tuple[str, ...] = (), zone: tzinfo = UTC) -> int:
    """A time in milliseconds, at most now; a time without a zone is in ``zone``.

    ``formats`` are tried first. Raises ValueError if no format matches.
    """
    time = _parsed(value, formats)
    if time.tzinfo is None:
        time = time.replace(tzinfo=zone)
    return max(0, min(int(time.timestamp() * 1000), now_ms()))


def moment_or_none(value: Any) -> int | None:
    """The time in a tracker's response; None if it is null or empty."""
    return moment(str(value)) if value else None


def day(value: str, formats: tuple[str, ...] = ()) -> str:
    """A day as ``2026-11-20``; raises ValueError."""
    return _parsed(value, formats).date().isoformat()


def _parsed(value: str, formats: tuple[str, ...]) -> datetime:
    text = " ".join(value.partition(" (")[0].split())
    for format in formats:
        try:
            return datetime.strptime(text, format)  # noqa: DTZ007 - ``moment`` sets the zone
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for format in KNOWN_FORMATS:
        try:
            return datetime.strptime(text, format)  # noqa: DTZ007 - as above
        except ValueError:
            continue
    raise ValueError(messages.not_a_time(value[:40]))
