"""Reading a wiki page in a wide window: the pages beside it, code that scrolls, a stable focus."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings_in_both

LONG = "x" * 300


@pytest.fixture
def pages(wide, seeded):
    """Two pages, of which the first has a long line of code."""
    project = seeded.ids["project"]
    body = f"Text\n\n```\n{LONG}\n```\n"
    for title, text in (("Reading aloud", body), ("Reading alone", "[[reading-aloud]]")):
        page = {"title": title, "body": text, "project_id": project}
        seeded.call("POST", "/wiki/pages", page)
    return wide


def test_the_pages_stand_beside_the_one_that_is_read(pages):
    wide = pages
    wide.page.set_viewport_size({"width": 1280, "height": 800})
    wide.go("/projects/DEMO/wiki/reading-aloud")
    tree = wide.page.get_by_role("navigation", name="Pages")
    expect(tree.locator("[aria-current=page]")).to_have_text("Reading aloud")
    # The list of pages does not move the focus when it arrives.
    assert wide.page.evaluate("document.activeElement === document.body")
    assert not findings_in_both(wide.page)
    tree.get_by_role("link", name="Reading alone").click()
    expect(wide.page.locator("h1")).to_have_text("Reading alone")
    # A link shows the title of its page.
    expect(wide.page.locator(".wiki-main a.wikilink")).to_have_text("Reading aloud")


def test_long_code_scrolls_in_its_box(pages):
    wide = pages
    wide.page.set_viewport_size({"width": 1280, "height": 800})
    wide.go("/projects/DEMO/wiki/reading-aloud")
    box = wide.page.locator(".wiki-main pre")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    side = wide.page.locator(".wiki-side").bounding_box()
    shown = box.bounding_box()
    assert shown["x"] + shown["width"] <= side["x"]


def test_a_narrower_window_asks_for_no_tree(pages):
    wide = pages
    asked = []
    wide.page.on("request", lambda request: asked.append(request.url))
    wide.page.set_viewport_size({"width": 1100, "height": 800})
    wide.go("/projects/DEMO/wiki/reading-aloud")
    wide.page.wait_for_timeout(500)
    expect(wide.page.get_by_role("navigation", name="Pages")).to_have_count(0)
    assert not [url for url in asked if "?at=" in url]


def test_two_changes_of_one_place_are_settled_by_key(wide, seeded):
    page = seeded.call("POST", "/wiki/pages", {"title": "One place", "body": "One\n\nTwo\n"})
    wide.go("/wiki/one-place/edit")
    wide.page.locator("#body").fill("One by Ada\n\nTwo\n")
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another\n\nTwo\n"})
    wide.press("Control+s")
    place = wide.page.get_by_role("group", name="Conflict 1 of 1")
    expect(place).to_contain_text("One by Ada")
    expect(place).to_contain_text("One by another")
    expect(place.get_by_label("Keep both")).to_be_checked()
    assert not findings_in_both(wide.page)
    with wide.page.expect_response("**/saved?*") as asked:
        wide.page.evaluate("document.body.dispatchEvent(new Event('app:poll'))")
    assert asked.value.ok
    place.get_by_label("Keep both").focus()
    wide.press("ArrowUp", "ArrowUp")
    expect(place.get_by_role("radio", name="Keep mine")).to_be_checked()
    wide.press("Control+s")
    wide.page.wait_for_url("**/wiki/one-place")
    saved = seeded.call("GET", f"/wiki/pages/{page['id']}")["body"]
    assert saved == "One by Ada\n\nTwo\n"


def test_a_long_list_of_pages_shows_the_one_that_is_read(wide, seeded):
    for number in range(40):
        page = {"title": f"Shelf {number:02}", "body": "Text", "project_id": seeded.ids["project"]}
        seeded.call("POST", "/wiki/pages", page)
    wide.page.set_viewport_size({"width": 1280, "height": 600})
    wide.go("/projects/DEMO/wiki/shelf-39")
    here = wide.page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")
    expect(here).to_be_in_viewport(ratio=1)
    assert wide.page.evaluate("scrollY") == 0
    # The list of files keeps its distance from the text.
    text = wide.page.locator(".wiki-main > .markdown").bounding_box()
    files = wide.page.locator("#files").bounding_box()
    assert files["y"] - text["y"] - text["height"] >= 16
