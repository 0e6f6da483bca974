"""Undo of labels, states and sticky notes."""

import pytest

from app.audit.event_types import UNDO_OF
from app.core.actor import Actor, ActorKind
from app.core.errors import Conflict, NotFound
from app.undo.service import Ending, undo_event, undo_request
from tests.support.cast import in_app


@pytest.fixture
def wall(app, cast):
    return Wall(app, cast)


class Wall:
    """A project with labels, states and notes, and Ada, who undoes changes."""

    def __init__(self, app, cast):
        self.app, self.cast = app, cast
        self.project = f"/projects/{cast.open_project}"

    def call(self, method, path, body=None, caller=None):
        options = {} if body is None else {"json": body}
        answer = (caller or self.cast.ada).call(method, path, **options)
        assert answer.status_code < 300, answer.json
        return answer.json if answer.data else None

    def add(self, kind, **fields):
        return self.call("POST", f"{self.project}/{kind}", fields)

    def states(self):
        found = self.call("GET", f"{self.project}/workflow-states")["data"]
        return [(one["name"], one["category"]) for one in found]

    def labels(self):
        found = self.call("GET", f"{self.project}/labels")["data"]
        return {one["name"]: one["color"] for one in found}

    def notes(self, path=None):
        found = self.call("GET", f"{self.project if path is None else path}/sticky-notes")["data"]
        return [(one["body"], one["color"]) for one in found]

    def last(self, kind):
        found = self.call("GET", "/audit?limit=200")["data"]
        return next(one for one in found if one["event_type"] == kind)

    def undo(self, kind, *, force=False, who=None):
        who = who or self.cast.ada
        actor = Actor(kind=ActorKind.HUMAN, user_id=who.user_id, username=who.username)
        event_id = self.last(kind)["id"]
        return in_app(self.app, lambda: undo_event(actor, event_id, force=force))

    def undo_request(self, kind):
        ada = self.cast.ada
        actor = Actor(kind=ActorKind.HUMAN, user_id=ada.user_id, username=ada.username)
        request_id = self.last(kind)["request_id"]
        return in_app(self.app, lambda: undo_request(actor, request_id))


def test_a_label_comes_and_goes_and_gets_its_name_back(wall):
    label = wall.add("labels", name="bug", color="#d1242f")
    path = f"{wall.project}/labels/{label['id']}"
    wall.call("PATCH", path, {"name": "fault", "color": "#000000"})
    assert wall.undo("label.updated").is_done
    assert wall.labels() == {"bug": "#d1242f"}
    # The undo is a change too, and can be undone.
    assert wall.undo("label.updated").is_done
    assert wall.labels() == {"fault": "#000000"}
    asked = wall.undo("label.created")
    assert asked.ending is Ending.CHANGED_SINCE
    assert {one.field for one in asked.differences} == {"name", "color"}
    assert wall.undo("label.created", force=True).is_done
    assert wall.labels() == {}
    assert wall.last("label.deleted")["payload"][UNDO_OF] == wall.last("label.created")["id"]
    assert wall.undo("label.created").ending is Ending.NOTHING_LEFT
    with pytest.raises(NotFound):
        wall.undo("label.updated")


def test_a_deleted_label_comes_back_on_the_tickets_that_carried_it(wall):
    label, kept = wall.add("labels", name="bug", color="#d1242f"), wall.add("labels", name="ui")
    both = wall.add("tickets", title="Both", label_ids=[label["id"], kept["id"]])
    gone = wall.add("tickets", title="Deleted since", label_ids=[label["id"]])
    wall.add("tickets", title="Without it")
    wall.call("DELETE", f"{wall.project}/labels/{label['id']}")
    assert set(wall.last("label.deleted")["payload"]["ticket_ids"]) == {both["id"], gone["id"]}
    wall.call("DELETE", f"/tickets/{gone['id']}")
    assert wall.undo("label.deleted").is_done
    assert wall.labels() == {"bug": "#d1242f", "ui": kept["color"]}
    found = wall.call("GET", f"{wall.project}/tickets")["data"]
    labels = {one["title"]: {label["name"] for label in one["labels"]} for one in found}
    assert labels == {"Both": {"bug", "ui"}, "Without it": set()}
    deletion = wall.last("label.deleted")["id"]
    for kind in ("label.created", "ticket.updated"):
        assert wall.last(kind)["payload"][UNDO_OF] == deletion
    assert wall.undo("label.deleted").ending is Ending.NOTHING_LEFT


