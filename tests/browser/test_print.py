"""On paper: the content on white, and no controls."""

import pytest

from tests.browser.browser_page import open_page

# Controls that are visible on paper.
PRESSED = """() => [...document.querySelectorAll('button, .button, input, textarea, select, nav')]
    .filter(one => one.checkVisibility() && !one.matches('.trail'))
    .map(one => one.outerHTML.slice(0, 80))"""
GROUNDS = """() => [...document.querySelectorAll('html, body, main, .panel, .comment-box')]
    .map(one => getComputedStyle(one).backgroundColor)"""
WHITE = "rgb(255, 255, 255)"


@pytest.fixture
def paper(browser, seeded):
    """A sheet of A4 within its margins, from a system with a dark theme."""
    sheet = {"width": 700, "height": 1020}
    for wide in open_page(browser, seeded, color_scheme="dark", viewport=sheet):
        wide.page.emulate_media(media="print", color_scheme="dark")
        yield wide


def test_tickets_pages_and_lists_are_printed_as_they_read(paper, seeded):
    text = "See [the log](https://example.org/log), and `code`.\n\n    " + "a long line " * 30
    seeded.call("PATCH", f"/tickets/{seeded.ids['rich_ref']}", {"body": text})
    page = {"title": "Printed", "body": text, "project_id": seeded.ids["project"]}
    seeded.call("POST", "/wiki/pages", page)
    for path, shown in (
        (f"/tickets/{seeded.ids['rich_ref']}", ("A rich ticket", "Urgent", "By the bot.")),
        ("/projects/DEMO/wiki/printed", ("Printed", "and code.")),
        ("/projects/DEMO/tickets", ("Number", "DEMO-6", "A plain ticket", "In progress")),
    ):
        paper.go(path)
        assert not paper.page.locator(".header").is_visible()
        assert paper.page.evaluate(PRESSED) == [], path
        assert set(paper.page.evaluate(GROUNDS)) == {WHITE}, path
        assert paper.overflow() <= 0, path
        said = paper.page.locator("main").inner_text()
        assert [one for one in shown if one not in said] == [], path
        for link in paper.page.locator(".markdown a[href^=http]").all():
            after = link.evaluate("one => getComputedStyle(one, '::after').content")
            assert "https://example.org/log" in after
