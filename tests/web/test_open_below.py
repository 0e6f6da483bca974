"""Closing or deleting a ticket says what happens to its children, wherever it is done."""

import pytest

STILL = "1 subticket is still open"


@pytest.fixture
def story(make):
    """OPEN-1 with one child, OPEN-2."""
    made = make("A story")
    make("A part", type="subtask", parent_ticket_id=made["id"])
    return made


def test_a_card_moved_to_done(ada, story, states):
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, state_id=states["Done"])
    assert f"OPEN-1 moved to Done. {STILL}" in answer.text
    assert "data-undo" in answer.text
    # A card that stays in its column, or is reopened, has no such message.
    again = ada.post("/tickets/OPEN-1/move", htmx=True, state_id=states["Done"])
    assert STILL not in again.text
    back = ada.post("/tickets/OPEN-1/move", htmx=True, state_id=states["To do"])
    assert STILL not in back.text


def test_a_card_whose_children_are_done(ada, story, states):
    ada.post("/tickets/OPEN-2/move", htmx=True, state_id=states["Done"])
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, state_id=states["Done"])
    assert "moved to Done" in answer.text
    assert "subticket" not in answer.text


def test_the_sheet_says_it_before(ada, story):
    assert "1 subticket is open" in ada.get("/tickets/OPEN-1/move").text
    assert "subticket" not in ada.get("/tickets/OPEN-2/move").text


def test_the_state_on_the_page(ada, story, states):
    sent = {"value": states["Done"], "seen": story["state_id"]}
    answer = ada.post("/tickets/OPEN-1/fields/state", htmx=True, **sent)
    assert STILL in answer.text
    assert "/undo" in answer.text


def test_a_comment_that_moves(ada, story, states):
    sent = {"body": "Done.", "state_id": states["Done"]}
    assert STILL in ada.post("/tickets/OPEN-1/comments", htmx=True, **sent).text


def test_many_at_once(ada, make, story, states):
    other = make("Another story")
    sent = {"action": "change", "place": states["Done"], "id": [story["id"], other["id"]]}
    assert (
        "2 changed. 1 subticket is still open" in ada.post("/tickets/bulk", htmx=True, **sent).text
    )


def test_deleting_says_what_stays(ada, story):
    sheet = ada.post("/tickets/bulk", action="delete", id=[story["id"]])
    assert "1 subticket is kept." in sheet.text
    gone = ada.post("/tickets/OPEN-1/delete")
    left = ada.get(gone.location)
    assert left.status_code == 410
    assert "This subticket was not deleted." in left.text
    assert "Restore OPEN-1" in left.text
