"""One change to many tickets of a list, in one request or in steps."""

import re

import pytest

from tests.support.story import ok
from tests.web.conftest import Reader
from tests.web.test_list import rows

UNKNOWN = "01900000-0000-7000-8000-000000000000"


def send(ada, htmx=True, **form):
    """Submit the bar of the list."""
    given = {"project": "OPEN", "back": "/projects/OPEN/tickets", "action": "change"}
    return ada.post("/tickets/bulk", htmx=htmx, **given | form)


def request_ids(cast, event_type):
    """The ids of the requests that recorded events of this type."""
    found = cast.ada.get(f"/audit?event_type={event_type}").json["data"]
    return [one["request_id"] for one in found]


def test_many_change_in_one_request(ada, cast, make, label, states):
    bug, wish = label("bug"), label("wish")
    made = [make(f"No. {number}", label_ids=[bug]) for number in range(3)]
    answer = send(
        ada,
        id=[one["id"] for one in made],
        place=states["In review"],
        assignee_user_id="me",
        priority="urgent",
        add_label=wish,
        remove_label=bug,
        due_date="2030-01-01",
    )
    assert answer.status_code == 200, answer.text
    assert "3 changed" in answer.text
    for one in made:
        now = cast.ada.get(f"/tickets/{one['id']}").json
        assert now["state"]["name"] == "In review"
        assert now["assignee"]["username"] == "ada"
        assert (now["priority"], now["due_date"]) == ("urgent", "2030-01-01")
        assert [each["name"] for each in now["labels"]] == ["wish"]
    # One event for each ticket, all of one request.
    for kind in ("ticket.state_changed", "ticket.assigned", "ticket.updated"):
        of_kind = request_ids(cast, kind)
        assert len(of_kind) == 3
        assert len(set(of_kind)) == 1
    undo = re.search(r'action="(/audit/requests/[\w-]+/undo)"', answer.text).group(1)
    assert undo == f"/audit/requests/{of_kind[0]}/undo"
    assert ada.post(undo, back="/projects/OPEN/tickets").status_code in (200, 303)
    for one in made:
        now = cast.ada.get(f"/tickets/{one['id']}").json
        assert (now["state"]["name"], now["priority"]) == ("Backlog", "medium")
        assert (now["assignee"], now["due_date"]) == (None, None)
        assert [each["name"] for each in now["labels"]] == ["bug"]


def by_rank(ada):
    """The numbers of OPEN's tickets in manual order."""
    return [one.partition("-")[2] for one in rows(ada.get("/projects/OPEN/tickets?sort=rank").text)]


def test_tickets_go_to_an_end_of_the_manual_order_and_keep_theirs(ada, cast, make, monkeypatch):
    # Batches of two, so that several transactions are needed.
    monkeypatch.setattr("app.tickets.pages.bulk.BATCH", 2)
    made = [make(f"No. {number}")["id"] for number in range(6)]
    ids = [made[4], made[2], made[5]]
    answer = send(ada, id=ids, action="top")
    assert "3 moved" in answer.text
    assert by_rank(ada) == ["3", "5", "6", "1", "2", "4"]
    assert "0 moved, 3 skipped (No change)" in send(ada, id=ids, action="top").text
    assert "3 moved" in send(ada, id=[made[1], made[2], made[0]], action="bottom").text
    assert by_rank(ada) == ["5", "6", "4", "3", "1", "2"]
    undo = re.search(r'action="(/audit/requests/[\w-]+/undo)"', answer.text).group(1)
    cast.ada.delete("/tickets/OPEN-3")
    ada.post(undo, back="/projects/OPEN/tickets")
    assert by_rank(ada) == ["4", "5", "6", "1", "2"]
    plain = send(ada, htmx=False, id=[made[1]], action="top")
    assert "1 moved" in plain.text


def test_tickets_of_several_projects_go_to_the_ends_of_their_own(ada, cast, make):
    here = [make(f"No. {number}")["id"] for number in range(2)]
    path = f"/projects/{cast.fenced_project}/tickets"
    there = [ok(cast.ada.post(path, {"title": "There"}), 201)["id"] for _ in range(2)]
    answer = send(ada, project="", id=[here[1], there[1]], action="top")
    assert "2 moved" in answer.text
    assert rows(ada.get("/projects/FENCED/tickets?sort=rank").text) == ["FENCED-2", "FENCED-1"]
    assert rows(ada.get("/projects/OPEN/tickets?sort=rank").text) == ["OPEN-2", "OPEN-1"]


