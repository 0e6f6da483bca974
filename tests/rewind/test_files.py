"""Rewind of files: a file is deleted unless a text shows it once the newer changes are undone."""

import pytest

from app.audit.event_types import UNDO_OF
from app.rewind.file_parts import texts_showing
from app.rewind.service import Fate
from app.tickets.templates import create_template
from tests.support.cast import in_app
from tests.support.plans import plans_of_reading
from tests.support.story import add_file, events

SHOWN = "A text shows it."


def test_files_of_the_bot_are_deleted_and_deleted_ones_are_gone(world):
    path = f"/tickets/{world.ticket}"
    kept = add_file(world.cast.bo, path, b"By Bo")
    gone = add_file(world.cast.smith, path, b"By the bot")
    world.cast.smith.delete(f"/files/{gone['id']}")
    made = add_file(world.cast.smith, path, b"By the bot, too")
    (value,) = world.kept()
    assert (value.name, value.why) == ("file", "A deleted file cannot be restored.")
    left = [row["id"] for row in world.now(f"{path}/files")["data"]]
    assert left == [kept["id"]]
    last = events(world.app, event_type="file.deleted")[-1]
    assert (last.payload["file_id"], last.actor_user_id) == (made["id"], world.cast.ada.user_id)
    assert last.payload[UNDO_OF]


@pytest.fixture
def shot(world):
    """The Markdown of an image that the bot added to Ada's ticket."""
    file = add_file(world.cast.smith, f"/tickets/{world.ticket}", b"By the bot")
    return f"![A shot](/files/{file['id']})"


def fate(world):
    """The fate of the file, and why; the preview and the rewind agree."""
    previewed, done = (
        [(value.fate, value.why) for value in values if value.name == "file"]
        for values in (world.previewed(), world.rewind())
    )
    assert previewed == done
    (found,) = done
    stays = bool(world.now(f"/tickets/{world.ticket}/files")["data"])
    assert stays == (found[0] is Fate.KEPT)
    return found


WHERE = {
    "ticket": ("PATCH", "/tickets/{ticket}", {"body": "{shot}"}),
    "comment": ("POST", "/tickets/{ticket}/comments", {"body": "See https://docket.test{shot}"}),
    "page": ("POST", "/wiki/pages", {"title": "Shots", "body": "{shot}", "project_id": "{id}"}),
    "note": ("POST", "{project}/sticky-notes", {"body": "{shot}"}),
    "project": ("PATCH", "{project}", {"description": "{shot}"}),
}


def write(world, caller, where, shot):
    method, path, body = WHERE[where]
    project_id = world.cast.open_project
    filled = {name: text.format(shot=shot, id=project_id) for name, text in body.items()}
    return world.call(
        caller, method, path.format(ticket=world.ticket, project=world.project), **filled
    )


@pytest.mark.parametrize("where", WHERE)
def test_a_file_that_a_text_of_others_shows_stays(world, shot, where):
    write(world, world.cast.ada, where, shot)
    assert fate(world) == (Fate.KEPT, SHOWN)


def test_a_file_that_a_template_shows_stays(world, shot):
    project_id = world.cast.open_project
    in_app(
        world.app, lambda: create_template(world.ada, project_id, name="Bug", title="", body=shot)
    )
    assert fate(world) == (Fate.KEPT, SHOWN)


@pytest.mark.parametrize("where", ["ticket", "comment", "page", "note"])
def test_a_file_that_only_undone_texts_show_is_deleted(world, shot, where):
    write(world, world.cast.smith, where, shot)
    assert fate(world) == (Fate.BACK, None)


def test_a_file_that_only_a_deleted_text_shows_is_deleted(world, shot):
    comment = write(world, world.cast.ada, "comment", shot)
    world.call(world.cast.ada, "DELETE", f"/comments/{comment['id']}")
    assert fate(world) == (Fate.BACK, None)


def test_a_file_that_a_restored_text_shows_stays(world, shot):
    write(world, world.cast.bo, "ticket", shot)
    world.smith("PATCH", f"/tickets/{world.ticket}", body="Nothing")
    page = write(world, world.cast.bo, "page", shot)
    world.smith("DELETE", f"/wiki/pages/{page['id']}")
    assert fate(world) == (Fate.KEPT, SHOWN)


def test_a_file_stays_if_a_text_shows_it_again(world, shot):
    write(world, world.cast.bo, "ticket", shot + "x" * 300)
    world.smith("PATCH", f"/tickets/{world.ticket}", body="Nothing")
    assert fate(world) == (Fate.KEPT, SHOWN)


def test_a_person_can_delete_a_file_that_a_text_shows(world, shot):
    write(world, world.cast.ada, "ticket", shot)
    (kept,) = world.kept()
    world.put_back(kept)
    assert world.now(f"/tickets/{world.ticket}/files")["data"] == []


@pytest.mark.usefixtures("shot")
def test_texts_without_files_are_not_read(world):
    """Others wait for the step, and there can be many tickets, comments and pages."""
    added = events(world.app, event_type="file.added")
    with plans_of_reading(world.app) as plans:
        assert texts_showing(added) == {}
    for table in ("tickets", "comments", "wiki_pages"):
        assert sum(f"ix_{table}_with_files" in plan for plan in plans) == 1, plans
