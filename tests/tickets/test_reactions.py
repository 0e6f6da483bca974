"""/comments/{id}/reactions/{reaction}: agreement without a comment."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.cast import Caller, Cast
from tests.support.story import events, make_ticket, ok, refused, walk


@pytest.fixture
def comment(cast: Cast) -> dict[str, object]:
    make_ticket(cast.ada, cast.open_project)
    return ok(cast.ada.post("/tickets/OPEN-1/comments", {"body": "Shall we?"}), 201)


def react(caller: Caller, comment, reaction: str, method: str = "PUT"):
    return caller.call(method, f"/comments/{comment['id']}/reactions/{reaction}")


def listed(caller: Caller) -> list[tuple[str, str, int, list[str]]]:
    (comment,) = ok(caller.get("/tickets/OPEN-1/comments"))["data"]
    return [
        (one["reaction"], one["emoji"], one["count"], [user["username"] for user in one["users"]])
        for one in comment["reactions"]
    ]


def test_a_comment_names_everyone_who_reacted(cast: Cast, comment) -> None:
    ok(react(cast.smith, comment, "heart"))
    ok(react(cast.smith, comment, "thumbs_up"))
    answered = ok(react(cast.ada, comment, "thumbs_up"))
    assert listed(cast.scout) == [
        ("thumbs_up", "\U0001f44d", 2, ["smith", "ada"]),
        ("heart", "\u2764\ufe0f", 1, ["smith"]),
    ]
    (found,) = ok(cast.ada.get("/tickets/OPEN-1/comments"))["data"]
    assert answered["reactions"] == found["reactions"]
    # The comment itself is unchanged.
    assert found["updated_at"] == comment["updated_at"]


def test_reacting_twice_is_once_and_so_is_taking_it_back(cast: Cast, comment, app) -> None:
    for _ in range(2):
        ok(react(cast.smith, comment, "eyes"))
    assert listed(cast.ada) == [("eyes", "\U0001f440", 1, ["smith"])]
    # Only one's own reaction is removed.
    ok(react(cast.ada, comment, "eyes", "DELETE"), 204)
    assert listed(cast.ada) == [("eyes", "\U0001f440", 1, ["smith"])]
    for _ in range(2):
        ok(react(cast.smith, comment, "eyes", "DELETE"), 204)
    assert listed(cast.ada) == []
    found = events(app, event_type="comment.reacted")
    assert [event.payload for event in found] == [
        {"comment_id": comment["id"], "reaction": "eyes", "action": action}
        for action in ("added", "removed")
    ]
    assert {(event.category, event.target_kind) for event in found} == {("audit_only", "ticket")}
    assert {event.actor_user_id for event in found} == {cast.smith.user_id}
    activity = ok(cast.ada.get("/tickets/OPEN-1/activity"))["data"]
    assert "comment.reacted" not in {event["event_type"] for event in activity}


def test_there_are_six_reactions_and_others_are_not_found(cast: Cast, comment) -> None:
    for reaction in ("thumbs_up", "thumbs_down", "laugh", "hooray", "heart", "eyes"):
        ok(react(cast.ada, comment, reaction))
    assert len(listed(cast.ada)) == 6
    for unknown in ("rocket", "THUMBS_UP", "%F0%9F%91%8D"):
        for method in ("PUT", "DELETE"):
            refused(react(cast.ada, comment, unknown, method), 404, "resource.not_found")


def test_bots_react_only_where_they_may_write(cast: Cast, comment) -> None:
    refused(react(cast.scout, comment, "eyes"), 403, "auth.read_only_bot")
    refused(react(cast.fenced, comment, "eyes"), 403, "auth.forbidden")
    assert listed(cast.ada) == []


def test_a_deleted_comment_takes_no_reaction_and_keeps_those_it_has(cast: Cast, comment) -> None:
    ok(react(cast.smith, comment, "laugh"))
    ok(cast.ada.delete(f"/comments/{comment['id']}"), 204)
    for method in ("PUT", "DELETE"):
        refused(react(cast.smith, comment, "laugh", method), 410, "resource.gone")
    (row,) = walk(cast.ada, "/tickets/OPEN-1/comments?include_deleted=true", 5)
    assert [one["reaction"] for one in row["reactions"]] == ["laugh"]


def test_many_at_once_are_one(cast: Cast, comment) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: react(cast.smith, comment, "hooray"), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert listed(cast.ada) == [("hooray", "\U0001f389", 1, ["smith"])]
