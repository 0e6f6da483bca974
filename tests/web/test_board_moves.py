"""Moving cards without a browser: into columns and swimlanes, and choices made for them."""

from tests.support.cases import cases
from tests.web.cards_on_page import shown, swimlane_of


def test_carrying_a_card_into_a_swimlane_changes_the_field(ada, cast, make, label, states):
    bug, wish = label("bug"), label("wish")
    epic = make("The epic", type="epic")
    make("Carried", label_ids=[bug])
    given = {"from_state_id": states["Backlog"], "state_id": states["To do"]}

    def carry(grouping, before, after):
        sent = {"group": grouping, "from_swimlane": before, "swimlane": after, **given}
        answer = ada.post("/tickets/OPEN-2/move", htmx=True, **sent)
        assert answer.status_code == 200, answer.text
        given["from_state_id"] = states["To do"]
        assert "data-undo" in answer.text
        assert swimlane_of(answer.text, "OPEN-2") == after
        return cast.ada.get("/tickets/OPEN-2").json

    moved = carry("assignee", "none", cast.ada.user_id)
    assert (moved["state"]["name"], moved["assignee"]["username"]) == ("To do", "ada")
    assert carry("priority", "medium", "urgent")["priority"] == "urgent"
    assert carry("epic", "none", epic["id"])["parent"]["display_id"] == "OPEN-1"
    assert [one["name"] for one in carry("label", bug, wish)["labels"]] == ["wish"]
    assert carry("label", wish, "none")["labels"] == []
    assert carry("epic", epic["id"], "none")["parent"] is None
    assert carry("assignee", cast.ada.user_id, "none")["assignee"] is None


def test_a_subtask_stays_with_its_story(ada, make, states):
    epic = make("The epic", type="epic")
    story = make("A story")
    make("A part", type="subtask", parent_ticket_id=story["id"])
    answer = ada.post(
        "/tickets/OPEN-3/move",
        htmx=True,
        state_id=states["Backlog"],
        from_state_id=states["Backlog"],
        group="epic",
        from_swimlane="none",
        swimlane=epic["id"],
    )
    assert answer.status_code == 422
    assert "Move the story" in answer.text


def test_a_card_that_changed_swimlanes_meanwhile_is_left_alone(ada, cast, make, states):
    made = make("Contested")
    cast.smith.patch(f"/tickets/{made['id']}", {"priority": "low"})
    sent = {"state_id": states["Backlog"], "from_state_id": states["Backlog"], "group": "priority"}
    answer = ada.post(
        "/tickets/OPEN-1/move", htmx=True, swimlane="high", from_swimlane="medium", **sent
    )
    assert answer.status_code == 409
    assert "Smith has changed OPEN-1, <time" in answer.text
    assert swimlane_of(answer.text, "OPEN-1") == "low"
    # A change of a field that the board does not group by refuses nothing.
    cast.smith.patch(f"/tickets/{made['id']}", {"due_date": "2030-01-01"})
    answer = ada.post(
        "/tickets/OPEN-1/move", htmx=True, swimlane="high", from_swimlane="low", **sent
    )
    assert answer.status_code == 200


@cases("lane", ["high", "undefined"])
def test_a_board_from_before_an_upgrade_moves_nothing(ada, cast, make, states, lane):
    make("Still")
    answer = ada.post(
        "/tickets/OPEN-1/move",
        htmx=True,
        state_id=states["To do"],
        from_state_id=states["Backlog"],
        group="priority",
        from_lane="medium",
        lane=lane,
    )
    # Its script moves the card back and shows the toast, unless the status is 409.
    assert (answer.status_code, "data-toast" in answer.text) == (422, True)
    assert "before an upgrade. Reload the page." in answer.text
    still = cast.ada.get("/tickets/OPEN-1").json
    assert (still["state"]["name"], still["priority"]) == ("Backlog", "medium")


