"""Times as clients see them, and versions that only increase."""

from app.core import clock


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
