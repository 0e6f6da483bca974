"""A bot undoes its own changes."""

import pytest

from tests.support.agent import Agent
from tests.support.cast import Cast
from tests.support.story import make_label, make_ticket, ok


def updated(agent: Agent, **arguments) -> str:
    """Change OPEN-1; return the id of the only event."""
    (event_id,) = agent.call("update_ticket", ticket="OPEN-1", **arguments)["event_ids"]
    return event_id


def undo(agent: Agent, event_id: str):
    return agent.call("update_ticket", ticket="OPEN-1", undo=event_id)


@pytest.fixture
def ticket(cast: Cast, ada):
    return make_ticket(ada, cast.open_project, title="Lamp", body="Old text")


def test_a_bot_undoes_its_change_of_a_ticket_and_its_undo(smith: Agent, ada, cast, ticket):
    make_label(ada, cast.open_project, "ui")
    changed = updated(smith, title="Lamps", body="New", add_labels=["ui"], priority="low")
    back = undo(smith, changed)
    assert back["undone"] is True
    shown = ok(ada.get("/tickets/OPEN-1"))
    assert (shown["title"], shown["body"]) == ("Lamp", "Old text")
    assert (shown["priority"], shown["labels"]) == ("medium", [])
    undo(smith, back["event_ids"][0])
    assert ok(ada.get("/tickets/OPEN-1"))["title"] == "Lamps"


def test_a_move_and_a_claim_are_undone(smith: Agent, ada, ticket):
    moved = smith.call("transition_ticket", ticket="OPEN-1", state="Done", comment="Fixed.")
    assert len(moved["event_ids"]) == 1
    claimed = updated(smith, assignee="me")
    undo(smith, moved["event_ids"][0])
    undo(smith, claimed)
    shown = ok(ada.get("/tickets/OPEN-1"))
    assert (shown["state"]["name"], shown["assignee"]) == ("Backlog", None)


def test_undoing_twice_changes_nothing(smith: Agent, ticket):
    changed = updated(smith, title="Lamps")
    undo(smith, changed)
    again = undo(smith, changed)
    assert again["undone"] is False
    assert "event_ids" not in again


def test_a_value_that_changed_since_is_named_with_both_values(smith: Agent, ada, cast, ticket):
    changed = updated(smith, assignee="me")
    ok(ada.patch("/tickets/OPEN-1", {"assignee_user_id": cast.bo.user_id}))
    error = smith.refused("update_ticket", ticket="OPEN-1", undo=changed)
    assert error["code"] == "resource.conflict"
    assert error["details"] == {
        "reason": "changed_since",
        "fields": [{"field": "assignee_user_id", "now": "bo", "before": None}],
    }
    assert ok(ada.get("/tickets/OPEN-1"))["assignee"]["username"] == "bo"


def test_long_texts_of_a_conflict_are_cut(smith: Agent, ada, ticket):
    changed = updated(smith, body="short")
    ok(ada.patch("/tickets/OPEN-1", {"body": "x" * 60_000}))
    error = smith.refused("update_ticket", ticket="OPEN-1", undo=changed)
    assert error["details"]["fields"][0]["now"] == "x" * 1000 + "…"


def test_changes_of_others_are_not_undone(smith: Agent, fenced: Agent, ada, cast, ticket):
    ok(ada.patch("/tickets/OPEN-1", {"title": "Hers"}))
    hers = ok(ada.get("/audit?limit=1"))["data"][0]["id"]
    error = smith.refused("update_ticket", ticket="OPEN-1", undo=hers)
    assert error["details"]["reason"] == "not_own_change"
    assert ok(ada.get("/tickets/OPEN-1"))["title"] == "Hers"
    own = updated(smith, title="Mine")
    assert fenced.refused("update_ticket", ticket="OPEN-1", undo=own)["code"] == "auth.forbidden"


def test_an_event_of_something_else_is_not_found(smith: Agent, ada, cast, ticket):
    changed = updated(smith, title="Mine")
    make_ticket(ada, cast.open_project)
    for event_id in (changed, "none", "x\x00", ticket["id"]):
        error = smith.refused("update_ticket", ticket="OPEN-2", undo=event_id)
        assert error["code"] == "resource.not_found"
        assert "event_ids" in error["message"]


