"""Choosing values of a ticket's fields: new labels in place, and suggested dates and parents."""

import re
from urllib.parse import urlencode

import pytest

from tests.support.cases import cases

REF = "/tickets/OPEN-1"


@pytest.fixture
def path(ticket):
    return f"/tickets/{ticket['id']}"


def labels_of(cast, path):
    return sorted(label["name"] for label in cast.ada.get(path).json["labels"])


def test_a_label_is_created_and_added_together_with_others(ada, cast, ticket, path, label):
    other = label("other")
    bug = ticket["labels"][0]
    sent = {"seen": bug["id"], "value": [bug["id"], other], "create": "Made here"}
    assert ada.post(f"{REF}/fields/labels", htmx=True, **sent).status_code == 200
    assert labels_of(cast, path) == ["Made here", bug["name"], "other"]


def test_a_name_that_exists_in_another_case_is_that_label(ada, cast, path, label):
    label("Taken")
    sent = {"seen": "", "create": ["", "tAKEN"]}
    assert ada.post(f"{REF}/fields/labels", **sent).status_code == 303
    assert "Taken" in labels_of(cast, path)


def test_a_name_that_no_label_can_have_is_refused(ada, cast, path):
    before = labels_of(cast, path)
    page = ada.post(f"{REF}/fields/labels", htmx=True, create="x" * 201)
    assert page.status_code == 422
    assert 'class="problem"' in page.text
    assert labels_of(cast, path) == before


def test_a_refused_change_leaves_no_new_label_behind(ada, cast, ticket):
    sent = {"value": ["not-an-id"], "create": "One too many"}
    page = ada.post(f"{REF}/fields/labels", htmx=True, **sent)
    assert page.status_code == 422
    found = cast.ada.get(f"/projects/{cast.open_project}/labels?limit=200").json["data"]
    assert "One too many" not in [one["name"] for one in found]


def test_a_suggestion_counts_and_not_what_was_typed(ada, cast, path):
    sent = {"seen": "", "value": "fri", "pick": "2031-05-06"}
    assert ada.post(f"{REF}/fields/due_date", htmx=True, **sent).status_code == 200
    assert cast.ada.get(path).json["due_date"] == "2031-05-06"
    sent = {"seen": "2031-05-06", "value": "2031-05-06", "pick": ""}
    assert ada.post(f"{REF}/fields/due_date", htmx=True, **sent).status_code == 200
    assert cast.ada.get(path).json["due_date"] is None


def test_open_parents_are_suggested_first_and_the_present_one_before_them(ada, cast, path):
    tickets = f"/projects/{cast.open_project}/tickets"
    states = cast.ada.get(f"/projects/{cast.open_project}/workflow-states").json["data"]
    done = next(one["id"] for one in states if one["category"] == "done")
    for title, more in (("Old", {}), ("Open", {}), ("Finished", {"state_id": done})):
        epic = cast.ada.post(tickets, {"title": title, "type": "epic", **more}).json
        if title == "Old":
            cast.ada.patch(path, {"parent_ticket_id": epic["id"]})
    page = ada.get(f"{REF}/fields/parent", htmx=True).text
    shown = re.findall(r'class="option-text">(\w+)', page)
    assert [one for one in shown if one in ("Old", "Open", "Finished")] == [
        "Old",
        "Open",
        "Finished",
    ]


def searched(ada, path, typed):
    """The options for a parent after typing this."""
    return ada.get(f"{path}?{urlencode({'value': typed})}", htmx=True)


def titles(page):
    return re.findall(r'class="option-text">([^<]+)<', page)


def test_a_parent_is_searched_for_beyond_the_suggestions(ada, cast, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.fields.MAX_PARENTS", 1)
    epic = make("The harbor", type="epic")
    other = make("Another 100% epic", type="epic")
    make("A story of the harbor")
    there = f"/projects/{cast.fenced_project}/tickets"
    cast.ada.post(there, {"title": "A harbor elsewhere", "type": "epic"})
    story = make("A story that belongs somewhere")
    path = f"/tickets/{story['display_id']}/parents"
    assert "The harbor" not in ada.get(f"/tickets/{story['display_id']}/fields/parent").text
    for typed in ("arbo", "HARBOR", epic["display_id"], f" {epic['display_id'].lower()} "):
        page = searched(ada, path, typed).text
        assert titles(page) == ["The harbor"], typed
        assert "No parent" not in page
    assert titles(searched(ada, path, "%").text) == [other["title"]]
    page = searched(ada, path, "").text
    assert "No parent" in page
    assert titles(page) == [other["title"]]


def test_a_subtask_s_parent_is_searched_for_among_stories(ada, cast, make):
    make("The harbor", type="epic")
    story = make("Lamps of the harbor")
    gone = make("Gone from the harbor")
    cast.ada.delete(f"/tickets/{gone['id']}")
    part = make("A part", type="subtask", parent_ticket_id=story["id"])
    path = f"/tickets/{part['display_id']}/parents"
    for typed in ("harb", "lamp", story["display_id"]):
        page = searched(ada, path, typed).text
        assert titles(page) == ["Lamps of the harbor"], typed


@cases("typed", ["zeppelin", '"', "-", "x" * 600])
def test_a_search_for_a_parent_finds_nothing(ada, make, typed):
    for story in (make("One"), make("Part", type="subtask", parent_ticket_id=make("Up")["id"])):
        path = f"/tickets/{story['display_id']}/parents"
        page = searched(ada, path, typed)
        assert page.status_code == 200
        assert "No matches." in page.text or typed == "-"


def test_without_a_script_a_label_is_created_in_a_field_of_its_own(ada, ticket):
    page = ada.get(f"{REF}/fields/labels").text
    assert '<label for="new-label">New label</label>' in page
