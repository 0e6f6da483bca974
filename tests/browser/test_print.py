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


# Texts that do not fit, and parts of a board beyond the edge of the sheet.
TITLES = ".title-line a, .title-line .label, .card-title, .column-head h2"
CUT = """titles => [...document.querySelectorAll(titles)].filter(one =>
    one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 2
).map(one => one.innerText)"""
BEYOND = """() => [...document.querySelectorAll('.board *:not(.said)')]
    .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth)
    .map(one => one.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("width", [700, 1020])
def test_a_board_and_a_list_are_printed_whole(paper, seeded, width):
    paper.page.set_viewport_size({"width": width, "height": 1020})
    title = "A title of many words, none of which may be missing on paper " * 2
    for state in ("Backlog", "To do", "In progress", "In review", "Done"):
        fields = {"state_id": seeded.ids[state], "label_ids": [seeded.ids["bug"]]}
        seeded.ticket(title, priority="urgent", **fields)
    for path in (
        "/projects/DEMO/board",
        "/projects/DEMO/board?group=priority",
        "/projects/DEMO/tickets",
    ):
        paper.go(path)
        assert paper.page.evaluate(CUT, TITLES) == [], path
        assert paper.page.evaluate(BEYOND) == [], path
        assert paper.overflow() <= 0, path
    paper.go("/projects/DEMO/board?group=priority")
    heads = paper.page.locator(".head-cell")
    assert [head.bounding_box()["width"] > width / 6 for head in heads.all()] == [True] * 5


def test_sections_of_a_ticket_without_content_are_not_printed(paper, seeded):
    headings = ("Subtasks", "Files", "Relations", "Links")
    paper.go(f"/tickets/{seeded.ticket('With nothing')}")
    said = paper.page.locator("main").inner_text().splitlines()
    assert [one for one in headings if one in said] == []
    paper.go(f"/tickets/{seeded.ids['rich_ref']}")
    said = paper.page.locator("main").inner_text()
    assert [one for one in ("Subtasks", "Relations") if one not in said] == []
