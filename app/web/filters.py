"""Template filters: the form of times, dates, numbers, people and texts.

The filters of ticket lists are in ``tickets/filters.py``.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import partial

from flask import Flask

from app.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, iso, now_ms
from app.http import current
from app.web import messages
from app.web.choices import shows_exact_times
from app.web.page_cache import late

# Older times show as a date.
DAYS_COUNTED = 30
_WORD = re.compile(r"[^\W_]+")


def moment_ms(moment: int | str) -> int:
    """A time in milliseconds, from milliseconds or ISO 8601."""
    if isinstance(moment, int):
        return moment
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def iso_time(moment: int | str) -> str:
    """ISO 8601, for the attribute ``datetime``."""
    return iso(moment) if isinstance(moment, int) else moment


def utc(moment: int | str) -> str:
    """``20 Nov 2026, 21:14:03 UTC``."""
    time = datetime.fromtimestamp(moment_ms(moment) / 1000, UTC)
    return f"{time.day} {time:%b %Y, %H:%M:%S} UTC"


def ago(moment: int | str) -> str:
    """``3 min ago``, or ``20 Nov 2026, 21:14 UTC`` for readers who chose exact times.

    Cached pages fill in a relative time when they are sent.
    """
    milliseconds = moment_ms(moment)
    if shows_exact_times():
        time = datetime.fromtimestamp(milliseconds / 1000, UTC)
        return f"{time.day} {time:%b %Y, %H:%M} UTC"
    return late(partial(_relative, milliseconds))


def _relative(milliseconds: int) -> str:
    """A relative time; after DAYS_COUNTED days the date."""
    passed = now_ms() - milliseconds
    if passed < MINUTE_MS:
        return messages.JUST_NOW
    unit = MINUTE_MS if passed < HOUR_MS else HOUR_MS if passed < DAY_MS else DAY_MS
    count = passed // unit
    if unit == DAY_MS and count > DAYS_COUNTED:
        return day(iso(milliseconds)[:10])
    if unit == MINUTE_MS:
        return messages.minutes_ago(count)
    if unit == HOUR_MS:
        return messages.hours_ago(count)
    return messages.days_ago(count)


def day(value: str) -> str:
    """``1 Dec``, with the year if it is not this year."""
    parsed = date.fromisoformat(value)
    text = f"{parsed.day} {parsed:%b}"
    return text if parsed.year == current.today().year else f"{text} {parsed.year}"


def is_past(value: str) -> bool:
    """Whether a date is before today."""
    return value < current.today().isoformat()


def number(value: int) -> str:
    """``1,991``."""
    return f"{value:,}"


def initials(user: Mapping[str, str]) -> str:
    """Two letters for an avatar, without a leading word ``bot``."""
    words: list[str] = _WORD.findall(user["display_name"]) or [user["username"]]
    if len(words) > 1 and words[0].lower() == "bot":
        words = words[1:]
    return words[0][0] + words[-1][0] if len(words) > 1 else words[0][:2]


def color_class(color: str) -> str:
    """The CSS class of a color in ``assets.color_sheet``."""
    return f"c-{color.lstrip('#').lower()}"


def first_line(text: str) -> str:
    """The first line that is not blank, cut to 160 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 160 else line[:159] + "…"


def parted(text: str, display_id: str | None) -> tuple[str, str] | None:
    """The text before and after a display id; None if it does not occur."""
    match = re.search(rf"\b{re.escape(display_id)}\b", text) if display_id else None
    return (text[: match.start()], text[match.end() :]) if match else None


def install(app: Flask) -> None:
    """Register these filters for all templates."""
    for function in (
        iso_time,
        utc,
        ago,
        day,
        is_past,
        number,
        initials,
        color_class,
        first_line,
        parted,
    ):
        app.jinja_env.filters[function.__name__] = function