def test_what_a_rule_forbids_is_skipped_and_said(ada, cast, make):
    epic = make("The epic", type="epic")
    story = make("A story")
    part = make("A part", type="subtask", parent_ticket_id=story["id"])
    gone = make("Gone")
    cast.ada.delete(f"/tickets/{gone['id']}")
    every = [epic["id"], story["id"], part["id"], gone["id"]]
    # A skipped ticket keeps its priority, too.
    answer = send(ada, id=every, parent="open-1", priority="low")
    assert "1 changed, 3 skipped" in answer.text
    assert "An epic cannot have a parent: 1" in answer.text
    assert cast.ada.get("/tickets/OPEN-2").json["parent"]["display_id"] == "OPEN-1"
    assert cast.ada.get("/tickets/OPEN-3").json["priority"] == "medium"
    plain = send(ada, htmx=False, id=every, parent="none")
    assert "1 changed, 3 skipped" in plain.text
    assert "OPEN-3" in plain.text
    assert "1 skipped (No change)" in send(ada, id=story["id"], priority="low").text


def test_all_that_match_are_those_of_the_filter(ada, cast, make):
    for number in range(60):
        make(f"No. {number}", priority="high" if number % 2 else "low")
    address = "/tickets/matching?project=OPEN&priority=high"
    assert ada.get(address, htmx=True).text == "30"
    answer = send(ada, all="yes", query="priority=high", priority="urgent")
    assert "30 changed" in answer.text
    found = cast.ada.get(f"/projects/{cast.open_project}/tickets?priority=urgent&limit=100")
    assert len(found.json["data"]) == 30


