"""What the response to saving a page says about its slug and links."""

import pytest

from tests.support.agent import Agent
from tests.support.story import ok


@pytest.fixture(name="smith")
def _smith(cast):
    return Agent(cast.smith)


def create(caller, title, **fields):
    return ok(caller.post("/wiki/pages", {"title": title, **fields}), 201)


def test_a_second_page_of_a_title_says_that_its_slug_differs(cast):
    assert "taken_slug" not in create(cast.ada, "Gates")
    second = create(cast.ada, "Gates")
    assert (second["slug"], second["taken_slug"]) == ("gates-2", "gates")
    assert "taken_slug" not in create(cast.ada, "Gates", slug="portals")
    assert "taken_slug" not in create(cast.ada, "Gates", project_id=cast.open_project)
    assert "taken_slug" not in ok(cast.ada.get("/wiki/pages/gates-2"))


def test_a_tool_says_it_in_a_sentence(smith):
    assert "note" not in smith.lean("create_wiki_page", project="OPEN", title="Gates")
    second = smith.lean("create_wiki_page", project="OPEN", title="Gates")
    assert second["taken_slug"] == "gates"
    assert second["note"] == (
        "Another page has the slug gates, so the slug of this one is gates-2."
    )


def test_a_save_lists_the_links_that_are_broken(cast):
    create(cast.ada, "Global")
    body = "See [[b]], [[a|that]], [[gates]], [[global]] and [[ticket:OPEN-1]]. [[a]] `[[code]]`"
    made = create(cast.ada, "Gates", body=body, project_id=cast.open_project)
    assert made["broken_links"] == ["a", "b"]
    path = f"/wiki/pages/{made['id']}"
    create(cast.ada, "A", project_id=cast.open_project)
    assert ok(cast.ada.patch(path, {"title": "All gates"}))["broken_links"] == ["b"]
    # A page of another project does not count.
    create(cast.ada, "B", project_id=cast.fenced_project)
    assert ok(cast.ada.patch(path, {"body": "[[b]]"}))["broken_links"] == ["b"]
    assert "broken_links" not in ok(cast.ada.patch(path, {"body": "none"}))
    assert "broken_links" not in ok(cast.ada.get(path))


def test_the_list_has_a_bound(cast):
    body = " ".join(f"[[missing-{number:03}]]" for number in range(120))
    made = create(cast.ada, "Gates", body=body)
    assert made["broken_links"] == [f"missing-{number:03}" for number in range(50)]


def test_tools_list_them_too(smith):
    made = smith.lean("create_wiki_page", project="OPEN", title="Gates", body="[[hinges]]")
    assert made["broken_links"] == ["hinges"]
    changed = smith.lean("update_wiki_page", page="gates", append="[[locks]]")
    assert changed["broken_links"] == ["hinges", "locks"]
    undone = smith.lean("update_wiki_page", page="gates", undo=changed["event_ids"][0])
    assert undone["broken_links"] == ["hinges"]
    assert "broken_links" not in smith.lean("update_wiki_page", page="gates", body="")
