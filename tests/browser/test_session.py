"""A session that ended: the login opens in place, and what was refused is sent again."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.furniture import PASSWORD
from tests.support.serving import until

DRAFTS = "Object.keys(sessionStorage).filter(key => key.includes(':'))"


@pytest.fixture
def ticket(desk, furnished):
    """A ticket of one's own, open."""
    reference = furnished.ticket("To be talked about")
    desk.go(f"/tickets/{reference}")
    return desk, reference


def log_in(desk, password=PASSWORD):
    """Log in where the page asks for it."""
    asked = desk.page.get_by_role("dialog", name="You were logged out")
    expect(asked.get_by_label("Username")).to_have_value("ada")
    expect(asked.get_by_label("Password")).to_be_focused()
    desk.page.keyboard.type(password)
    desk.press("Enter")
    return asked


def test_a_comment_is_sent_after_logging_in(ticket):
    desk, _ = ticket
    desk.page.fill("#comment-body", "Written while logged out")
    desk.page.context.clear_cookies()
    desk.page.click("#composer button[type=submit]")
    asked = log_in(desk, "not the password")
    expect(asked.get_by_role("alert")).to_be_visible()
    desk.press("Escape")
    expect(asked).not_to_be_visible()
    expect(desk.page.locator("#comment-body")).to_have_value("Written while logged out")
    desk.page.click("#composer button[type=submit]")
    log_in(desk)
    expect(asked).not_to_be_visible()
    expect(desk.page.locator(".comment-text")).to_have_text("Written while logged out")
    expect(desk.page.locator("#comment-body")).to_have_value("")
    assert desk.page.evaluate(DRAFTS) == []


def test_news_go_on_after_logging_in(ticket, furnished):
    desk, reference = ticket
    desk.page.focus("#comment-body")
    desk.page.context.clear_cookies()
    expect(desk.toast()).to_contain_text("You were logged out")
    # Whoever writes is not interrupted.
    expect(desk.page.locator("#comment-body")).to_be_focused()
    desk.toast().get_by_text("Log in").click()
    log_in(desk)
    expect(desk.toast()).to_have_count(0)
    furnished.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"})
    expect(desk.page.locator("#edit-priority")).to_contain_text("Urgent")


def test_a_card_is_moved_after_logging_in(desk, furnished):
    reference = furnished.ticket("To be moved", state_id=furnished.ids["To do"])
    desk.go("/projects/DEMO/board")
    desk.card(reference).locator(".card-title").focus()
    desk.page.context.clear_cookies()
    desk.press("Shift+ArrowRight")
    log_in(desk)
    expect(desk.toast()).to_contain_text(f"{reference} moved to In progress")
    expect(desk.card_at("In progress", reference)).to_be_visible()
    desk.page.context.clear_cookies()
    desk.press("Control+k")
    log_in(desk)
    expect(desk.page.locator("#palette-list [role=option]").first).to_be_visible()


def test_a_login_that_does_not_come_can_be_tried_again(desk, furnished):
    reference = furnished.ticket("To be moved", state_id=furnished.ids["To do"])
    desk.go("/projects/DEMO/board")
    desk.card(reference).locator(".card-title").focus()
    desk.page.context.clear_cookies()
    desk.page.route(
        "**/login",
        lambda route: route.fulfill(status=502, content_type="text/html", body="Bad gateway"),
    )
    desk.press("Shift+ArrowRight")
    expect(desk.toast().filter(has_text="The server did not answer")).to_be_visible()
    expect(desk.card_at("To do", reference)).to_be_visible()
    desk.page.unroute("**/login")
    desk.card(reference).locator(".card-title").focus()
    desk.press("Shift+ArrowRight")
    log_in(desk)
    expect(desk.card_at("In progress", reference)).to_be_visible()


def test_a_form_that_leaves_the_page_asks_before_it_goes(desk):
    desk.go("/tickets/new?project=DEMO")
    desk.page.fill("#title", "Made after all")
    desk.page.fill("[name=body]", "With all of its text")
    desk.page.context.clear_cookies()
    desk.page.locator("main form button.primary").click()
    log_in(desk)
    expect(desk.page.locator("h1")).to_have_text("Made after all")
    expect(desk.page.locator("#fact-body")).to_contain_text("With all of its text")
    assert desk.page.evaluate(DRAFTS) == []


def test_a_form_stays_where_it_is_while_the_server_does_not_answer(desk):
    desk.go("/tickets/new?project=DEMO")
    desk.page.fill("#title", "Made later")
    desk.page.route("**/login", lambda route: route.fulfill(status=502, body="Bad gateway"))
    desk.page.locator("main form button.primary").click()
    expect(desk.toast()).to_contain_text("The server did not answer")
    expect(desk.page.locator("#title")).to_have_value("Made later")
    desk.page.unroute("**/login")
    desk.page.locator("main form button.primary").click()
    expect(desk.page.locator("h1")).to_have_text("Made later")


def test_a_draft_outlives_a_reload_and_an_error_but_not_a_logout(desk):
    text = desk.page.locator("[name=body]")
    note = desk.page.get_by_text(re.compile(r"^Draft from \d\d:\d\d"))
    desk.go("/tickets/new?project=DEMO")
    desk.page.fill("#title", "Never made")
    text.fill("Kept for later")
    until(lambda: desk.page.evaluate(DRAFTS))
    desk.page.reload()
    expect(text).to_have_value("Kept for later")
    expect(note).to_be_visible()
    # What the server could not take is not gone.
    desk.page.fill("#title", "Never made")
    broken = desk.page.request.get(f"{desk.base}/nowhere", headers={"Accept": "text/html"})
    desk.page.route(
        "**/tickets/new",
        lambda route: route.fulfill(status=503, content_type="text/html", body=broken.text()),
    )
    desk.page.locator("main form button.primary").click()
    expect(desk.page.locator("h1")).to_have_text("There is nothing here")
    desk.page.unroute("**/tickets/new")
    desk.go("/tickets/new?project=DEMO")
    expect(text).to_have_value("Kept for later")
    note.get_by_role("button", name="Discard").click()
    expect(text).to_have_value("")
    assert desk.page.evaluate(DRAFTS) == []
    text.fill("Secret")
    until(lambda: desk.page.evaluate(DRAFTS))
    desk.page.click(".header .face")
    desk.page.get_by_role("button", name="Log out").click()
    expect(desk.page.locator("h1")).to_have_text("Log in")
    assert desk.page.evaluate(DRAFTS) == []