def test_too_many_are_refused(ada, cast, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.bulk.MAX_TICKETS", 2)
    made = [make(f"No. {number}")["id"] for number in range(3)]
    for form in ({"id": made}, {"all": "yes"}):
        answer = send(ada, priority="low", **form)
        assert answer.status_code == 422
        assert "You can change up to 2" in answer.text
    assert ada.get("/tickets/matching?project=OPEN", htmx=True).text == "3"


def steps(ada, **form):
    """Yield the response to each step of a change to all matches."""
    given = {"project": "OPEN", "query": "priority=low", "action": "change"} | form
    return walk(ada, "/tickets/bulk/step", given)


def undo_steps(ada, request_id):
    """Yield the response to each step of the undo of a whole change."""
    return walk(ada, f"/audit/requests/{request_id}/undo/step", {})


def walk(ada, address, given):
    sent = given | {"next": "", "beside": "", "run": ""}
    while sent["next"] is not None:
        answer = ok(ada.post(address, htmx=True, **sent))
        sent |= {name: answer.get(name, "") for name in ("next", "beside", "run")}
        yield answer


def test_all_that_match_are_changed_in_steps(ada, cast, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.bulk.STEP", 2)
    made = [make(f"No. {number}", priority="low")["id"] for number in range(5)]
    make("Not this one", priority="high")
    # Changed tickets no longer match, and tickets created meanwhile are not included.
    seen = []
    for answer in steps(ada, priority="urgent"):
        seen.append((answer["changed"], answer["skipped"], answer["next"]))
        make("Made meanwhile", priority="low")
    assert seen == [(2, {}, made[2]), (2, {}, made[0]), (1, {}, None)]
    found = rows(ada.get("/projects/OPEN/tickets?priority=urgent").text)
    assert found == [f"OPEN-{number}" for number in range(5, 0, -1)]
    assert len(rows(ada.get("/projects/OPEN/tickets?priority=low").text)) == 3
    assert {answer["request_id"]} == set(request_ids(cast, "ticket.updated"))


def test_one_undo_takes_all_steps_of_a_change_back(ada, cast, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.bulk.STEP", 2)
    monkeypatch.setattr("app.undo.service.STEP", 3)
    for number in range(7):
        make(f"No. {number}", priority="low")
    before = by_rank(ada)
    # The run stops after the third step.
    changing = steps(ada, place="done", priority="urgent")
    changed = [next(changing) for _ in range(3)]
    request = changed[0]["request_id"]
    assert {one["request_id"] for one in changed} == {request}
    # The whole change is one row of the audit log.
    log = ada.get("/audit").text
    assert log.count(f'action="/audit/requests/{request}/undo"') == 1
    assert "Undo all 12" in log
    assert (
        f'action="/audit/requests/{request}/undo"' in ada.get(f"/audit?request_id={request}").text
    )
    # Changes that somebody made after the run stay.
    cast.bo.patch("/tickets/OPEN-4", {"priority": "high"})
    undone = list(undo_steps(ada, request))
    assert [one["changed"] for one in undone] == [3, 2, 3, 3]
    assert undone[1]["skipped"] == {"Someone has changed this since.": 1}
    assert [one["total"] for one in undone] == [12, None, None, None]
    found = cast.ada.get(f"/projects/{cast.open_project}/tickets?limit=100").json["data"]
    assert {one["state"]["name"] for one in found} == {"Backlog"}
    assert sorted(one["priority"] for one in found) == ["high", *["low"] * 6]
    assert by_rank(ada) == before
    # The undo is one request as well, and can itself be undone.
    (undo,) = {one["request_id"] for one in undone}
    assert sum(one["changed"] for one in undo_steps(ada, undo)) == 11
    found = cast.ada.get(f"/projects/{cast.open_project}/tickets?limit=100").json["data"]
    assert sorted(one["priority"] for one in found) == ["high", "low", *["urgent"] * 5]


def test_an_undo_step_whose_answer_was_lost_is_done_once(ada, cast, make, monkeypatch):
    monkeypatch.setattr("app.undo.service.STEP", 1)
    for number in range(2):
        make(f"No. {number}", priority="low")
    (changed,) = steps(ada, priority="high")
    address = f"/audit/requests/{changed['request_id']}/undo/step"
    first = ada.post(address, htmx=True, idempotency_key="a key")
    assert ada.post(address, htmx=True, idempotency_key="a key").json == first.json
    last = ada.post(address, htmx=True, next=first.json["next"], idempotency_key="another").json
    assert (last["changed"], last["next"]) == (1, None)


def test_nobody_goes_on_with_a_change_of_another_person(app, ada, cast, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.bulk.STEP", 1)
    for number in range(2):
        make(f"No. {number}", priority="low")
    first = next(steps(ada, priority="high"))
    form = {"project": "OPEN", "query": "priority=low", "action": "change", "priority": "urgent"}
    forged, bo = first["request_id"] + "0" * 64, Reader(cast.bo.client, app)
    for person, run in (
        (bo, first["run"]),
        (ada, forged),
        (ada, first["request_id"]),
        (ada, "é"),
        (ada, ""),
    ):
        answer = ok(person.post("/tickets/bulk/step", htmx=True, **form, run=run))
        assert answer["request_id"] != first["request_id"]
    assert len(set(request_ids(cast, "ticket.updated"))) == 2


def test_a_plain_undo_goes_on_below_what_it_has_undone(ada, cast, make, monkeypatch):
    monkeypatch.setattr("app.undo.service.MAX_EVENTS", 2)
    ids = [make(f"No. {number}", priority="low")["id"] for number in range(3)]
    answer = send(ada, id=ids, priority="high")
    undo = re.search(r'action="(/audit/requests/[\w-]+/undo)"', answer.text).group(1)
    page = ada.post(undo, back="/").text
    assert "1 older event of this request is left." in " ".join(page.split())
    page = ada.post(undo, back="/", next=re.search(r'name="next" value="([^"]+)"', page)[1]).text
    assert "1 undone" in page
    assert "not undone" not in page
    assert cast.ada.get(f"/tickets/{ids[0]}").json["priority"] == "low"


@pytest.mark.parametrize(
    ("end", "expected", "changed"),
    [("top", "2 3 5 6 7 1 4", [2, 2, 1]), ("bottom", "1 4 2 3 5 6 7", [0, 1, 1])],
)
def test_all_that_match_go_to_an_end_in_steps_and_keep_their_order(
    ada, cast, make, monkeypatch, end, expected, changed
):
    monkeypatch.setattr("app.tickets.pages.bulk.STEP", 2)
    for number in range(1, 8):
        make(f"No. {number}", priority="low")
    for number in (1, 4):
        cast.ada.patch(f"/tickets/OPEN-{number}", {"priority": "high"})
    answers = list(steps(ada, action=end))
    # Steps begin at the end in question, so tickets already there stay.
    assert [one["changed"] for one in answers] == changed
    assert by_rank(ada) == expected.split()
    again = [one["skipped"] for one in steps(ada, action=end)]
    assert again == [{"No change.": 2}, {"No change.": 2}, {"No change.": 1}]


def test_steps_across_projects_go_to_the_ends_of_their_own(ada, cast, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.bulk.STEP", 2)
    path = f"/projects/{cast.fenced_project}/tickets"
    for number in range(4):
        priority = "low" if number else "high"
        make(f"No. {number}", priority=priority)
        ok(cast.ada.post(path, {"title": "There", "priority": priority}), 201)
    answers = list(steps(ada, project="", action="top"))
    assert sum(one["changed"] for one in answers) == 6
    assert by_rank(ada) == ["2", "3", "4", "1"]
    assert rows(ada.get("/projects/FENCED/tickets?sort=rank").text)[-1] == "FENCED-1"


def test_a_step_whose_answer_was_lost_is_done_once(ada, cast, make):
    made = [make(f"No. {number}", priority="low")["id"] for number in range(3)]
    form = {"project": "OPEN", "query": "", "idempotency_key": "a key", "priority": "high"}
    first = ada.post("/tickets/bulk/step", htmx=True, **form)
    assert first.json["changed"] == 3
    # The stored response is sent again, whatever happened to the tickets meanwhile.
    cast.ada.patch(f"/tickets/{made[0]}", {"priority": "urgent"})
    assert ada.post("/tickets/bulk/step", htmx=True, **form).json == first.json
    assert cast.ada.get(f"/tickets/{made[0]}").json["priority"] == "urgent"
    again = ada.post("/tickets/bulk/step", htmx=True, **form | {"idempotency_key": "another"})
    assert (again.json["changed"], again.json["skipped"]) == (1, {"No change.": 2})


def test_steps_say_what_was_skipped_and_go_on_where_nothing_changes(ada, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.bulk.STEP", 2)
    make("An epic", type="epic", priority="low")
    for number in range(2):
        make(f"No. {number}", priority="low")
    first, second = steps(ada, parent="OPEN-1")
    assert (first["changed"], first["skipped"]) == (2, {})
    assert second["changed"] == 0
    assert list(second["skipped"].values()) == [1]
    first, second = steps(ada, priority="low")
    assert first["skipped"] == {"No change.": 2}


def test_all_that_match_are_deleted_in_steps_after_a_question(ada, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.bulk.MAX_TICKETS", 2)
    monkeypatch.setattr("app.tickets.pages.bulk.STEP", 2)
    for number in range(3):
        make(f"No. {number}", priority="low")
    kept = make("Kept", priority="high")
    sheet = send(ada, all="yes", query="priority=low", action="delete")
    assert "Delete 3 tickets?" in sheet.text
    assert 'data-steps="3"' in sheet.text
    assert 'name="query" value="priority=low"' in sheet.text
    assert 'name="id"' not in sheet.text
    assert [one["changed"] for one in steps(ada, action="delete", sure="yes")] == [2, 1]
    assert rows(ada.get("/projects/OPEN/tickets").text) == [kept["display_id"]]


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({}, 422),
        ({"priority": "mauve"}, 422),
        ({"priority": "high", "query": "q=%00"}, 422),
        ({"priority": "high", "project": "NOPE"}, 404),
        ({"priority": "high", "next": "nonsense", "beside": "nonsense"}, 200),
        ({"action": "top", "next": UNKNOWN, "beside": UNKNOWN}, 200),
        ({"priority": "high", "next": UNKNOWN}, 200),
    ],
)
def test_a_step_that_makes_no_sense_says_so(ada, make, form, status):
    make("There", priority="low")
    answer = ada.post("/tickets/bulk/step", htmx=True, **{"project": "OPEN", "query": ""} | form)
    assert answer.status_code == status
    if status == 422:
        assert answer.json["problem"]


def test_deleting_asks_and_can_be_undone(ada, cast, make):
    made = [make(f"No. {number}")["id"] for number in range(2)]
    asked = send(ada, id=made, action="delete")
    assert "Delete 2 tickets?" in asked.text
    assert cast.ada.get(f"/tickets/{made[0]}").status_code == 200
    answer = send(ada, id=made, action="delete", sure="yes")
    assert "2 deleted" in answer.text
    assert cast.ada.get(f"/tickets/{made[0]}").status_code == 410
    undo = re.search(r'action="(/audit/requests/[\w-]+/undo)"', answer.text).group(1)
    ada.post(undo, back="/")
    assert cast.ada.get(f"/tickets/{made[0]}").status_code == 200


@pytest.mark.parametrize(
    "form",
    [
        {"priority": "low"},
        {"id": "nonsense", "priority": "low"},
        {"id": "ID"},
        {"id": "ID", "priority": "mauve"},
        {"id": "ID", "due_date": "tomorrow"},
        {"id": "ID", "parent": "OPEN-99"},
        {"id": "ID", "assignee_user_id": "nonsense"},
        {"id": "ID", "add_label": "nonsense"},
        {"all": "yes", "query": "q=" + "%00", "priority": "low"},
    ],
)
def test_a_bar_that_makes_no_sense_says_so(ada, make, form):
    made = make("There")
    if form.get("id") == "ID":
        form = form | {"id": made["id"]}
    assert send(ada, **form).status_code == 422
    plain = send(ada, htmx=False, **form)
    assert plain.status_code == 422
    assert "Back to the list" in plain.text


def test_unknown_places_are_skipped(ada, cast, make):
    made = make("There")
    for form in (
        {"place": "nonsense"},
        {"add_label": "01900000-0000-7000-8000-000000000000"},
        {"assignee_user_id": "01900000-0000-7000-8000-000000000000"},
    ):
        answer = send(ada, id=made["id"], priority="high", **form)
        assert "0 changed, 1 skipped" in answer.text
        # A skipped ticket is not changed in part.
        assert cast.ada.get("/tickets/OPEN-1").json["priority"] == "medium"
