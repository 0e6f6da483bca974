"""Reading times and days as other trackers write them."""

import re
from collections.abc import Iterable
from datetime import UTC as _UTC
from datetime import date, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.core.clock import now_ms

# Tried in this order after ISO 8601. Days and months that could be either way round are not
# guessed, unless other times of the file show it (``order_of``): those need --date-format.
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
    """How times such as 6/21/2025 are written, where one of them shows it and none denies it."""
    found = [match for match in map(_SLASHED.match, values) if match]
    day_first = any(int(match.group(1)) > MONTHS for match in found)
    month_first = any(int(match.group(2)) > MONTHS for match in found)
    if day_first == month_first:
        return ()
    return slashed(day_first=day_first, long_year=len(found[0].group(3)) > 2)


def slashed(*, day_first: bool, long_year: bool = True) -> tuple[str, ...]:
    """Times such as 6/21/2025, with the day or the month first."""
    day = "%d/%m/" if day_first else "%m/%d/"
    years = ("%Y", "%y") if long_year else ("%y", "%Y")
    return tuple(f"{day}{year}{clock}" for year in years for clock in _CLOCKS)


def zone_of(name: str) -> ZoneInfo:
    """The time zone of this name; raises ValueError, whatever the name is."""
    try:
        return ZoneInfo(name)
    # Names are looked up as files: some are folders, too long for one, or outside of theirs.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"There is no time zone {name}.") from error


def moment(value: str, formats: tuple[str, ...] = (), zone: tzinfo = _UTC) -> int:
    """Milliseconds of a time, never in the future; a time without a zone is in ``zone``.

    ``formats`` are tried before all others. Raises ValueError where it cannot be read.
    """
    found = _parsed(value, formats)
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone)
    return max(0, min(int(found.timestamp() * 1000), now_ms()))


def day(value: str, formats: tuple[str, ...] = ()) -> str:
    """A day as ``2026-11-20``; raises ValueError."""
    found: date = _parsed(value, formats).date()
    return found.isoformat()


def _parsed(value: str, formats: tuple[str, ...]) -> datetime:
    text = " ".join(value.partition(" (")[0].split())
    for form in formats:
        try:
            return datetime.strptime(text, form)  # noqa: DTZ007 - the zone is put in by ``moment``
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in KNOWN_FORMATS:
        try:
            return datetime.strptime(text, form)  # noqa: DTZ007 - as above
        except ValueError:
            continue
    raise ValueError(f"{value[:40]!r} is no time that can be read")
