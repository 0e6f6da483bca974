"""A session that ended: the login opens in place, and the refused request is sent again."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.seed import PASSWORD
from tests.support.serving import until

DRAFTS = "Object.keys(sessionStorage).filter(key => key.includes(':'))"


@pytest.fixture
def ticket(wide, seeded):
    """A new ticket, opened."""
    reference = seeded.ticket("To be talked about")
    wide.go(f"/tickets/{reference}")
    return wide, reference


def log_in(wide, password=PASSWORD):
    """Log in through the dialog that the page shows."""
    asked = wide.page.get_by_role("dialog", name="You were logged out")
    expect(asked.get_by_label("Username")).to_have_value("ada")
    expect(asked.get_by_label("Password")).to_be_focused()
    wide.page.keyboard.type(password)
    wide.press("Enter")
    return asked


def test_a_comment_is_sent_after_logging_in(ticket):
    wide, _ = ticket
    wide.page.fill("#comment-body", "Written while logged out")
    wide.page.context.clear_cookies()
    wide.page.click("#composer button[type=submit]")
    asked = log_in(wide, "not the password")
    expect(asked.get_by_role("alert")).to_be_visible()
    wide.press("Escape")
    expect(asked).not_to_be_visible()
    expect(wide.page.locator("#comment-body")).to_have_value("Written while logged out")
    wide.page.click("#composer button[type=submit]")
    log_in(wide)
    expect(asked).not_to_be_visible()
    expect(wide.page.locator(".comment-text")).to_have_text("Written while logged out")
    expect(wide.page.locator("#comment-body")).to_have_value("")
    assert wide.page.evaluate(DRAFTS) == []


def test_news_go_on_after_logging_in(ticket, seeded):
    wide, reference = ticket
    wide.page.focus("#comment-body")
    wide.page.context.clear_cookies()
    wide.ask_for_news()
    expect(wide.toast()).to_contain_text("You were logged out")
    # A user who is typing is not interrupted.
    expect(wide.page.locator("#comment-body")).to_be_focused()
    wide.toast().get_by_text("Log in").click()
    log_in(wide)
    expect(wide.toast()).to_have_count(0)
    seeded.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"})
    expect(wide.page.locator("#edit-priority")).to_contain_text("Urgent")


def test_a_card_is_moved_after_logging_in(wide, seeded):
    reference = seeded.ticket("To be moved", state_id=seeded.ids["To do"])
    wide.go("/projects/DEMO/board")
    wide.card(reference).locator(".card-title").focus()
    wide.page.context.clear_cookies()
    wide.press("Shift+ArrowRight")
    log_in(wide)
    expect(wide.toast()).to_contain_text(f"{reference} moved to In progress")
    expect(wide.card_at("In progress", reference)).to_be_visible()
    wide.page.context.clear_cookies()
    wide.press("Control+k")
    log_in(wide)
    expect(wide.page.locator("#palette-list [role=option]").first).to_be_visible()


def test_a_login_that_does_not_come_can_be_tried_again(wide, seeded):
    reference = seeded.ticket("To be moved", state_id=seeded.ids["To do"])
    wide.go("/projects/DEMO/board")
    wide.card(reference).locator(".card-title").focus()
    wide.page.context.clear_cookies()
    wide.intercept(
        "**/login",
        lambda route: route.fulfill(status=502, content_type="text/html", body="Bad gateway"),
    )
    wide.press("Shift+ArrowRight")
    expect(wide.toast().filter(has_text="The server did not respond")).to_be_visible()
    expect(wide.card_at("To do", reference)).to_be_visible()
    wide.page.unroute("**/login")
    wide.card(reference).locator(".card-title").focus()
    wide.press("Shift+ArrowRight")
    log_in(wide)
    expect(wide.card_at("In progress", reference)).to_be_visible()


def test_a_form_that_leaves_the_page_asks_before_it_goes(wide):
    wide.go("/tickets/new?project=DEMO")
    wide.page.fill("#title", "Made after all")
    wide.page.fill("[name=body]", "With all of its text")
    wide.page.context.clear_cookies()
    wide.page.locator("main form button.primary").click()
    log_in(wide)
    expect(wide.page.locator("h1")).to_have_text("Made after all")
    expect(wide.page.locator("#ticket-field-body")).to_contain_text("With all of its text")
    assert wide.page.evaluate(DRAFTS) == []


def test_a_form_stays_where_it_is_while_the_server_does_not_answer(wide):
    wide.go("/tickets/new?project=DEMO")
    wide.page.fill("#title", "Made later")
    wide.intercept("**/login", lambda route: route.fulfill(status=502, body="Bad gateway"))
    wide.page.locator("main form button.primary").click()
    expect(wide.toast()).to_contain_text("The server did not respond")
    expect(wide.page.locator("#title")).to_have_value("Made later")
    wide.page.unroute("**/login")
    wide.page.locator("main form button.primary").click()
    expect(wide.page.locator("h1")).to_have_text("Made later")


def test_a_draft_outlives_a_reload_and_an_error_but_not_a_logout(wide):
    text = wide.page.locator("[name=body]")
    note = wide.page.get_by_text(re.compile(r"^Draft from \d\d:\d\d"))
    wide.go("/tickets/new?project=DEMO")
    wide.page.fill("#title", "Never made")
    text.fill("Kept for later")
    until(lambda: wide.page.evaluate(DRAFTS))
    wide.page.reload()
    expect(text).to_have_value("Kept for later")
    expect(note).to_be_visible()
    # An error of the server does not lose the draft.
    wide.page.fill("#title", "Never made")
    broken = wide.page.request.get(f"{wide.base}/nowhere", headers={"Accept": "text/html"})
    wide.intercept(
        "**/tickets/new",
        lambda route: route.fulfill(status=503, content_type="text/html", body=broken.text()),
    )
    wide.page.locator("main form button.primary").click()
    expect(wide.page.locator("h1")).to_have_text("Page not found")
    wide.page.unroute("**/tickets/new")
    wide.go("/tickets/new?project=DEMO")
    expect(text).to_have_value("Kept for later")
    note.get_by_role("button", name="Discard").click()
    expect(text).to_have_value("")
    assert wide.page.evaluate(DRAFTS) == []
    text.fill("Secret")
    until(lambda: wide.page.evaluate(DRAFTS))
    wide.page.click(".header .face")
    wide.page.get_by_role("button", name="Log out").click()
    expect(wide.page.locator("h1")).to_have_text("Log in")
    assert wide.page.evaluate(DRAFTS) == []
