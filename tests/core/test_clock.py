"""Times as clients see them, versions that only increase, and following another clock."""

import time

import pytest

from app.core import clock

MS = 1_000_000


def test_a_time_is_iso_8601_in_utc_with_milliseconds():
    assert clock.iso(0) == "1970-01-01T00:00:00.000Z"
    assert clock.iso(1_795_202_638_123) == "2026-11-20T19:23:58.123Z"
    assert clock.iso(999) == "1970-01-01T00:00:00.999Z"
    assert clock.iso_or_none(None) is None


def test_a_version_grows_even_if_the_clock_does_not(monkeypatch):
    monkeypatch.setattr(clock, "now_ms", lambda: 1000)
    assert clock.next_version(None) == 1000
    assert clock.next_version(999) == 1000
    assert clock.next_version(1000) == 1001
    assert clock.next_version(5000) == 5001


@pytest.fixture
def monotonic(monkeypatch):
    """A monotonic clock that a test sets in milliseconds, while no other clock is followed yet."""

    class Monotonic:
        ms = 0

    monkeypatch.setattr(clock, "_shared", clock._SharedTime())
    monkeypatch.setattr(time, "monotonic_ns", lambda: Monotonic.ms * MS)
    monkeypatch.setattr(clock, "host_ms", lambda: 5_000)
    return Monotonic


def follow(moment, before, after):
    return clock.follow(moment * MS, before * MS, after * MS)


def test_the_clock_of_the_host_has_no_part_once_another_is_followed(monotonic, monkeypatch):
    assert clock.now_ms() == 5_000
    assert follow(20_000, 0, 0)
    assert (clock.now_ms(), clock.host_is_off_ms()) == (20_000, -15_000)
    monotonic.ms = 7
    monkeypatch.setattr(clock, "host_ms", lambda: 90_000)
    assert (clock.now_ms(), clock.host_is_off_ms()) == (20_007, 69_993)


@pytest.mark.parametrize("moment", [1_000, 4_100, 5_000, 20_000])
def test_what_the_clock_of_the_host_showed_before_does_not_hold_time_up(monotonic, moment):
    assert follow(moment, 0, 0)
    assert clock.now_ms() == moment


def test_time_is_not_ahead_after_a_slow_first_answer(monotonic):
    monotonic.ms = 3_000
    assert follow(20_000, 0, 3_000)
    assert clock.now_ms() == 20_000
    # A faster answer shows that it came at once.
    assert not follow(22_999, 2_999, 3_000)
    assert clock.now_ms() == 22_999


def test_a_slow_answer_changes_only_what_it_disproves(monotonic):
    follow(20_000, 0, 0)
    monotonic.ms = 3_000
    assert not follow(21_000, 0, 3_000)
    assert clock.now_ms() == 23_000
    follow(20_900, 900, 3_000)
    assert clock.now_ms() == 23_000
    # Even at the end of the wait, the clock was further by 100 ms.
    follow(23_100, 1_900, 3_000)
    assert clock.now_ms() == 23_100


def test_time_stands_still_where_the_clock_was_ahead_by_a_little(monotonic):
    follow(20_000, 0, 0)
    follow(19_500, 0, 0)
    assert clock.now_ms() == 20_000
    monotonic.ms = 400
    assert clock.now_ms() == 20_000
    monotonic.ms = 600
    assert clock.now_ms() == 20_100


def test_a_clock_that_was_set_back_is_followed(monotonic):
    follow(20_000, 0, 0)
    follow(10_000, 0, 0)
    assert clock.now_ms() == 10_000