def test_a_label_that_was_made_again_takes_the_place_of_the_deleted_one(wall):
    label = wall.add("labels", name="bug")
    ticket = wall.add("tickets", title="One", label_ids=[label["id"]])
    wall.call("DELETE", f"{wall.project}/labels/{label['id']}")
    again = wall.add("labels", name="Bug")
    other = wall.add("tickets", title="Two", label_ids=[again["id"]])
    assert wall.undo("label.deleted").is_done
    for one in (ticket, other):
        shown = wall.call("GET", f"/tickets/{one['id']}")
        assert [label["id"] for label in shown["labels"]] == [again["id"]]
    assert wall.undo("label.deleted").ending is Ending.NOTHING_LEFT


def test_a_label_of_too_many_tickets_does_not_come_back(wall, monkeypatch):
    monkeypatch.setattr("app.projects.labels.MAX_NAMED_TICKETS", 1)
    label = wall.add("labels", name="bug")
    for title in ("One", "Two"):
        wall.add("tickets", title=title, label_ids=[label["id"]])
    wall.call("DELETE", f"{wall.project}/labels/{label['id']}")
    assert wall.last("label.deleted")["payload"]["ticket_ids"] is None
    with pytest.raises(Conflict, match="not recorded"):
        wall.undo("label.deleted")


def test_a_label_that_tickets_carry_is_not_deleted_unasked(wall):
    label = wall.add("labels", name="bug")
    wall.add("tickets", title="Carries it", label_ids=[label["id"]])
    (difference,) = wall.undo("label.created").differences
    assert (difference.field, difference.now) == ("tickets", 1)
    assert "bug" in wall.labels()


def test_a_name_that_is_taken_by_now_is_refused(wall):
    label = wall.add("labels", name="bug")
    wall.call("PATCH", f"{wall.project}/labels/{label['id']}", {"name": "fault"})
    wall.add("labels", name="Bug")
    with pytest.raises(Conflict):
        wall.undo("label.updated")


def test_a_state_comes_back_to_its_place(wall):
    before = wall.states()
    state = wall.add("workflow-states", name="Blocked", category="active")
    path = f"{wall.project}/workflow-states/{state['id']}"
    wall.call("PATCH", path, {"name": "Stuck", "category": "backlog"})
    assert wall.undo("workflow_state.updated").is_done
    assert wall.states() == [*before, ("Blocked", "active")]
    assert wall.undo("workflow_state.created").is_done
    assert wall.states() == before
    second = wall.call("GET", f"{wall.project}/workflow-states")["data"][1]
    wall.call("DELETE", f"{wall.project}/workflow-states/{second['id']}")
    assert wall.states() != before
    assert wall.undo("workflow_state.deleted").is_done
    assert wall.states() == before
    assert wall.undo("workflow_state.deleted").ending is Ending.NOTHING_LEFT


def reorder(wall, change):
    found = [one["id"] for one in wall.call("GET", f"{wall.project}/workflow-states")["data"]]
    path = f"{wall.project}/workflow-states/reorder"
    wall.call("POST", path, {"state_ids": change(found)})


def test_an_order_of_states_goes_back(wall):
    before = wall.states()
    reorder(wall, lambda found: found[::-1])
    assert wall.undo("workflow_state.reordered").is_done
    assert wall.states() == before
    # The undo is a reordering like any other, and can be undone.
    assert wall.undo("workflow_state.reordered").is_done
    assert wall.states() == before[::-1]


def test_an_order_of_states_that_changed_since_asks_and_keeps_newcomers(wall):
    before = wall.states()
    reorder(wall, lambda found: found[::-1])
    wall.add("workflow-states", name="Blocked", category="active")
    asked = wall.undo("workflow_state.reordered")
    assert asked.ending is Ending.CHANGED_SINCE
    assert [one.field for one in asked.differences] == ["state_ids"]
    assert wall.undo("workflow_state.reordered", force=True).is_done
    assert wall.states() == [*before, ("Blocked", "active")]


def test_a_state_with_tickets_stays(wall):
    state = wall.add("workflow-states", name="Blocked", category="active")
    wall.add("tickets", title="In it", state_id=state["id"])
    with pytest.raises(Conflict, match="This state still has tickets"):
        wall.undo("workflow_state.created")


