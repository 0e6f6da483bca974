"""Undo on the page of a ticket."""

import re

import pytest

from tests.web.stream_on_page import REF, events, undo


def test_undo_takes_one_click_and_marks_both_lines(ada, cast, path):
    cast.smith.patch(path, {"priority": "low"})
    event = events(cast, "ticket.updated")[0]["id"]
    assert f'action="/audit/events/{event}/undo"' in ada.get(REF).text
    answer = undo(ada, event)
    assert answer.status_code == 200
    assert answer.headers["HX-Trigger-After-Settle"] == "app:poll"
    assert cast.ada.get(path).json["priority"] == "medium"
    page = ada.get(REF).text
    assert f'action="/audit/events/{event}/undo"' not in page
    assert f'href="#event-{event}">reverts</a>' in page
    # The undo can be undone, too; after that the first event can be undone again.
    second = events(cast, "ticket.updated")[0]["id"]
    undo(ada, second)
    assert f'action="/audit/events/{event}/undo"' in ada.get(REF).text


@pytest.mark.parametrize("htmx", [True, False])
def test_undo_asks_where_someone_changed_the_same_since(ada, cast, path, htmx):
    cast.smith.patch(path, {"priority": "low", "assignee_user_id": cast.smith.user_id})
    event = events(cast, "ticket.assigned")[0]["id"]
    cast.bo.patch(path, {"assignee_user_id": cast.bo.user_id})
    answer = undo(ada, event, htmx=htmx)
    assert answer.status_code == 409
    text = " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())
    assert "Assignee (current) Bo" in text
    assert "After undo nothing" in text
    assert ("HX-Retarget" in answer.headers) == htmx
    assert cast.ada.get(path).json["assignee"]["username"] == "bo"
    undo(ada, event, htmx=htmx, force="yes")
    assert cast.ada.get(path).json["assignee"] is None


@pytest.mark.parametrize(
    ("field", "values", "shown"),
    [
        ("body", ("one two", "three four"), "<ins>"),
        ("due_date", ("2031-02-03", "2031-02-04"), "4 Feb 2031"),
        ("title", ("By the bot", "By <Bo>"), "By &lt;Bo&gt;"),
        ("priority", ("low", "urgent"), "urgent"),
    ],
)
def test_the_question_shows_values_of_every_kind(ada, cast, path, field, values, shown):
    cast.ada.patch(path, {"body": "one five", "due_date": "2031-02-01"})
    cast.smith.patch(path, {field: values[0]})
    event = events(cast, "ticket.updated")[0]["id"]
    cast.bo.patch(path, {field: values[1]})
    answer = undo(ada, event)
    assert answer.status_code == 409
    assert shown in answer.text


def test_undo_of_a_state_says_its_name(ada, cast, path):
    states = cast.ada.get(f"/projects/{cast.open_project}/workflow-states").json["data"]
    known = {one["name"]: one["id"] for one in states}
    cast.smith.post(f"{path}/transition", {"state_id": known["Done"]})
    event = events(cast, "ticket.state_changed")[0]["id"]
    cast.bo.post(f"{path}/transition", {"state_id": known["In review"]})
    text = re.sub(r"<[^>]+>", " ", undo(ada, event).text)
    assert "In review" in text
    assert "Backlog" in text


@pytest.mark.parametrize("htmx", [True, False])
def test_an_undo_that_a_rule_forbids_says_why(ada, cast, path, htmx):
    made = cast.smith.post(f"{path}/comments", {"body": "By the bot."}).json["id"]
    cast.smith.patch(f"/comments/{made}", {"body": "Still by the bot."})
    event = events(cast, "comment.updated")[0]["id"]
    answer = undo(ada, event, htmx=htmx)
    assert answer.status_code == 409
    assert "Only the author can change this comment" in answer.text
    assert undo(ada, events(cast, "project.created")[0]["id"], htmx=htmx).status_code == 409
    assert undo(ada, "none", htmx=htmx).status_code == 404


def test_a_whole_request_is_undone_and_what_was_left_is_said(ada, cast, path):
    answer = cast.smith.patch(path, {"priority": "low", "assignee_user_id": cast.smith.user_id})
    request = answer.headers["X-Request-Id"]
    cast.bo.patch(path, {"priority": "high"})
    page = ada.post(f"/audit/requests/{request}/undo", back=REF)
    assert page.status_code == 200
    assert "1 undone, 1 not undone" in page.text
    assert "Someone has changed this since." in page.text
    ticket = cast.ada.get(path).json
    assert (ticket["assignee"], ticket["priority"]) == (None, "high")
    assert ada.post(f"/audit/requests/{ticket['id']}/undo").status_code == 404


def test_addresses_of_undo_lead_nowhere_else(ada, cast, path):
    cast.smith.patch(path, {"priority": "low"})
    event = events(cast, "ticket.updated")[0]["id"]
    answer = ada.post(f"/audit/events/{event}/undo", back="https://example.org/")
    assert answer.location == "/"
