"""/tickets/{id}/comments and /comments/{id}."""

from tests.support.cast import Cast
from tests.support.statements import statements
from tests.support.story import (
    event_types,
    events,
    invalid,
    make_ticket,
    malformed,
    ok,
    refused,
    walk,
)


def test_a_comment_has_every_documented_field(cast: Cast, app) -> None:
    ticket = make_ticket(cast.ada, cast.open_project)
    with statements(app) as seen:
        answer = cast.smith.post("/tickets/OPEN-1/comments", {"body": " *As* sent\n"})
    # The author is known, and nobody can have reacted yet.
    assert not [one for one in seen if one.startswith("SELECT users.id") or "reactions" in one]
    comment = ok(answer, 201)
    assert comment == {
        "id": comment["id"],
        "ticket_id": ticket["id"],
        "author_user_id": cast.smith.user_id,
        "author": {
            "id": cast.smith.user_id,
            "type": "bot",
            "username": "smith",
            "display_name": "Smith",
        },
        "body": " *As* sent\n",
        "edit_history": [],
        "reactions": [],
        "created_at": comment["created_at"],
        "updated_at": comment["created_at"],
        "deleted_at": None,
    }
    assert answer.headers["Location"].endswith(f"/api/v1/comments/{comment['id']}")
    (event,) = events(app, event_type="comment.created")
    assert (event.target_kind, event.target_id) == ("ticket", ticket["id"])
    assert event.payload == {"comment_id": comment["id"], "body": " *As* sent\n"}


def test_oldest_first(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    for number in range(5):
        ok(cast.ada.post("/tickets/OPEN-1/comments", {"body": str(number)}), 201)
    for limit in (1, 2, 5):
        rows = walk(cast.scout, "/tickets/OPEN-1/comments", limit)
        assert [row["body"] for row in rows] == ["0", "1", "2", "3", "4"]


def test_editing_keeps_what_was_there(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    comment = ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "one"}), 201)
    path = f"/comments/{comment['id']}"
    ok(cast.smith.patch(path, {"body": "two"}))
    ok(cast.smith.patch(path, {"body": "two"}))
    edited = ok(cast.smith.patch(path, {"body": "three"}))
    assert [entry["body"] for entry in edited["edit_history"]] == ["one", "two"]
    assert edited["updated_at"] > comment["updated_at"]
    found = events(app, event_type="comment.updated")
    assert [event.payload["previous_body"] for event in found] == ["one", "two"]


def test_only_the_author_edits(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    comment = ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "one"}), 201)
    answer = cast.ada.patch(f"/comments/{comment['id']}", {"body": "two"})
    refused(answer, 403, "auth.forbidden", reason="not_author")


def test_the_author_and_any_human_delete(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    mine = ok(cast.ada.post("/tickets/OPEN-1/comments", {"body": "mine"}), 201)["id"]
    its = ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "its"}), 201)["id"]
    ok(cast.smith.patch(f"/comments/{its}", {"body": "edited"}))
    refused(cast.smith.delete(f"/comments/{mine}"), 403, "auth.forbidden", reason="not_author")
    ok(cast.bo.delete(f"/comments/{its}"), 204)
    (event,) = events(app, event_type="comment.deleted")
    assert event.payload["body"] == "edited"
    assert event.payload["author_user_id"] == cast.smith.user_id
    assert [entry["body"] for entry in event.payload["edit_history"]] == ["its"]
    refused(cast.smith.patch(f"/comments/{its}", {"body": "x"}), 410, "resource.gone")
    refused(cast.bo.delete(f"/comments/{its}"), 410, "resource.gone", resource="comment", id=its)
    assert [row["id"] for row in ok(cast.ada.get("/tickets/OPEN-1/comments"))["data"]] == [mine]
    everything = ok(cast.ada.get("/tickets/OPEN-1/comments?include_deleted=true"))["data"]
    assert [row["deleted_at"] is None for row in everything] == [True, False]
    refused(
        cast.smith.get("/tickets/OPEN-1/comments?include_deleted=true"),
        403,
        "auth.forbidden",
        reason="humans_only",
    )


def test_refused_bodies(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    path = "/tickets/OPEN-1/comments"
    invalid(cast.ada.post(path, {"body": " \n"}), "body", "blank")
    invalid(cast.ada.post(path, {"body": "x" * 65_537}), "body", "too_long")
    malformed(cast.ada.post(path, {}), ["body", "body"], "missing")
    comment = ok(cast.ada.post(path, {"body": "x" * 65_536}), 201)
    invalid(cast.ada.patch(f"/comments/{comment['id']}", {"body": ""}), "body", "blank")
    invalid(cast.ada.patch(f"/comments/{comment['id']}", {"author": "x"}), "author", "immutable")
    assert event_types(app, category="activity") == ["ticket.created", "comment.created"]


def test_who_may_comment(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    path = "/tickets/OPEN-1/comments"
    comment = ok(cast.ada.post(path, {"body": "x"}), 201)["id"]
    refused(cast.scout.post(path, {"body": "x"}), 403, "auth.read_only_bot")
    refused(cast.fenced.post(path, {"body": "x"}), 403, "auth.forbidden")
    refused(cast.fenced.get(path), 404, "resource.not_found", resource="ticket")
    refused(cast.fenced.delete(f"/comments/{comment}"), 403, "auth.forbidden")
    missing = "01900000-0000-7000-8000-000000000000"
    refused(cast.fenced.delete(f"/comments/{missing}"), 404, "resource.not_found")
    refused(cast.ada.patch("/comments/x", {"body": "x"}), 404, "resource.not_found", id="x")