def test_undo_stands_alone(smith: Agent, ticket):
    changed = updated(smith, title="Mine")
    error = smith.refused("update_ticket", ticket="OPEN-1", undo=changed, title="Other")
    assert error["code"] == "request.validation_error"
    assert "undo takes no other arguments" in error["message"]
    error = smith.refused("update_ticket", ticket="next", undo=changed)
    assert error["code"] == "request.validation_error"


def test_a_read_bot_undoes_nothing(scout: Agent, ticket):
    error = scout.refused("update_ticket", ticket="OPEN-1", undo=ticket["id"])
    assert error["code"] == "auth.read_only_bot"


def test_a_bot_restores_the_ticket_that_it_deleted_last(smith: Agent, ada, ticket):
    smith.call("delete_ticket", ticket="OPEN-1")
    restored = smith.call("delete_ticket", ticket="OPEN-1", restore=True)
    assert restored["display_id"] == "OPEN-1"
    assert ok(ada.get("/tickets/OPEN-1"))["body"] == "Old text"
    error = smith.refused("delete_ticket", ticket="OPEN-1", restore=True)
    assert error["code"] == "resource.conflict"
    ok(ada.delete("/tickets/OPEN-1"), 204)
    error = smith.refused("delete_ticket", ticket="OPEN-1", restore=True)
    assert error["details"]["reason"] == "not_own_deletion"
    assert ada.get("/tickets/OPEN-1").status_code == 410


def test_restoring_outside_the_allowlist_is_refused(fenced: Agent, smith: Agent, ticket):
    smith.call("delete_ticket", ticket="OPEN-1")
    error = fenced.refused("delete_ticket", ticket="OPEN-1", restore=True)
    assert error["details"]["reason"] == "project_not_in_allowlist"
    error = smith.refused("delete_ticket", ticket="OPEN-1", restore=True, if_match="x")
    assert error["code"] == "request.validation_error"


def test_a_comment_is_put_back_and_restored(smith: Agent, ada, ticket):
    comment = smith.call("add_comment", ticket="OPEN-1", body="First")["id"]
    edited = smith.call("update_comment", comment=comment, body="Second")
    back = smith.call("update_comment", comment=comment, undo=edited["event_ids"][0])
    assert back["body"] == "First"
    deleted = smith.call("delete_comment", comment=comment)
    smith.call("update_comment", comment=comment, undo=deleted["event_ids"][0])
    (shown,) = ok(ada.get("/tickets/OPEN-1/comments"))["data"]
    assert (shown["body"], shown["deleted_at"]) == ("First", None)
    error = smith.refused("update_comment", comment=comment)
    assert error["code"] == "request.validation_error"
    error = smith.refused("update_comment", comment=comment, body="x", undo=comment)
    assert error["code"] == "request.validation_error"


def test_a_bot_does_not_restore_a_comment_that_a_person_deleted(smith: Agent, ada, ticket):
    comment = smith.call("add_comment", ticket="OPEN-1", body="First")["id"]
    deleted = smith.call("delete_comment", comment=comment)["event_ids"][0]
    smith.call("update_comment", comment=comment, undo=deleted)
    ok(ada.delete(f"/comments/{comment}"), 204)
    error = smith.refused("update_comment", comment=comment, undo=deleted)
    assert error["details"]["reason"] == "not_own_deletion"


def test_a_page_is_put_back_and_restored(smith: Agent, ada, cast):
    made = smith.call("create_wiki_page", project="OPEN", title="Lamps", body="One")
    changed = smith.call("update_wiki_page", page="lamps", append="Two")["event_ids"][0]
    smith.call("update_wiki_page", page="lamps", undo=changed)
    assert ok(ada.get(f"/wiki/pages/{made['id']}"))["body"] == "One"
    deleted = smith.call("delete_wiki_page", page="lamps")["event_ids"][0]
    smith.call("update_wiki_page", page="lamps", undo=deleted)
    assert ok(ada.get(f"/wiki/pages/{made['id']}"))["deleted_at"] is None
    ok(ada.delete(f"/wiki/pages/{made['id']}"), 204)
    error = smith.refused("update_wiki_page", page="lamps", undo=deleted)
    assert error["details"]["reason"] == "not_own_deletion"
