"""Backlinks and broken links."""

from tests.support.cast import Caller, Cast
from tests.support.story import ok, refused, walk
from tests.wiki.test_pages import make_page


def backlinks(caller: Caller, page) -> list[str]:
    return [row["title"] for row in walk(caller, f"/wiki/pages/{page['id']}/backlinks", 1)]


def broken(caller: Caller) -> list[tuple[str, str]]:
    rows = walk(caller, "/wiki/broken-links", 1)
    return [(row["page"]["title"], row["target_slug"]) for row in rows]


def test_a_link_means_the_page_of_its_own_scope_then_the_global_one(cast: Cast) -> None:
    common = make_page(cast.ada, "Common", slug="setup")
    own = make_page(cast.ada, "Own", slug="setup", project_id=cast.open_project)
    make_page(cast.ada, "In open", body="[[setup]]", project_id=cast.open_project)
    make_page(cast.ada, "In fenced", body="see [[setup|here]]", project_id=cast.fenced_project)
    make_page(cast.ada, "Everywhere", body="[[setup]] and [[setup]]")
    assert backlinks(cast.ada, own) == ["In open"]
    assert backlinks(cast.ada, common) == ["Everywhere", "In fenced"]
    assert backlinks(cast.fenced, common) == ["Everywhere", "In fenced"]
    row = ok(cast.ada.get(f"/wiki/pages/{own['id']}/backlinks"))["data"][0]
    assert set(row) == {"id", "slug", "title", "project_id"}
    refused(cast.fenced.get(f"/wiki/pages/{own['id']}/backlinks"), 404, "resource.not_found")
    refused(cast.ada.get("/wiki/pages/setup/backlinks"), 404, "resource.not_found")


def test_a_global_page_never_links_into_a_project(cast: Cast) -> None:
    own = make_page(cast.ada, "Own", slug="setup", project_id=cast.open_project)
    make_page(cast.ada, "Everywhere", body="[[setup]]")
    assert backlinks(cast.ada, own) == []
    assert broken(cast.ada) == [("Everywhere", "setup")]


def test_links_break_and_heal(cast: Cast) -> None:
    source = make_page(cast.ada, "Source", body="[[later]] [[setup]]", project_id=cast.open_project)
    assert sorted(broken(cast.ada)) == [("Source", "later"), ("Source", "setup")]
    later = make_page(cast.ada, "Later", slug="later")
    assert broken(cast.ada) == [("Source", "setup")]
    assert backlinks(cast.ada, later) == ["Source"]
    nearer = make_page(cast.ada, "Nearer", slug="later", project_id=cast.open_project)
    assert (backlinks(cast.ada, later), backlinks(cast.ada, nearer)) == ([], ["Source"])
    ok(cast.ada.delete(f"/wiki/pages/{nearer['id']}"), 204)
    assert backlinks(cast.ada, later) == ["Source"]
    ok(cast.ada.delete(f"/wiki/pages/{later['id']}"), 204)
    assert sorted(broken(cast.ada)) == [("Source", "later"), ("Source", "setup")]
    ok(cast.ada.patch(f"/wiki/pages/{source['id']}", {"body": "[[setup]]"}))
    assert broken(cast.ada) == [("Source", "setup")]
    ok(cast.ada.delete(f"/wiki/pages/{source['id']}"), 204)
    assert broken(cast.ada) == []


def test_links_in_code_are_none(cast: Cast) -> None:
    body = "`[[one]]`\n\n```\n[[two]]\n```\n\n[[ticket:OPEN-1]] and [[three]]"
    make_page(cast.ada, "Code", body=body)
    assert broken(cast.ada) == [("Code", "three")]


def test_the_allowlist_hides_links(cast: Cast) -> None:
    common = make_page(cast.ada, "Common", slug="setup")
    make_page(cast.ada, "In open", body="[[setup]] [[nope]]", project_id=cast.open_project)
    assert backlinks(cast.fenced, common) == []
    assert broken(cast.fenced) == []
    assert broken(cast.scout) == [("In open", "nope")]
