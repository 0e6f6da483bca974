"""Undo of everything that one request did, and of its parts."""

from app.core.errors import Conflict
from app.undo.plans import Plan
from app.undo.service import REVERSALS, Ending

LONG = "one\n\ntwo\n"


def test_a_request_is_undone_from_its_end(world):
    fields = {"priority": "low", "assignee_user_id": world.cast.smith.user_id, "body": LONG}
    request = world.smith("PATCH", "/tickets/{t}", fields)
    outcome = world.undo_request(request)
    assert [one.event.event_type for one in outcome.undone] == ["ticket.updated", "ticket.assigned"]
    assert outcome.skipped == []
    shown = world.now()
    assert (shown["priority"], shown["assignee"], shown["body"]) == ("medium", None, "")


def test_a_request_that_made_a_ticket_and_more_of_it(world):
    made = world.cast.smith.post(f"{world.project}/tickets", {"title": "All at once"})
    world.undo_request(made.headers["X-Request-Id"])
    assert world.cast.ada.get(f"/tickets/{made.json['id']}").status_code == 410


def test_what_of_a_request_cannot_be_undone_is_said_and_the_rest_is_done(world):
    known = world.states()
    body = {"state_id": known["Done"], "comment": "Done."}
    request = world.smith("POST", "/tickets/{t}/transition", body)
    world.cast.bo.post(f"/tickets/{world.ticket}/transition", {"state_id": known["In review"]})
    outcome = world.undo_request(request)
    assert [one.event.event_type for one in outcome.undone] == ["comment.created"]
    (skipped,) = outcome.skipped
    assert (skipped.event.event_type, skipped.ending) == (
        "ticket.state_changed",
        Ending.CHANGED_SINCE,
    )
    assert world.now()["state"]["name"] == "In review"


def test_a_refusal_within_a_request_takes_nothing_else_back(world):
    """The assignment cannot be undone, as the former assignee left; the priority can."""
    path = f"/tickets/{world.ticket}"
    world.cast.ada.patch(path, {"assignee_user_id": world.cast.bo.user_id})
    request = world.smith(
        "PATCH", "/tickets/{t}", {"assignee_user_id": world.cast.smith.user_id, "priority": "low"}
    )
    world.cast.ada.patch(f"/users/{world.cast.bo.user_id}", {"is_active": False})
    outcome = world.undo_request(request)
    assert [one.event.event_type for one in outcome.undone] == ["ticket.updated"]
    assert [one.ending for one in outcome.skipped] == [Ending.REFUSED]
    assert outcome.skipped[0].message
    assert (world.now()["priority"], world.now()["assignee"]["username"]) == ("medium", "smith")


def test_a_request_of_many_events_is_undone_in_parts(world, monkeypatch):
    monkeypatch.setattr("app.undo.service.MAX_EVENTS", 1)
    fields = {"priority": "low", "assignee_user_id": world.cast.smith.user_id}
    request = world.smith("PATCH", "/tickets/{t}", fields)
    first = world.undo_request(request)
    assert (len(first.undone), first.left_out) == (1, 1)
    # A second undo continues where the first one stopped.
    second = world.undo_request(request)
    assert (len(second.undone), second.left_out) == (1, 0)
    assert (world.now()["priority"], world.now()["assignee"]) == ("medium", None)


def test_so_many_events_of_a_request_are_tried_at_once(world, monkeypatch):
    monkeypatch.setattr("app.undo.service.MAX_TRIED_EVENTS", 1)
    fields = {"priority": "low", "assignee_user_id": world.cast.smith.user_id}
    request = world.smith("PATCH", "/tickets/{t}", fields)
    world.cast.ada.patch(f"/tickets/{world.ticket}", {"assignee_user_id": world.cast.ada.user_id})
    first = world.undo_request(request)
    assert (len(first.undone) + len(first.skipped), first.left_out) == (1, 1)
    second = world.undo_request(request, beyond=first.beyond)
    assert (len(second.undone) + len(second.skipped), second.left_out) == (1, 0)
    assert [one.ending for one in [*first.skipped, *second.skipped]] == [Ending.CHANGED_SINCE]
    assert world.now()["priority"] == "medium"


def test_what_a_refused_event_wrote_before_its_refusal_is_taken_back(world, monkeypatch):
    real = REVERSALS["ticket.updated"]

    def half(actor, event):
        plan = real(actor, event)

        def act():
            plan.act()
            raise Conflict("invariant_violation", "Halfway.")

        return Plan(act)

    fields = {"priority": "low", "assignee_user_id": world.cast.smith.user_id}
    request = world.smith("PATCH", "/tickets/{t}", fields)
    monkeypatch.setitem(REVERSALS, "ticket.updated", half)
    outcome = world.undo_request(request)
    assert [one.message for one in outcome.skipped] == ["Halfway."]
    assert [one.event.event_type for one in outcome.undone] == ["ticket.assigned"]
    assert (world.now()["priority"], world.now()["assignee"]) == ("low", None)
    assert len(world.events("ticket.updated")) == 2
