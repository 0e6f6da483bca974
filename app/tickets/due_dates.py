"""Days as people write them: ``fri``, ``in 2 weeks``, ``1 dec``, ``2026-12-01``."""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

from app.core.errors import InvalidField
from app.http import current
from app.tickets import messages

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MIN_WORD_LENGTH = 3
# For a day and a month without a year; February 29 occurs at least every eighth year.
_YEARS_AHEAD = 9

_NUMBERED = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_AHEAD = re.compile(r"(?:in )?(\d{1,4}|an?) ?(d|w|m|y|days?|weeks?|months?|years?)", re.ASCII)
_WEEKDAY = re.compile(r"(next )?([a-z]+)", re.ASCII)
_DAY_OF_MONTH = re.compile(
    r"(?:(?P<day>\d{1,2})\.? (?P<month>[a-z]+)|(?P<named>[a-z]+) (?P<number>\d{1,2}))", re.ASCII
)


def day_meant(words: str, from_day: date) -> date | None:
    """The day that these words mean on ``from_day``; None if they mean none.

    Hyphens may stand for spaces. A weekday is the next one after ``from_day``, or with ``next`` the
    one of the next week, which begins on Monday. A day and a month are the next such date.
    """
    words = words.strip().lower()
    try:
        if _NUMBERED.fullmatch(words):
            return date.fromisoformat(words)
        return _meant(" ".join(words.replace("-", " ").split()), from_day)
    except (OverflowError, ValueError):
        # February 30, or a day after the year 9999.
        return None


def _meant(words: str, from_day: date) -> date | None:
    if named := _NAMED.get(words):
        return named(from_day)
    if ahead := _AHEAD.fullmatch(words):
        return _ahead(from_day, ahead[1], ahead[2][0])
    if weekday := _WEEKDAY.fullmatch(words):
        return _weekday(from_day, weekday[2], in_next_week=bool(weekday[1]))
    if found := _DAY_OF_MONTH.fullmatch(words):
        number = int(found["day"] or found["number"])
        return _day_of_month(from_day, number, found["month"] or found["named"])
    return None


def iso_of(words: str, field: str) -> str | None:
    """The date that a form's field means today, None if it is blank; raises InvalidField."""
    if not words.strip():
        return None
    day = day_meant(words, current.today())
    if day is None:
        raise InvalidField(field, "not_a_day", messages.DATE_NOT_UNDERSTOOD)
    return day.isoformat()


def week_of(day: date) -> tuple[date, date]:
    """The Monday and the Sunday of the week of a day."""
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=6)


def _months_later(day: date, months: int) -> date:
    """The same day of a later month, or its last one."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    # ``monthrange`` knows years that ``date`` does not.
    return date(year, month + 1, min(day.day, monthrange(min(year, 9999), month + 1)[1]))


def _ahead(from_day: date, number: str, unit: str) -> date:
    count = int(number) if number.isdigit() else 1
    if unit == "d":
        return from_day + timedelta(days=count)
    if unit == "w":
        return from_day + timedelta(weeks=count)
    return _months_later(from_day, count * (12 if unit == "y" else 1))


def _place(names: tuple[str, ...], word: str) -> int | None:
    """The index of the name that a word abbreviates."""
    if len(word) < _MIN_WORD_LENGTH:
        return None
    return next((place for place, name in enumerate(names) if name.startswith(word)), None)


def _weekday(from_day: date, word: str, *, in_next_week: bool) -> date | None:
    weekday = _place(_DAYS, word)
    if weekday is None:
        return None
    if in_next_week:
        return week_of(from_day)[0] + timedelta(days=7 + weekday)
    return from_day + timedelta(days=(weekday - from_day.weekday() - 1) % 7 + 1)


def _day_of_month(from_day: date, number: int, word: str) -> date | None:
    month = _place(_MONTHS, word)
    if month is None:
        return None
    for year in range(from_day.year, from_day.year + _YEARS_AHEAD):
        if 1 <= number <= monthrange(year, month + 1)[1]:
            day = date(year, month + 1, number)
            if day >= from_day:
                return day
    return None


_NAMED: dict[str, Callable[[date], date]] = {
    "today": lambda day: day,
    "tomorrow": lambda day: day + timedelta(days=1),
    "yesterday": lambda day: day - timedelta(days=1),
    "next week": lambda day: week_of(day)[0] + timedelta(days=7),
    "next month": lambda day: _months_later(day.replace(day=1), 1),
    "end of month": lambda day: day.replace(day=monthrange(day.year, day.month)[1]),
}
