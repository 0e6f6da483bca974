"""The login page for a stranger; test_session.py has the login dialog of an ended session."""

import pytest
from playwright.sync_api import expect

from tests.browser.browser_page import BrowserPage, watch

CAPS = """(field, on) => field.dispatchEvent(
    new KeyboardEvent("keyup", {key: "A", modifierCapsLock: on, bubbles: true}))"""


@pytest.fixture
def door(browser, seeded):
    """The login page, with a clock that the test controls. No errors may reach the console."""
    context = browser.new_context()
    wide = BrowserPage(context.new_page(), seeded.url)
    watch(wide.page, wide.problems)
    wide.page.clock.install()
    wide.go("/login")
    yield wide
    context.close()
    assert wide.problems == []


def test_the_password_is_shown_on_demand_and_caps_lock_is_told(door):
    field, caps = door.page.locator("#password"), door.page.locator("#caps")
    field.fill("a calm sentence")
    door.page.get_by_label("Show password").check()
    expect(field).to_have_attribute("type", "text")
    door.page.get_by_label("Show password").uncheck()
    expect(field).to_have_attribute("type", "password")
    field.focus()
    field.evaluate(CAPS, True)
    expect(caps).to_have_text("Caps Lock is on.")
    field.evaluate(CAPS, False)
    expect(caps).to_have_text("")


def test_after_too_many_attempts_the_time_runs_down(door):
    for _ in range(6):
        door.page.fill("#username", "nobody")
        door.page.fill("#password", "not the password")
        with door.page.expect_navigation():
            door.press("Enter")
    expect(door.page.get_by_role("alert")).to_contain_text("Wait 15 minutes")
    expect(door.page.locator("#username")).to_have_value("nobody")
    wait = door.page.locator("#wait")
    expect(wait).to_contain_text("14:")
    door.page.clock.fast_forward("10:00")
    expect(wait).to_contain_text("4:")
    door.page.clock.fast_forward("05:00")
    expect(wait.get_by_role("status")).to_have_text("You can try again now.")
    expect(wait).to_have_text("You can try again now.")
