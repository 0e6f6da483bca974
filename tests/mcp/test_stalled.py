"""Tickets of bots that fell silent: finding them, and taking them over explicitly."""

import pytest

from app.tickets import listing, stalled_bots
from tests.support.story import events, invalid, make_ticket, ok, state_ids


@pytest.fixture
def at_once(monkeypatch):
    """A bot counts as stalled as soon as it pauses."""
    monkeypatch.setitem(stalled_bots._limits, "stalled_after_ms", 0)


@pytest.fixture
def held(cast, ada):
    """FENCED-1, held by the bot ``fenced``; the others are a person's, nobody's and done."""
    ticket = make_ticket(ada, cast.fenced_project, assignee_user_id=cast.fenced.user_id)
    make_ticket(ada, cast.fenced_project, assignee_user_id=cast.bo.user_id)
    make_ticket(ada, cast.fenced_project)
    done = state_ids(ada, cast.fenced_project)[-1]
    fields = {"assignee_user_id": cast.fenced.user_id, "state_id": done}
    make_ticket(ada, cast.fenced_project, **fields)
    return ticket


def stalled(agent):
    return agent.call("list_tickets", stalled=True)["data"]


def test_a_stalled_ticket_is_listed_with_who_and_since_when(smith, held, cast, ada, monkeypatch):
    assert stalled(smith) == []
    assert ok(ada.get("/tickets?stalled=true"))["data"] == []
    monkeypatch.setitem(stalled_bots._limits, "stalled_after_ms", 0)
    (row,) = stalled(smith)
    assert (row["display_id"], row["assignee"]["username"]) == ("FENCED-1", "fenced")
    assert row["silent_since"][:16] == row["created_at"][:16]
    (row,) = ok(ada.get("/tickets?stalled=true&sort=rank"))["data"]
    assert row["display_id"] == "FENCED-1"
    assert smith.call("list_tickets", limit=0, stalled=True) == {"total": 1}


def test_time_passes_for_a_list_that_was_asked_for_before(smith, held, monkeypatch):
    """The statements of lists are cached; the time in this condition must not be."""
    listing._filtered.cache_clear()
    assert stalled(smith) == []
    monkeypatch.setattr(stalled_bots, "now_ms", lambda now=stalled_bots.now_ms: now() + 31 * 60_000)
    assert [row["display_id"] for row in stalled(smith)] == ["FENCED-1"]


def test_taking_over_names_who_held_it_and_is_told(app, smith, held, cast, ada, at_once):
    error = smith.refused("update_ticket", ticket="FENCED-1", assignee="me")
    assert error["details"] == {"field": "expected_assignee", "reason": "required"}
    mine = {"assignee_user_id": cast.smith.user_id}
    response = cast.smith.patch("/tickets/FENCED-1", mine)
    invalid(response, "expected_assignee_user_id", "required")
    error = smith.refused(
        "update_ticket", ticket="FENCED-1", assignee="me", expected_assignee="none"
    )
    assert error["details"]["reason"] == "assignee_mismatch"
    smith.call("update_ticket", ticket="FENCED-1", assignee="me", expected_assignee="fenced")
    (event,) = events(app, event_type="ticket.assigned")
    assert event.payload["from_user_id"] == cast.fenced.user_id
    assert event.payload["assignee_user_id"] == cast.smith.user_id


def test_a_move_can_take_it_over_too(smith, held, at_once):
    take = {"ticket": "FENCED-1", "state": "In progress", "assignee": "me"}
    assert smith.refused("transition_ticket", **take)["details"]["reason"] == "required"
    moved = smith.call("transition_ticket", **take, expected_assignee="fenced")
    assert (moved["assignee"]["username"], moved["state"]["name"]) == ("smith", "In progress")


def test_people_and_busy_bots_are_not_asked(smith, held, cast, ada, monkeypatch):
    smith.call("update_ticket", ticket="FENCED-1", assignee="me")
    monkeypatch.setitem(stalled_bots._limits, "stalled_after_ms", 0)
    ok(ada.patch("/tickets/FENCED-1", {"assignee_user_id": cast.ada.user_id}))
    assert stalled(smith) == []


def test_who_held_it_is_told_and_who_has_it_is_told_what_follows(smith, fenced, cast, ada, at_once):
    make_ticket(ada, cast.fenced_project)
    fenced.call("update_ticket", ticket="next")
    fenced.call("get_self")
    smith.call("get_self")
    smith.call("update_ticket", ticket="FENCED-1", assignee="me", expected_assignee="fenced")
    (row,) = fenced.call("get_self")["news"]
    assert (row["ticket"], row["who"]) == ("FENCED-1", "smith")
    fenced.call("add_comment", ticket="FENCED-1", body="Half of it is done.")
    *_, row = smith.call("get_self")["news"]
    assert row["comment"] == "Half of it is done."