def test_moving_on_the_board_of_all_goes_to_the_first_state(ada, cast, make):
    make("Moved")
    sent = {"everywhere": "yes", "from_state_id": "backlog"}
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, state_id="active", **sent)
    assert answer.status_code == 200
    assert 'data-state="active"' in answer.text
    assert cast.ada.get("/tickets/OPEN-1").json["state"]["name"] == "To do"
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, state_id="done", **sent)
    assert answer.status_code == 409


@cases(
    "sent", [{}, {"state_id": "x"}, {"state_id": "done", "group": "priority", "swimlane": "mauve"}]
)
def test_moves_nowhere_are_refused(ada, make, sent):
    make("Still")
    assert ada.post("/tickets/OPEN-1/move", htmx=True, **sent).status_code == 422


# Choices for a card.


def test_picking(ada, cast, make, label):
    bug = label("bug")
    make("Picked")
    tickets = f"/projects/{cast.open_project}/tickets"
    epic = cast.ada.post(tickets, {"title": "Above", "type": "epic"}).json["display_id"]
    for name, value, words in (
        ("assignee", "me", "assigned to Ada"),
        ("priority", "urgent", "urgent priority"),
        ("labels", bug, "labels bug"),
        ("labels", "", "no labels"),
        ("assignee", "", "unassigned"),
        ("due_date", "2031-05-06", "due 6 May 2031"),
        ("due_date", "", "no due date"),
        ("parent", epic, f"parent {epic}"),
        ("parent", "", "no parent"),
    ):
        assert ada.get(f"/tickets/OPEN-1/pick/{name}").status_code == 200
        answer = ada.post(f"/tickets/OPEN-1/pick/{name}", htmx=True, value=value)
        assert answer.status_code == 200, answer.text
        assert words in answer.text
        assert shown(answer.text) == ["OPEN-1"]
    plain = ada.post("/tickets/OPEN-1/pick/priority", value="low", back="/projects/OPEN/board")
    assert plain.location == "/projects/OPEN/board"
    assert ada.get("/tickets/OPEN-1/pick/title").status_code == 404


def test_a_choice_made_from_an_old_sheet_is_refused(ada, cast, make):
    made = make("Picked")
    cast.smith.patch(f"/tickets/{made['id']}", {"priority": "low"})
    answer = ada.post("/tickets/OPEN-1/pick/priority", htmx=True, value="high", seen="medium")
    assert answer.status_code == 409
    assert cast.ada.get("/tickets/OPEN-1").json["priority"] == "low"
    assert ada.post("/tickets/OPEN-1/pick/priority", value="high", seen="medium").status_code == 422
    refused = ada.post("/tickets/OPEN-1/pick/priority", htmx=True, value="mauve")
    assert refused.status_code == 422


def test_a_move_into_a_state_that_was_deleted_is_refused_in_words(ada, cast, make, states):
    made = make("Left where it is")
    state = states["In review"]
    given = {"from_state_id": states["Backlog"], "state_id": state}
    address = f"/projects/{cast.open_project}/workflow-states/{state}"
    assert cast.ada.delete(address).status_code == 204
    said = "This state was deleted. Select another one."
    refused = [
        ada.post("/tickets/OPEN-1/move", htmx=True, **given),
        ada.post("/tickets/OPEN-1/move", **given),
        ada.post("/tickets/OPEN-1/fields/state", htmx=True, value=state),
        ada.post("/tickets/OPEN-1/comments", htmx=True, body="Done", state_id=state),
    ]
    for answer in refused:
        assert answer.status_code == 422
        assert said in answer.text
        assert "tate_id" not in answer.text.replace('name="state_id"', "")
    sent = {"id": made["id"], "action": "change", "place": state}
    bulk = ada.post("/tickets/bulk", htmx=True, project="OPEN", **sent)
    assert f"({said.rstrip('.')})" in bulk.text
    # Clients of REST read the name of their field.
    told = cast.ada.post("/tickets/OPEN-1/transition", {"state_id": state}).json["error"]
    assert told["message"] == "state_id must be a state of this project."
