"""POST /tickets/{id}/transition."""

from tests.support.cast import Cast
from tests.support.story import (
    event_types,
    events,
    invalid,
    make_ticket,
    malformed,
    ok,
    refused,
    state_ids,
)


def test_any_state_follows_any_other(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    states = state_ids(cast.ada, cast.open_project)
    for state in (states[4], states[1], states[0]):
        moved = ok(cast.smith.post("/tickets/OPEN-1/transition", {"state_id": state}))
        assert moved["state_id"] == state
    found = events(app, event_type="ticket.state_changed")
    assert found[0].payload == {
        "from_state_id": states[0],
        "from_state_name": "Backlog",
        "to_state_id": states[4],
        "to_state_name": "Done",
    }
    assert len(found) == 3


def test_a_comment_goes_with_it(cast: Cast, app) -> None:
    ticket = make_ticket(cast.ada, cast.open_project)
    states = state_ids(cast.ada, cast.open_project)
    body = {"state_id": states[1], "comment": "Starting"}
    ok(cast.smith.post("/tickets/OPEN-1/transition", body))
    (comment,) = ok(cast.ada.get("/tickets/OPEN-1/comments"))["data"]
    assert (comment["body"], comment["author"]["username"]) == ("Starting", "smith")
    found = events(app, ticket_id=ticket["id"])
    assert [event.event_type for event in found[1:]] == ["ticket.state_changed", "comment.created"]
    assert found[1].request_id == found[2].request_id


def test_to_the_same_state_only_the_comment_is_added(cast: Cast, app) -> None:
    ticket = make_ticket(cast.ada, cast.open_project)
    body = {"state_id": ticket["state_id"], "comment": "Still here"}
    same = ok(cast.ada.post("/tickets/OPEN-1/transition", body))
    assert same["updated_at"] == ticket["updated_at"]
    assert event_types(app, ticket_id=ticket["id"]) == ["ticket.created", "comment.created"]


def test_refusals_leave_nothing_behind(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    path = "/tickets/OPEN-1/transition"
    foreign = state_ids(cast.ada, cast.fenced_project)[0]
    invalid(cast.ada.post(path, {"state_id": foreign, "comment": "x"}), "state_id")
    states = state_ids(cast.ada, cast.open_project)
    invalid(cast.ada.post(path, {"state_id": states[1], "comment": "  "}), "comment", "blank")
    malformed(cast.ada.post(path, {}), ["body", "state_id"], "missing")
    malformed(
        cast.ada.post(path, {"state_id": states[1], "comment": None}),
        ["body", "comment"],
        "invalid_type",
    )
    wrong = {"state_id": states[1], "expected_assignee_user_id": cast.bo.user_id}
    refused(cast.ada.post(path, wrong), 409, "resource.conflict", reason="assignee_mismatch")
    assert event_types(app, target_kind="ticket") == ["ticket.created"]


def test_who_may_move(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    body = {"state_id": state_ids(cast.ada, cast.open_project)[1]}
    path = "/tickets/OPEN-1/transition"
    refused(cast.nobody.post(path, body), 401, "auth.unauthenticated")
    refused(cast.scout.post(path, body), 403, "auth.read_only_bot")
    refused(cast.fenced.post(path, body), 403, "auth.forbidden")