def test_a_note_of_a_project(wall):
    note = wall.add("sticky-notes", body="One", color="#ffee00")
    path = f"/sticky-notes/{note['id']}"
    wall.call("PATCH", path, {"body": "Two"}, wall.cast.smith)
    assert wall.undo("sticky_note.updated").is_done
    assert wall.notes() == [("One", "#ffee00")]
    wall.call("PATCH", path, {"body": "Three"})
    (difference,) = wall.undo("sticky_note.created").differences
    assert (difference.field, difference.left, difference.now) == ("body", "One", "Three")
    wall.call("DELETE", path)
    assert wall.undo("sticky_note.deleted").is_done
    assert wall.notes() == [("Three", "#ffee00")]
    assert wall.undo("sticky_note.deleted").ending is Ending.NOTHING_LEFT
    # The restored note counts as a new one.
    assert wall.undo("sticky_note.created").is_done
    assert wall.notes() == []
    assert wall.undo("sticky_note.created").ending is Ending.NOTHING_LEFT


def test_a_personal_note_is_its_owners_alone(wall):
    note = wall.call("POST", "/sticky-notes", {"body": "Mine"})
    with pytest.raises(NotFound):
        wall.undo("sticky_note.created", who=wall.cast.bo)
    wall.call("PATCH", f"/sticky-notes/{note['id']}", {"body": "Still mine"})
    with pytest.raises(Conflict, match="not recorded"):
        wall.undo("sticky_note.updated")
    (difference,) = wall.undo("sticky_note.created").differences
    assert difference.now == "Still mine"
    assert wall.undo("sticky_note.created", force=True).is_done
    assert wall.notes("") == []
    with pytest.raises(Conflict, match="not recorded"):
        wall.undo("sticky_note.deleted")


def became(wall, path):
    return wall.call("POST", f"{path}/convert-to-ticket", {})


def test_a_note_that_became_a_ticket_is_a_note_again(wall):
    note = wall.add("sticky-notes", body="One", color="#ffee00")
    ticket = became(wall, f"/sticky-notes/{note['id']}")
    converted = wall.last("sticky_note.converted")["id"]
    assert wall.undo("sticky_note.converted").is_done
    assert wall.notes() == [("One", "#ffee00")]
    (fresh,) = wall.call("GET", f"{wall.project}/sticky-notes")["data"]
    assert fresh["converted_to_ticket_id"] is None
    assert wall.cast.ada.get(f"/tickets/{ticket['id']}").status_code == 410
    for kind in ("ticket.deleted", "sticky_note.created", "sticky_note.deleted"):
        assert wall.last(kind)["payload"][UNDO_OF] == converted
    assert wall.undo("sticky_note.converted").ending is Ending.NOTHING_LEFT


@pytest.mark.parametrize("is_personal", [True, False])
def test_taking_back_a_conversion_is_taken_back_by_converting_again(wall, is_personal):
    path, home = ("/sticky-notes", "") if is_personal else (f"{wall.project}/sticky-notes", None)
    note = wall.call("POST", path, {"body": "One"})
    where = {"project_id": wall.cast.open_project} if is_personal else {}
    wall.call("POST", f"/sticky-notes/{note['id']}/convert-to-ticket", where)
    wall.undo("sticky_note.converted")
    for kind in ("sticky_note.created", "sticky_note.deleted"):
        with pytest.raises(Conflict):
            wall.undo(kind)
    assert [body for body, _ in wall.notes(home)] == ["One"]


def test_a_request_that_made_a_ticket_of_a_note_is_undone_without_a_rest(wall):
    note = wall.add("sticky-notes", body="One")
    became(wall, f"/sticky-notes/{note['id']}")
    outcome = wall.undo_request("sticky_note.converted")
    assert [one.event.event_type for one in outcome.undone] == ["sticky_note.converted"]
    assert not outcome.skipped
    assert len(wall.notes()) == 1


def test_a_ticket_of_a_note_that_others_worked_on_is_not_deleted_unasked(wall):
    note = wall.add("sticky-notes", body="One")
    ticket = became(wall, f"/sticky-notes/{note['id']}")
    wall.call("POST", f"/tickets/{ticket['id']}/comments", {"body": "On it"}, wall.cast.smith)
    (difference,) = wall.undo("sticky_note.converted").differences
    assert (difference.field, difference.now) == ("since", 1)
    assert wall.call("GET", f"/tickets/{ticket['id']}")["id"] == ticket["id"]


def test_a_personal_note_that_became_a_ticket_is_its_owners_to_have_back(wall):
    note = wall.call("POST", "/sticky-notes", {"body": "Mine"})
    path = f"/sticky-notes/{note['id']}/convert-to-ticket"
    wall.call("POST", path, {"project_id": wall.cast.open_project})
    with pytest.raises(NotFound):
        wall.undo("sticky_note.converted", who=wall.cast.bo)
    assert wall.undo("sticky_note.converted").is_done
    assert wall.notes("") == [("Mine", None)]
