"""Undo of comments and pages."""

import pytest

from app.audit.event_types import may_be_undone
from app.core.errors import Forbidden
from app.undo.service import Ending, undo_event
from tests.support.cast import in_app

LONG = "one\n\ntwo\n"


def test_comments(world):
    world.smith("POST", "/tickets/{t}/comments", {"body": "Hasty."})
    (comment,) = world.cast.ada.get(f"/tickets/{world.ticket}/comments").json["data"]
    world.smith("PATCH", f"/comments/{comment['id']}", {"body": "Hastier."})
    # Only its author may edit a comment, so a bot's comment stays as the bot wrote it.
    with pytest.raises(Forbidden):
        world.undo("comment.updated")
    assert not may_be_undone("comment.updated", world.cast.smith.user_id, world.cast.ada.user_id)
    outcome = world.undo("comment.created")
    assert outcome.ending is Ending.CHANGED_SINCE
    assert outcome.differences[0].now == "Hastier."
    assert world.undo("comment.created", force=True).is_done
    assert world.undo("comment.deleted").is_done
    (again,) = world.cast.ada.get(f"/tickets/{world.ticket}/comments").json["data"]
    assert again["body"] == "Hastier."
    assert world.undo("comment.restored").is_done
    assert world.cast.ada.get(f"/tickets/{world.ticket}/comments").json["data"] == []


def test_an_edit_of_ones_own_comment(world):
    path = f"/tickets/{world.ticket}/comments"
    made = world.cast.ada.post(path, {"body": "First."}).json["id"]
    world.cast.ada.patch(f"/comments/{made}", {"body": "Second."})
    assert may_be_undone("comment.updated", world.cast.ada.user_id, world.cast.ada.user_id)
    assert world.undo("comment.updated").is_done
    (comment,) = world.cast.ada.get(path).json["data"]
    assert [comment["body"], *(one["body"] for one in comment["edit_history"])] == [
        "First.",
        "First.",
        "Second.",
    ]


@pytest.fixture
def page(world):
    body = {"title": "A page", "body": LONG, "project_id": world.cast.open_project}
    return world.cast.smith.post("/wiki/pages", body).json["id"]


def test_a_saved_page_gets_its_earlier_text_as_a_new_revision(world, page):
    world.cast.smith.patch(f"/wiki/pages/{page}", {"body": "Gone.", "title": "Renamed"})
    assert world.undo("wiki.updated").is_done
    shown = world.cast.ada.get(f"/wiki/pages/{page}").json
    assert (shown["body"], shown["title"], shown["revision_number"]) == (LONG, "A page", 3)
    newest = world.cast.ada.get(f"/wiki/pages/{page}/revisions").json["data"][0]
    assert newest["summary"] == "Undid r2"


def test_a_page_that_was_saved_again_asks(world, page):
    world.cast.smith.patch(f"/wiki/pages/{page}", {"body": "By the bot."})
    event = world.last("wiki.updated")
    world.cast.bo.patch(f"/wiki/pages/{page}", {"body": "By Bo."})
    outcome = in_app(world.app, lambda: undo_event(world.ada, event["id"]))
    assert outcome.ending is Ending.CHANGED_SINCE
    (difference,) = outcome.differences
    assert (difference.back, difference.left, difference.now) == (LONG, "By the bot.", "By Bo.")


def test_a_page_comes_and_goes(world, page):
    assert world.undo("wiki.created").is_done
    assert world.cast.ada.get(f"/wiki/pages/{page}").status_code == 410
    assert world.undo("wiki.deleted").is_done
    assert world.undo("wiki.restored").is_done
    assert world.cast.ada.get(f"/wiki/pages/{page}").status_code == 410
