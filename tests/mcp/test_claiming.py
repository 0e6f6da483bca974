"""Getting work: ``update_ticket`` with the ticket ``next``, and changes that do not collide."""

import pytest

from tests.support.agent import Agent
from tests.support.cast import Cast
from tests.support.story import events, make_label, make_ticket, ok, state_ids


def claim(agent: Agent, **arguments):
    return agent.call("update_ticket", ticket="next", assignee="me", **arguments)


def test_next_claims_the_first_ready_ticket_by_rank(smith: Agent, cast: Cast, ada, app):
    make_ticket(ada, cast.open_project, priority="low")
    done = state_ids(ada, cast.open_project)[-1]
    make_ticket(ada, cast.open_project, priority="urgent", state_id=done)
    make_ticket(ada, cast.open_project, priority="urgent", type="epic")
    make_ticket(ada, cast.open_project, priority="urgent", assignee_user_id=cast.bo.user_id)
    make_ticket(ada, cast.open_project, priority="high")
    ok(ada.post("/tickets/OPEN-5/comments", {"body": "Mind the step."}), 201)
    got = claim(smith, state="In progress")
    assert (got["display_id"], got["assignee"]["username"]) == ("OPEN-5", "smith")
    assert got["state"]["name"] == "In progress"
    assert [comment["body"] for comment in got["comments"]] == ["Mind the step."]
    assert got["etag"]
    types = [event.event_type for event in events(app, actor_user_id=cast.smith.user_id)]
    assert types.count("ticket.assigned") == types.count("ticket.state_changed") == 1
    assert claim(smith)["display_id"] == "OPEN-1"
    nothing = claim(smith)
    assert nothing["ticket"] is None
    assert nothing["retry_after_seconds"] > 0


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        ({"project": "OPEN"}, "OPEN-1"),
        ({"type": "subtask"}, "OPEN-3"),
        ({"priority": "low"}, "OPEN-2"),
        ({"label": "Bug"}, "OPEN-2"),
    ],
)
def test_next_can_be_narrowed(smith: Agent, cast: Cast, ada, narrowed, expected):
    bug = make_label(ada, cast.open_project, "Bug")["id"]
    make_ticket(ada, cast.fenced_project, priority="urgent")
    story = make_ticket(ada, cast.open_project, priority="high")
    make_ticket(ada, cast.open_project, priority="low", label_ids=[bug])
    make_ticket(ada, cast.open_project, type="subtask", parent_ticket_id=story["id"])
    assert claim(smith, **narrowed)["display_id"] == expected


def test_next_stays_within_the_allowlist_and_a_read_bot_gets_none(fenced, scout, cast, ada):
    make_ticket(ada, cast.open_project, priority="urgent")
    make_ticket(ada, cast.fenced_project)
    assert claim(fenced)["display_id"] == "FENCED-1"
    assert claim(fenced)["ticket"] is None
    assert scout.refused("update_ticket", ticket="next")["code"] == "auth.read_only_bot"


def test_what_goes_only_with_next_and_what_does_not_is_refused(smith: Agent, cast: Cast, ada):
    make_ticket(ada, cast.open_project)
    error = smith.refused("update_ticket", ticket="OPEN-1", state="Done")
    assert "use transition_ticket" in error["message"] + str(error)
    error = smith.refused("update_ticket", ticket="next", title="New")
    assert error["code"] == "request.validation_error"
    assert ok(ada.get("/tickets/OPEN-1"))["assignee"] is None


def test_labels_are_added_and_removed_one_by_one(smith: Agent, cast: Cast, ada):
    for name in ("bug", "ui", "api"):
        make_label(ada, cast.open_project, name)
    make_ticket(ada, cast.open_project)
    smith.call("update_ticket", ticket="OPEN-1", labels=["bug"])
    smith.call("update_ticket", ticket="OPEN-1", add_labels=["ui", "bug"])
    changed = smith.call("update_ticket", ticket="OPEN-1", add_labels=["api"], remove_labels="bug")
    assert [label["name"] for label in changed["labels"]] == ["api", "ui"]
    error = smith.refused("update_ticket", ticket="OPEN-1", labels=["ui"], add_labels=["api"])
    assert error["details"] == {"field": "labels", "reason": "conflict"}
    assert "valid" in smith.refused("update_ticket", ticket="OPEN-1", add_labels=["no"])["details"]


def test_a_move_hands_the_ticket_over(smith: Agent, cast: Cast, ada):
    make_ticket(ada, cast.open_project, assignee_user_id=cast.smith.user_id)
    moved = smith.call(
        "transition_ticket",
        ticket="OPEN-1",
        state="In review",
        comment="Ready for you.",
        assignee="ada",
        expected_assignee="me",
    )
    assert (moved["state"]["name"], moved["assignee"]["username"]) == ("In review", "ada")
    error = smith.refused(
        "transition_ticket", ticket="OPEN-1", state="Done", assignee="me", expected_assignee="me"
    )
    assert error["details"]["reason"] == "assignee_mismatch"
