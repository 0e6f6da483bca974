"""From a fresh installation to a worked ticket, with nothing but the browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.browser_page import BrowserPage, watch
from tests.browser.seed import PASSWORD
from tests.support.forking import FORKED
from tests.support.postgres import unused_name
from tests.support.serving import serving


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh(request, tmp_path):
    """A server that has not been set up, on either database."""
    if request.param == "sqlite":
        with serving(tmp_path / "instance", command=FORKED) as running:
            yield running
        return
    cluster, name = request.getfixturevalue("cluster"), unused_name()
    url = cluster.create_database(name)
    settings = {"DATABASE_URL": url, "SECRET_KEY": "a secret key of the tests, long enough"}
    with serving(tmp_path / "instance", command=FORKED, **settings) as running:
        yield running
    cluster.drop_database(name)


def test_setup_to_a_worked_ticket(browser, fresh):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    wide = BrowserPage(page, fresh.url)
    watch(page, wide.problems)

    wide.go("/")
    assert page.url == f"{fresh.url}/setup"
    page.fill("#username", "ada")
    page.fill("#display_name", "Ada Berg")
    page.fill("#password", PASSWORD)
    page.click("text=Create account")

    expect(page).to_have_url(f"{fresh.url}/start")
    page.fill("#name", "Mobile app")
    expect(page.locator("#key")).to_have_value("MA")
    page.click("text=Create project")
    expect(page).to_have_url(f"{fresh.url}/start/people")
    page.click("text=Skip this step")
    expect(page).to_have_url(f"{fresh.url}/start/bot")
    page.click("text=Skip and open the board")
    expect(page).to_have_url(f"{fresh.url}/projects/MA/board")

    page.click('.column[data-name="Backlog"] [data-add]')
    page.fill("#quick-title", "Draw the icon")
    wide.press("Enter")
    expect(wide.card_in("Backlog", "Draw the icon")).to_be_visible()
    wide.press("Escape")

    drag(wide, "MA-1", "In progress")
    expect(wide.card_in("In progress", "Draw the icon")).to_be_visible()
    expect(wide.toast()).to_contain_text("MA-1 moved to In progress")

    wide.card("MA-1").locator(".card-title").click()
    expect(page.locator("h1")).to_have_text("Draw the icon")
    page.click("#edit-priority")
    page.click(".option:has-text('High')")
    expect(page.locator("#edit-priority")).to_contain_text("High")
    expect(page.locator("#thread")).to_contain_text("raised the priority to high")

    page.fill("#comment-body", "Round or square?")
    page.click("#composer button[type=submit]")
    expect(page.locator(".comment-text")).to_have_text("Round or square?")
    expect(page.locator("#comment-body")).to_have_value("")

    wide.go("/projects/MA/settings/states")
    page.fill("#states #name", "Shipped")
    page.select_option("#states #category", "done")
    page.click("text=Add state")
    expect(page.locator(".state-row")).to_have_count(6)
    wide.go("/projects/MA/board")
    expect(page.locator(".column h2").last).to_have_text("Shipped")
    context.close()
    assert wide.problems == []


def drag(wide: BrowserPage, reference: str, column: str) -> None:
    """Drag a card to a column with the mouse."""
    start = wide.card(reference).bounding_box()
    end = wide.column(column).bounding_box()
    mouse = wide.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(start["x"] + 60, start["y"] + 40, steps=3)
    mouse.move(end["x"] + 80, end["y"] + 160, steps=6)
    mouse.up()
