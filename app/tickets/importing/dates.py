"""Reading times and days as other trackers write them."""

from datetime import UTC as _UTC
from datetime import date, datetime, tzinfo

from app.core.clock import now_ms

# Tried in this order after ISO 8601. Days and months that could be either way round are not
# guessed: those need --date-format.
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
)


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
    text = " ".join(value.split())
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
