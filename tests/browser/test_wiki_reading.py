"""Reading a wiki page on a wide window: the pages beside it, code that scrolls, a calm focus."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_accessibility import findings_in_both

LONG = "x" * 300


@pytest.fixture
def pages(desk, furnished):
    """Two pages, the first of which has a long line of code."""
    project = furnished.ids["project"]
    body = f"Text\n\n```\n{LONG}\n```\n"
    for title, text in (("Reading aloud", body), ("Reading alone", "[[reading-aloud]]")):
        page = {"title": title, "body": text, "project_id": project}
        furnished.call("POST", "/wiki/pages", page)
    return desk


def test_the_pages_stand_beside_the_one_that_is_read(pages):
    desk = pages
    desk.page.set_viewport_size({"width": 1280, "height": 800})
    desk.go("/projects/DEMO/wiki/reading-aloud")
    tree = desk.page.get_by_role("navigation", name="Pages")
    expect(tree.locator("[aria-current=page]")).to_have_text("Reading aloud")
    # Their arrival leaves the focus where it is.
    assert desk.page.evaluate("document.activeElement === document.body")
    assert not findings_in_both(desk.page)
    tree.get_by_role("link", name="Reading alone").click()
    expect(desk.page.locator("h1")).to_have_text("Reading alone")
    # A link says the title of its page.
    expect(desk.page.locator(".wiki-main a.wikilink")).to_have_text("Reading aloud")


def test_long_code_scrolls_in_its_box(pages):
    desk = pages
    desk.page.set_viewport_size({"width": 1280, "height": 800})
    desk.go("/projects/DEMO/wiki/reading-aloud")
    box = desk.page.locator(".wiki-main pre")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    side = desk.page.locator(".wiki-side").bounding_box()
    shown = box.bounding_box()
    assert shown["x"] + shown["width"] <= side["x"]


def test_a_narrower_window_asks_for_no_tree(pages):
    desk = pages
    asked = []
    desk.page.on("request", lambda request: asked.append(request.url))
    desk.page.set_viewport_size({"width": 1100, "height": 800})
    desk.go("/projects/DEMO/wiki/reading-aloud")
    desk.page.wait_for_timeout(500)
    expect(desk.page.get_by_role("navigation", name="Pages")).to_have_count(0)
    assert not [url for url in asked if "?at=" in url]
