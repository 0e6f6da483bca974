"""A create response lists open tickets with a similar title."""

import pytest

from tests.support.agent import Agent
from tests.support.story import make_ticket, ok, state_ids


@pytest.fixture(name="smith")
def _smith(cast):
    return Agent(cast.smith)


@pytest.fixture(name="similar")
def _similar(smith):
    """Return a function that creates a ticket and returns the display ids of similar ones."""

    def run(title, who=None, **fields):
        made = (who or smith).lean("create_ticket", project="OPEN", title=title, **fields)
        return [one["display_id"] for one in made.get("similar", [])]

    return run


def test_the_closest_come_first_and_others_not_at_all(cast, similar):
    for title in ("Paint the fence", "Printer on fire in room 2", "The printer is on fire"):
        make_ticket(cast.ada, cast.open_project, title)
    make_ticket(cast.ada, cast.open_project, "Unrelated", body="The printer burns, fire!")
    assert similar("Printers on fire") == ["OPEN-3", "OPEN-2"]
    assert similar("Elephant") == []
    # They share only common words.
    assert similar("Water the flowers") == []


def test_a_row_is_a_summary(cast, smith):
    first = make_ticket(cast.ada, cast.open_project, "Rotate the certificates")
    made = smith.lean("create_ticket", project="OPEN", title="Certificates: rotate them")
    assert made["similar"] == [
        {
            "display_id": first["display_id"],
            "title": "Rotate the certificates",
            "type": "story",
            "state": "Backlog",
        }
    ]
    full = smith.call("create_ticket", project="OPEN", title="Rotate all certificates")
    (_, row) = full["similar"]
    assert row["id"] == first["id"]
    assert row["state"] == first["state"]


def test_there_are_three_at_most(cast, similar):
    for _ in range(6):
        make_ticket(cast.ada, cast.open_project, "Rotate certificates")
    assert similar("Rotate certificates") == ["OPEN-6", "OPEN-5", "OPEN-4"]


def test_only_open_tickets_that_the_bot_sees_are_named(cast, similar):
    done = make_ticket(cast.ada, cast.open_project, "Rotate certificates")
    last = state_ids(cast.ada, cast.open_project)[-1]
    ok(cast.ada.post(f"/tickets/{done['id']}/transition", {"state_id": last}))
    gone = make_ticket(cast.ada, cast.open_project, "Rotate certificates")
    ok(cast.ada.delete(f"/tickets/{gone['id']}"), 204)
    make_ticket(cast.ada, cast.fenced_project, "Rotate certificates")
    assert similar("Rotate certificates") == ["FENCED-1"]
    fenced = Agent(cast.fenced)
    made = fenced.lean("create_ticket", project="FENCED", title="Rotate certificates")
    assert [one["display_id"] for one in made["similar"]] == ["FENCED-1"]


def test_tickets_of_the_same_project_come_before_others(cast, similar):
    make_ticket(cast.ada, cast.open_project, "Rotate certificates")
    make_ticket(cast.ada, cast.fenced_project, "Rotate certificates")
    assert similar("Rotate certificates") == ["OPEN-1", "FENCED-1"]


def test_neither_itself_nor_its_family_is_named(cast, smith, similar):
    plan = {"type": "epic", "children": [{"title": "Rotate certificates"}]}
    made = smith.lean("create_ticket", project="OPEN", title="Rotate certificates", **plan)
    assert "similar" not in made
    assert similar("Rotate certificates", parent="OPEN-1") == ["OPEN-2"]


def test_a_repeated_create_does_not_name_itself(smith):
    sent = {"project": "OPEN", "title": "Rotate certificates", "idempotency_key": "k"}
    first = smith.lean("create_ticket", **sent)
    assert smith.lean("create_ticket", **sent) == first
    assert "similar" not in first


@pytest.mark.parametrize("title", ["!!!", "a", "東京都庁", "w " * 99, "x" * 200])
def test_any_title_is_answered(similar, title):
    assert similar(title) == []
    assert similar(title) == ([] if title == "!!!" else ["OPEN-1"])


def test_rest_answers_them_on_request(cast):
    first = make_ticket(cast.ada, cast.open_project, "Rotate certificates")
    path, body = f"/projects/{cast.open_project}/tickets", {"title": "Rotate certificates"}
    made = ok(cast.ada.post(f"{path}?similar=true", body), 201)
    (row,) = made["similar"]
    assert set(row) == {"id", "display_id", "title", "type", "state"}
    assert row["id"] == first["id"]
    assert "similar" not in ok(cast.ada.post(path, body), 201)
    assert cast.ada.post(f"{path}?similar=perhaps", body).status_code == 422


def test_what_the_index_has_not_stored_yet_is_named(cast, similar, app):
    assert similar("Rotate certificates") == []
    assert similar("Rotate certificates") == ["OPEN-1"]
