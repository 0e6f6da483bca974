"""Parsing times and days from other trackers."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.core.clock import now_ms
from app.importing import messages

# Days that are not ISO 8601, in words and marks that ``_plain`` leaves. Ambiguous days such as
# 6/7/2025 and 24.01.15 are missing: they need ``order_of`` or --date-format. Jira and spreadsheets
# write 20/Nov/24 and 20-Nov-24, day first.
_DAYS = (
    *("%d %b %Y", "%d/%b/%Y", "%d/%b/%y", "%b %d %Y"),
    *("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d"),
)
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p", "%H:%M:%S.%f")
_TIMES_OF_DAY = (*_TIMES, *(f"{time} %z" for time in _TIMES))
_WEEKDAY = re.compile(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? ", re.I)
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_MONTH = re.compile(rf"(?<![a-z])({_MONTHS})(?![a-z])\.?", re.I)
_MARKED = re.compile(r"(\d)-([a-z]{3})-(?=\d)", re.I)
# As in Mon Nov 20 10:00:00 2026, which C writes.
_YEAR_LAST = re.compile(r" (\d\d:\d\d:\d\d) (\d{4})$")
_ZONE = re.compile(r" ?\b(?:UTC|GMT)(?:([+-]\d\d:?\d\d)|$)")
_HALF = re.compile(r"(?<=\d)(?=[ap]m\b)", re.I)
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


def checked_format(format: str) -> str:
    """The format itself; raises ValueError if no time can have it."""
    example = datetime(2026, 11, 20, tzinfo=UTC)
    try:
        datetime.strptime(example.strftime(format), format)  # noqa: DTZ007 - only checked
    # A directive that stands twice is an error of the regular expression.
    except (ValueError, re.error) as error:
        raise ValueError(messages.not_a_format(format)) from error
    return format


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
    day, _, time = _plain(text).partition(" at ")
    for day_format in _DAYS:
        try:
            parsed = datetime.strptime(day, day_format)  # noqa: DTZ007 - as above
        except ValueError:
            continue
        for format in _TIMES_OF_DAY if time else ():
            try:
                clock = datetime.strptime(time, format).timetz()  # noqa: DTZ007 - as above
            except ValueError:
                continue
            return datetime.combine(parsed, clock)
        if not time:
            return parsed
    raise ValueError(messages.not_a_time(value[:40]))


def _plain(text: str) -> str:
    """A time without weekday and commas, with short months, and `` at `` before the time of day."""
    text = _WEEKDAY.sub("", text, count=1).replace(",", "")
    text = _MONTH.sub(lambda match: match[1][:3], text)
    text = _YEAR_LAST.sub(r" \2 \1", _MARKED.sub(r"\1/\2/", text))
    text = _ZONE.sub(lambda match: f" {match[1] or '+0000'}", text)
    return re.sub(r"(?: at)? (?=\d{1,2}:)", " at ", _HALF.sub(" ", text), count=1)
