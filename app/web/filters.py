"""How values look on pages: times, dates, numbers, people, text."""

import re
import zlib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from flask import Flask

from app.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, iso, now_ms
from app.web.choices import shows_exact_times
from app.web.page_cache import late

TONES = 8
# What is older shows its date.
DAYS_COUNTED = 30
_WORD = re.compile(r"[^\W_]+")


def moment_ms(moment: int | str) -> int:
    """A moment in milliseconds, given so or as the API writes it."""
    if isinstance(moment, int):
        return moment
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def iso_time(moment: int | str) -> str:
    """For the ``datetime`` attribute."""
    return iso(moment) if isinstance(moment, int) else moment


def utc(moment: int | str) -> str:
    """``20 Nov 2026 21:14:03 UTC``."""
    at = datetime.fromtimestamp(moment_ms(moment) / 1000, UTC)
    return f"{at.day} {at:%b %Y %H:%M:%S} UTC"


def ago(moment: int | str) -> str:
    """``3 min ago``; ``20 Nov 26, 21:14 UTC`` for who chose to see times so.

    A late value of a page that is kept.
    """
    at = moment_ms(moment)
    if shows_exact_times():
        on = datetime.fromtimestamp(at / 1000, UTC)
        return f"{on.day} {on:%b %y, %H:%M} UTC"
    return late(partial(_passed, at))


def _passed(at: int) -> str:
    """How long ago that was; the date for what is older than a month."""
    passed = now_ms() - at
    if passed < MINUTE_MS:
        return "just now"
    unit = MINUTE_MS if passed < HOUR_MS else HOUR_MS if passed < DAY_MS else DAY_MS
    many = passed // unit
    if unit == DAY_MS and many > DAYS_COUNTED:
        return day(iso(at)[:10])
    if unit == MINUTE_MS:
        return f"{many} min ago"
    if unit == HOUR_MS:
        return f"{many} h ago"
    return "yesterday" if many == 1 else f"{many} days ago"


def today() -> str:
    """Today's date, UTC."""
    return iso(now_ms())[:10]


def day(value: str) -> str:
    """``1 Dec``, with the year where it is not this one."""
    on = date.fromisoformat(value)
    text = f"{on.day} {on:%b}"
    return text if value[:4] == today()[:4] else f"{text} {on.year}"


def is_past(value: str) -> bool:
    """Whether a date lies before today."""
    return value < today()


def number(value: int) -> str:
    """``1,991``."""
    return f"{value:,}"


def initials(user: Mapping[str, str]) -> str:
    """Two letters for an avatar; a bot's leading word ``bot`` says nothing and is left out."""
    words: list[str] = _WORD.findall(user["display_name"]) or [user["username"]]
    if len(words) > 1 and words[0].lower() == "bot":
        words = words[1:]
    return words[0][0] + words[-1][0] if len(words) > 1 else words[0][:2]


def tone(user: Mapping[str, Any]) -> str:
    """The class of an avatar's colour, the same wherever this user appears."""
    return f"tone-{zlib.crc32(user['id'].encode()) % TONES}"


def color_class(color: str) -> str:
    """The class that the colour sheet defines for this colour."""
    return f"c-{color.lstrip('#').lower()}"


def first_line(text: str) -> str:
    """The first line that says something, shortened."""
    found = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return found if len(found) <= 160 else found[:159] + "…"


def parted(text: str, display_id: str | None) -> tuple[str, str] | None:
    """What stands before and after a display id in a sentence; None where it does not stand."""
    found = re.search(rf"\b{re.escape(display_id)}\b", text) if display_id else None
    return (text[: found.start()], text[found.end() :]) if found else None


def install(app: Flask) -> None:
    """Make these the filters of all templates."""
    for function in (
        iso_time,
        utc,
        ago,
        day,
        is_past,
        number,
        initials,
        tone,
        color_class,
        first_line,
        parted,
    ):
        app.jinja_env.filters[function.__name__] = function
