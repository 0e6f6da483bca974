"""Due dates in words: the field of a ticket, a new ticket, and what the words mean."""

from datetime import date, timedelta

import pytest

from app.core.clock import DAY_MS
from app.http import current
from tests.support.story import ok

WEDNESDAY = date(2026, 11, 25)


@pytest.fixture(autouse=True)
def _on_a_wednesday(monkeypatch):
    moment = DAY_MS * (WEDNESDAY - date(1970, 1, 1)).days
    monkeypatch.setattr(current, "now_ms", lambda: moment)


def test_a_field_takes_words(ada, cast, make):
    reference = make("Mend it")["display_id"]
    field = f"/tickets/{reference}/fields/due_date"
    assert 'placeholder="fri, in 2 weeks, 1 dec"' in ada.get(field).text
    for words, then in (("fri", "2026-11-27"), ("in 2 weeks", "2026-12-09"), ("", None)):
        seen = ok(cast.ada.get(f"/tickets/{reference}"))["due_date"] or ""
        assert ada.post(field, value=words, seen=seen).status_code == 303
        assert ok(cast.ada.get(f"/tickets/{reference}"))["due_date"] == then
    refused = ada.post(field, value="someday", seen="")
    assert refused.status_code == 422
    assert "Use a date such as fri, in 2 weeks or 2026-12-01." in refused.text
    assert 'value="someday"' in refused.text


def test_a_new_ticket_takes_words(ada, cast):
    given = {"project": "OPEN", "title": "Mend it", "type": "story"}
    made = ada.post("/tickets/new", **given, due_date="Tomorrow", idempotency_key="a")
    later = ok(cast.ada.get(made.location))["due_date"]
    assert later == (WEDNESDAY + timedelta(days=1)).isoformat()
    refused = ada.post("/tickets/new", **given, due_date="someday", parent_ticket_id="OPEN-99")
    assert refused.status_code == 422
    assert "Use a date such as" in refused.text
    assert "Ticket OPEN-99 not found." in refused.text


def test_what_words_mean_is_shown(ada):
    assert ada.get("/tickets/due?value=fri").text == "Friday, 27 Nov"
    assert ada.get("/tickets/due?due_date=2w").text == "Wednesday, 9 Dec"
    assert ada.get("/tickets/due?due_date=someday").text == "Not a valid date"
    assert ada.get("/tickets/due?due_date=").text == "Leave empty for no date"
