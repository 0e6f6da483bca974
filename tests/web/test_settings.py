"""The pages of a project's settings: what their forms do."""

import pytest

STATES = "/projects/OPEN/settings/states"
NAMES = ["Backlog", "To do", "In progress", "In review", "Done"]


@pytest.fixture
def order(cast):
    """The names of the states of OPEN as they stand."""
    path = f"/projects/{cast.open_project}/workflow-states"
    return lambda: [one["name"] for one in cast.ada.get(path).json["data"]]


@pytest.mark.parametrize(
    ("moved", "before", "then"),
    [
        ("Done", "Backlog", ["Done", *NAMES[:4]]),
        ("Backlog", "", [*NAMES[1:], "Backlog"]),
        ("To do", "In review", ["Backlog", "In progress", "To do", "In review", "Done"]),
        ("To do", "To do", NAMES),
        # Deleted meanwhile: the order that is shown next is the one there is.
        ("To do", "gone", NAMES),
    ],
)
def test_a_state_is_put_before_another_one(ada, states, order, moved, before, then):
    named = states.get(before, before)
    answer = ada.post(f"{STATES}/{states[moved]}/move", htmx=True, before=named)
    assert answer.status_code == 200
    assert order() == then


@pytest.mark.parametrize(
    ("moved", "to", "then"),
    [
        ("To do", "up", ["To do", "Backlog", *NAMES[2:]]),
        ("To do", "down", ["Backlog", "In progress", "To do", *NAMES[3:]]),
        ("Backlog", "up", NAMES),
        ("Done", "down", NAMES),
    ],
)
def test_a_state_goes_up_and_down_within_the_list(ada, states, order, moved, to, then):
    assert ada.post(f"{STATES}/{states[moved]}/move", to=to).location == STATES
    assert order() == then
