"""Passkeys in a browser with a virtual authenticator, which approves each request."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings_in_both
from tests.browser.browser_page import WIDE, BrowserPage, watch
from tests.browser.seed import PASSWORD

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


@pytest.fixture
def ada_at_localhost(browser, seeded):
    """Ada at ``localhost``: browsers create no passkeys for an IP address."""
    context = browser.new_context(viewport=WIDE)
    name, _, value = seeded.cookie.partition("=")
    address = seeded.url.replace("127.0.0.1", "localhost")
    for url in (seeded.url, address):
        context.add_cookies([{"name": name, "value": value, "url": url}])
    page = BrowserPage(context.new_page(), address)
    watch(page.page, page.problems)
    yield page
    context.close()
    assert page.problems == []


def test_a_passkey_is_made_and_logs_in(ada_at_localhost, seeded):
    page = ada_at_localhost.page
    page.goto(f"{seeded.url}/profile/passkeys")
    expect(page.locator("main")).to_contain_text(f"Open {ada_at_localhost.base} to add a passkey.")
    expect(page.get_by_label("Name")).to_be_hidden()

    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    options = {**DEVICE, "automaticPresenceSimulation": True}
    made = device.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    ada_at_localhost.go("/profile/passkeys")
    page.get_by_label("Name").fill("Laptop")
    page.get_by_label("Current password").fill("not the password")
    ada_at_localhost.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The current password is incorrect.")
    expect(page.get_by_label("Current password")).to_be_focused()
    # A refusal names the field that was wrong, such as the code of two-factor.
    refused = {"error": {"message": "Wrong.", "details": {"field": "name"}}}
    ada_at_localhost.intercept(
        "**/passkeys/options", lambda asked: asked.fulfill(status=422, json=refused)
    )
    ada_at_localhost.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Wrong.")
    expect(page.get_by_label("Name")).to_be_focused()
    page.unroute("**/passkeys/options")
    page.get_by_label("Current password").fill(PASSWORD)
    ada_at_localhost.press("Enter")
    expect(page.get_by_role("status").first).to_have_text("Passkey added")
    expect(page.locator(".rows")).to_contain_text("Laptop")
    # The device refuses a second passkey, and says so.
    page.get_by_label("Name").fill("Again")
    page.get_by_label("Current password").fill(PASSWORD)
    ada_at_localhost.press("Enter")
    expect(page.get_by_role("alert")).to_have_text(
        "This device already has a passkey for your account."
    )

    # At first, nobody touches the device.
    simulate = "WebAuthn.setAutomaticPresenceSimulation"
    device.send(simulate, {"authenticatorId": made["authenticatorId"], "enabled": False})
    page.context.clear_cookies()
    ada_at_localhost.go("/login?next=/inbox")
    button = page.get_by_role("button", name="Use a passkey")
    button.focus()
    device.send(simulate, {"authenticatorId": made["authenticatorId"], "enabled": True})
    ada_at_localhost.press("Enter")
    page.wait_for_url(f"{ada_at_localhost.base}/inbox")
    ada_at_localhost.go("/profile/passkeys")
    expect(page.locator(".rows")).to_contain_text("Last used")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_role("button", name="Remove passkey")).to_be_visible()
    assert findings_in_both(page) == []
