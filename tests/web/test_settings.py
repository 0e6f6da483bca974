"""The forms of a project's settings."""

import re

import pytest

from app.projects import states as workflow
from app.tickets import bulk
from tests.support.story import events

STATES = "/projects/OPEN/settings/states"
NAMES = ["Backlog", "To do", "In progress", "In review", "Done"]


@pytest.fixture
def order(cast):
    """A function that returns the names of the states of OPEN, in order."""
    path = f"/projects/{cast.open_project}/workflow-states"
    return lambda: [one["name"] for one in cast.ada.get(path).json["data"]]


@pytest.mark.parametrize(
    ("moved", "before", "then"),
    [
        ("Done", "Backlog", ["Done", *NAMES[:4]]),
        ("Backlog", "", [*NAMES[1:], "Backlog"]),
        ("To do", "In review", ["Backlog", "In progress", "To do", "In review", "Done"]),
        ("To do", "To do", NAMES),
        # The target was deleted meanwhile: the order does not change.
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


def test_a_workflow_without_a_kind_of_state_says_what_it_cannot_do(ada, states):
    assert "No state is of the category" not in ada.get(STATES).text
    form = {"name": "Done", "category": "active"}
    changed = ada.post(f"{STATES}/{states['Done']}", htmx=True, **form)
    assert "category Done, so tickets cannot be completed" in changed.text
    for name in NAMES[1:]:
        changed = ada.post(f"{STATES}/{states[name]}", htmx=True, name=name, category="done")
    assert "category Active, so tickets cannot be in progress" in changed.text
    assert "can be finished" not in changed.text


def test_a_state_that_holds_tickets_is_replaced_by_another_and_comes_back_by_undo(
    ada, cast, make, states, order
):
    todo, done = states["To do"], states["Done"]
    tickets = [make("One", state_id=todo), make("Two", state_id=todo), make("Gone", state_id=todo)]
    cast.ada.delete(f"/tickets/{tickets.pop()['id']}")

    def names():
        found = [cast.ada.get(f"/tickets/{one['id']}").json["state"] for one in tickets]
        return [one["name"] for one in found]

    assert "Move and delete To do" in ada.get(STATES).text
    moved = ada.post(f"{STATES}/{todo}/replace", htmx=True, into_state_id=done)
    assert "Tickets moved, state deleted" in moved.text
    assert names() == ["Done", "Done"]
    assert order() == ["Backlog", *NAMES[2:]]
    events = cast.ada.get("/audit?limit=3").json["data"]
    assert [one["event_type"] for one in events] == [
        "workflow_state.deleted",
        "ticket.state_changed",
        "ticket.state_changed",
    ]
    assert len({one["request_id"] for one in events}) == 1
    ada.post(f"/audit/requests/{events[0]['request_id']}/undo", straight="yes", back=STATES)
    assert names() == ["To do", "To do"]
    assert order() == NAMES


def test_replacing_a_state_that_cannot_be_is_refused_and_changes_nothing(
    ada, cast, make, states, order, monkeypatch
):
    todo = states["To do"]
    make("One", state_id=todo)
    path = f"/projects/{cast.fenced_project}/workflow-states"
    foreign = cast.ada.get(path).json["data"][0]["id"]

    def refusal(status=422, state=todo, **form):
        answer = ada.post(f"{STATES}/{state}/replace", htmx=True, **form)
        assert answer.status_code == status
        assert order() == NAMES
        return answer.text

    assert "Select a state for the tickets." in refusal()
    assert "Select a different state" in refusal(into_state_id=todo)
    assert "must be a state of this project" in refusal(into_state_id=foreign)
    refusal(404, state=foreign, into_state_id=todo)
    monkeypatch.setattr(workflow, "MAX_MOVED_TICKETS", 0)
    text = refusal(into_state_id=states["Done"])
    assert "More than 0 tickets are in To do" in text
    assert f'<a href="/projects/OPEN/tickets?state_id={todo}">Move some of them' in text


LABELS = "/projects/OPEN/settings/labels"


@pytest.fixture
def carrying(cast):
    """A function that returns the names of a ticket's labels."""

    def of(ticket):
        found = cast.ada.get(f"/tickets/{ticket['id']}").json["labels"]
        return sorted(one["name"] for one in found)

    return of


def test_a_label_is_merged_into_another_and_taken_apart_by_undo(ada, cast, make, label, carrying):
    bug, fault = label("bug"), label("fault")
    tickets = [
        make("One", label_ids=[fault]),
        make("Both", label_ids=[bug, fault]),
        make("Other", label_ids=[bug]),
        make("None"),
    ]
    merged = ada.post(f"{LABELS}/merge", htmx=True, label_id=fault, into_label_id=bug)
    assert "Labels merged" in merged.text
    assert [carrying(one) for one in tickets] == [["bug"], ["bug"], ["bug"], []]
    events = cast.ada.get("/audit?limit=2").json["data"]
    assert [one["event_type"] for one in events] == ["label.deleted", "ticket.updated"]
    assert events[0]["request_id"] == events[1]["request_id"]
    assert events[1]["payload"]["changes"]["label_ids"]["from"] == [fault]
    ada.post(f"/audit/requests/{events[0]['request_id']}/undo", straight="yes", back=LABELS)
    assert [carrying(one) for one in tickets] == [["fault"], ["bug", "fault"], ["bug"], []]


def test_a_deletion_offers_undo_where_it_can_be_undone(ada, make, label, monkeypatch):
    few, many = label("few"), label("many")
    make("One", label_ids=[few])
    for title in ("Two", "Three"):
        make(title, label_ids=[many])
    monkeypatch.setattr("app.projects.labels.MAX_NAMED_TICKETS", 1)
    answer = ada.post(f"{LABELS}/{few}/delete", htmx=True)
    assert "Label deleted" in answer.text
    assert '/undo"' in answer.text
    answer = ada.post(f"{LABELS}/{many}/delete", htmx=True)
    assert "too many to undo" in answer.text
    assert '/undo"' not in answer.text
    assert ada.post(f"{LABELS}/{few}/delete", htmx=True).status_code == 404


def test_a_merge_that_cannot_be_is_refused_and_changes_nothing(
    ada, cast, make, label, carrying, monkeypatch
):
    bug, fault = label("bug"), label("fault")
    ticket = make("One", label_ids=[fault])
    path = f"/projects/{cast.fenced_project}/labels"
    foreign = cast.ada.post(path, {"name": "foreign"}).json["id"]

    def refusal(status=422, **form):
        answer = ada.post(f"{LABELS}/merge", htmx=True, **form)
        assert answer.status_code == status
        assert carrying(ticket) == ["fault"]
        return answer.text

    assert "Select a label." in refusal(label_id=fault)
    assert "Select a different label" in refusal(label_id=fault, into_label_id=fault)
    assert "labels of this project" in refusal(label_id=fault, into_label_id=foreign)
    refusal(404, label_id=foreign, into_label_id=bug)
    monkeypatch.setattr(bulk, "MAX_RELABELED_TICKETS", 0)
    assert "More than 0 tickets have fault" in refusal(label_id=fault, into_label_id=bug)


# Rows as text, and limits.


def test_a_row_is_text_until_it_is_edited(ada, cast, states, label):
    todo, bug = states["To do"], label("bug")
    for address, part in ((STATES, todo), (LABELS, bug)):
        text = ada.get(address).text
        assert "row-name" in text or "row-edit" in text
        assert 'id="row-name"' not in text
        assert f'href="{address}?edit={part}"' in text
        edited = ada.get(f"{address}?edit={part}", htmx=True).text
        assert 'id="row-name"' in edited
        assert f'href="{address}?back={part}"' in edited
        assert "data-return" in ada.get(f"{address}?back={part}", htmx=True).text
    saved = ada.post(f"{LABELS}/{bug}", htmx=True, name="defect", color="#d1242f")
    assert "data-return" in saved.text
    assert "defect" in saved.text
    assert ada.post(f"{LABELS}/{bug}", name="bug", color="#d1242f").location == LABELS
    found = cast.ada.get(f"/projects/{cast.open_project}/labels").json["data"]
    assert [one["name"] for one in found] == ["bug"]


def _focused(shown: str) -> list[str]:
    """The names of the fields that are marked as wrong and take the focus."""
    tags = re.findall(r"<(?:input|select)[^>]*autofocus[^>]*>", shown)
    assert all('aria-invalid="true" aria-describedby="row-problem"' in tag for tag in tags)
    return re.findall(r' name="(\w+)"', "".join(tags))


def test_a_row_that_is_refused_stays_open_with_what_was_written(ada, states, order):
    form = {"name": "Done", "category": "done", "wip_limit": "4"}
    refused = ada.post(f"{STATES}/{states['To do']}", htmx=True, **form)
    assert refused.status_code == 422
    assert "A state named Done already exists." in refused.text
    assert 'value="Done"' in refused.text
    assert 'name="wip_limit" value="4"' in refused.text
    assert _focused(refused.text) == ["name"]
    of_range = "A limit must be a number from 1 to 999."
    for limit, said in (("0", of_range), ("1000", of_range), ("many", "Limit must be an integer.")):
        form = {"name": "To do", "category": "active", "wip_limit": limit}
        refused = ada.post(f"{STATES}/{states['To do']}", htmx=True, **form)
        assert refused.status_code == 422
        assert f'value="{limit}"' in refused.text
        # The message stands above all rows.
        assert f'role="alert" id="row-problem">{said}' in refused.text
        assert _focused(refused.text) == ["wip_limit"]
    assert order() == NAMES


def test_a_limit_is_saved_shown_on_the_board_and_put_back(app, ada, cast, make, states):
    todo = states["To do"]
    form = {"name": "To do", "category": "active", "wip_limit": "1"}
    assert "limit 1" in ada.post(f"{STATES}/{todo}", htmx=True, **form).text
    make("One", state_id=todo)
    assert "over-limit" not in ada.get("/projects/OPEN/board").text
    make("Two", state_id=todo)
    board = ada.get("/projects/OPEN/board").text
    assert board.count('class="column-head over-limit"') == 1
    assert "2 / 1" in board
    assert "over-limit" not in ada.get("/board").text
    event = events(app, event_type="workflow_state.updated")[-1]
    assert event.payload["changes"] == {"wip_limit": {"from": None, "to": 1}}
    ada.post(f"/audit/events/{event.id}/undo", back=STATES)
    path = f"/projects/{cast.open_project}/workflow-states"
    assert [one["wip_limit"] for one in cast.ada.get(path).json["data"]] == [None] * 5
    assert "over-limit" not in ada.get("/projects/OPEN/board").text
    ada.post(f"{STATES}/{todo}", htmx=True, **form)
    empty = ada.post(f"{STATES}/{todo}", htmx=True, **{**form, "wip_limit": ""})
    assert "at most" not in empty.text


def test_a_deleted_state_comes_back_with_its_limit(app, ada, cast):
    path = f"/projects/{cast.open_project}/workflow-states"
    made = cast.ada.post(path, {"name": "Review", "category": "active", "wip_limit": 3}).json
    assert made["wip_limit"] == 3
    ada.post(f"{STATES}/{made['id']}/delete")
    event = events(app, event_type="workflow_state.deleted")[-1]
    ada.post(f"/audit/events/{event.id}/undo", back=STATES)
    assert cast.ada.get(path).json["data"][-1]["wip_limit"] == 3
