"""Due dates are worded by the day where the reader is."""

import pytest

from app.http import current
from tests.support.story import ok

# 03:00 on Wednesday, November 25, in UTC.
NIGHT = 1_795_575_600_000
HONOLULU, TOKYO = "-600", "540"


@pytest.fixture(autouse=True)
def _at_night(monkeypatch):
    monkeypatch.setattr(current, "now_ms", lambda: NIGHT)


@pytest.fixture
def come_from(ada):
    """A function that moves ada's browser to a time zone, or to none."""
    return lambda offset: ada.client.set_cookie(current.UTC_OFFSET, offset)


@pytest.mark.parametrize(
    ("offset", "day"),
    [
        (HONOLULU, "2026-11-24"),
        (TOKYO, "2026-11-25"),
        ("840", "2026-11-25"),
        ("-720", "2026-11-24"),
        # No offset: the day of UTC.
        *((senseless, "2026-11-25") for senseless in ("", "x", "-", "9999", "٣", "1e3", "600 ")),
    ],
)
def test_today_is_the_day_of_the_reader(ada, cast, come_from, offset, day):
    come_from(offset)
    sent = {"project": "OPEN", "title": "Mend it", "type": "story", "due_date": "today"}
    made = ada.post("/tickets/new", **sent, idempotency_key="a")
    assert ok(cast.ada.get(made.location))["due_date"] == day


def test_a_ticket_is_overdue_once_its_day_has_ended_where_the_reader_is(ada, cast, make, come_from):
    due = make("Mend it")["display_id"]
    ok(cast.ada.patch(f"/tickets/{due}", {"due_date": "2026-11-24"}))
    words = {
        f"/tickets/{due}": ">overdue</span>",
        "/projects/OPEN/board": "Overdue <",
        "/projects/OPEN/tickets": "Overdue 24 Nov",
    }
    for offset, is_overdue in ((HONOLULU, False), (TOKYO, True), (HONOLULU, False)):
        come_from(offset)
        for page, said in words.items():
            assert (said in ada.get(page).text) is is_overdue, (offset, page)
    for offset, view in ((HONOLULU, "today"), (TOKYO, "overdue")):
        come_from(offset)
        assert due in ada.get(f"/projects/OPEN/tickets?due={view}").text
