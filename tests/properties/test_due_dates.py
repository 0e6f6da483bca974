"""Dates in words: what they mean, and that no input breaks the parser."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tickets.due_dates import day_meant, week_of

# A Wednesday.
NOW = date(2026, 11, 25)
DAYS = st.dates(date(1, 1, 8), date(9999, 12, 1))
LATER = st.dates(date(2000, 1, 1), date(2900, 1, 1))
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("today", "2026-11-25"),
        ("Tomorrow", "2026-11-26"),
        ("yesterday", "2026-11-24"),
        (" fri ", "2026-11-27"),
        ("Friday", "2026-11-27"),
        ("thurs", "2026-11-26"),
        # Today is a Wednesday.
        ("wed", "2026-12-02"),
        ("next fri", "2026-12-04"),
        ("next-mon", "2026-11-30"),
        ("next week", "2026-11-30"),
        ("next month", "2026-12-01"),
        ("end of month", "2026-11-30"),
        ("in 2 weeks", "2026-12-09"),
        ("in-2-weeks", "2026-12-09"),
        ("2w", "2026-12-09"),
        ("3 days", "2026-11-28"),
        ("in a month", "2026-12-25"),
        ("in 3 months", "2027-02-25"),
        ("1y", "2027-11-25"),
        ("1 dec", "2026-12-01"),
        ("dec 1", "2026-12-01"),
        ("24 November", "2027-11-24"),
        ("29 feb", "2028-02-29"),
        ("2024-02-29", "2024-02-29"),
    ],
)
def test_words_mean_a_day(words, day):
    assert day_meant(words, NOW) == date.fromisoformat(day)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "fr",
        "someday",
        "next",
        "next someday",
        "20261201",
        "2026-13-01",
        "2026-02-30",
        "31 feb",
        "0 dec",
        "in 9999 years",
        "in",
        "1",
        "in २ weeks",
        "fri fri",
        "ma 3",
    ],
)
def test_other_words_mean_none(words):
    assert day_meant(words, NOW) is None


def test_the_last_day_of_a_month_stays_the_last():
    assert day_meant("in 1 month", date(2027, 1, 31)) == date(2027, 2, 28)
    assert day_meant("in 1 month", date(2028, 1, 31)) == date(2028, 2, 29)
    assert day_meant("in 1 year", date(2028, 2, 29)) == date(2029, 2, 28)


@given(st.text(max_size=40), DAYS)
def test_any_text_means_a_day_or_none(words, now):
    found = day_meant(words, now)
    assert found is None or isinstance(found, date)


WORD = st.sampled_from(
    ["in", "next", "a", "end", "of", "fri", "may", "2", "99", "9999", "d", "weeks", "year", "month"]
)


@given(st.lists(WORD, max_size=5).map(" ".join), DAYS)
def test_any_order_of_known_words_means_a_day_or_none(words, now):
    found = day_meant(words, now)
    assert found is None or isinstance(found, date)


@given(DAYS, DAYS)
def test_a_date_means_itself_on_every_day(day, now):
    assert day_meant(day.isoformat(), now) == day


@given(LATER, st.integers(0, 999))
def test_days_and_weeks_are_counted(now, count):
    assert day_meant(f"in {count} days", now) == now + timedelta(days=count)
    assert day_meant(f"{count}w", now) == now + timedelta(weeks=count)


@given(LATER, st.integers(0, 999))
def test_months_keep_the_day_or_take_the_last(now, count):
    found = day_meant(f"in {count} months", now)
    assert (found.year * 12 + found.month) - (now.year * 12 + now.month) == count
    assert found.day == now.day or (found + timedelta(days=1)).day == 1


@given(LATER, st.integers(0, 6), st.integers(3, 9))
def test_a_weekday_is_within_the_next_seven_days_and_with_next_in_the_next_week(
    now, weekday, letters
):
    word = WEEKDAYS[weekday][:letters]
    found = day_meant(word, now)
    assert found.weekday() == weekday
    assert 1 <= (found - now).days <= 7
    sunday = week_of(now)[1]
    later = day_meant(f"next {word}", now)
    assert later.weekday() == weekday
    assert 1 <= (later - sunday).days <= 7


@given(LATER, LATER)
def test_a_day_and_a_month_are_the_next_such_date(now, day):
    found = day_meant(f"{day.day} {day:%b}", now)
    assert (found.day, found.month) == (day.day, day.month)
    assert found >= now
