"""Webhooks in a browser: created, tested, inspected, and the pages judged by axe."""

import re
import threading

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings, findings_in_both
from tests.browser.seed import seed
from tests.support.forking import FORKED
from tests.support.receiver import receiving
from tests.support.serving import serving, until


@pytest.fixture(scope="module")
def receiver(tmp_path_factory):
    with receiving(tmp_path_factory.mktemp("receiver")) as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory, receiver):
    """A server that may reach the receiver."""
    with serving(
        tmp_path_factory.mktemp("browser") / "instance",
        command=FORKED,
        WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8",
        WEBHOOK_CA_BUNDLE=str(receiver.ca_file),
    ) as running:
        yield running


@pytest.fixture(scope="module")
def seeded(served):
    return seed(served)


@pytest.fixture
def hook(seeded, receiver):
    """A webhook for ticket events, with a receiver that has received nothing."""
    receiver.received.clear()
    receiver.answer = 200
    given = {"url": receiver.url, "secret": "x" * 16, "event_types": ["ticket.*"]}
    made = seeded.call("POST", "/webhooks", given)["id"]
    yield made
    seeded.call("DELETE", f"/webhooks/{made}")


def logged(seeded, hook):
    """Wait until an attempt is in the log: it is written after the receiver has responded."""
    until(lambda: seeded.call("GET", f"/webhooks/{hook}/deliveries")["data"])


def test_a_webhook_is_made_tried_and_tells_of_a_change(wide, receiver, seeded):
    receiver.received.clear()
    receiver.answer = 200
    wide.go("/webhooks")
    wide.page.click("text=New webhook")
    wide.page.fill("#url", receiver.url)
    wide.page.uncheck('input[value="*"]')
    wide.page.click("summary:has-text('Tickets')")
    wide.page.check('input[value="ticket.*"]')
    assert findings(wide.page) == []
    wide.page.click("text=Create webhook")
    # The form before it has an empty field of the same name.
    expect(wide.page.locator("#secret")).to_have_value(re.compile(".{32}"))
    secret = wide.page.input_value("#secret")
    assert findings(wide.page) == []
    assert wide.page.url.endswith("/webhooks")
    wide.page.click("text=Send test event")
    expect(wide.page.locator("h1")).to_have_text("webhook.test")
    assert receiver.received[0].is_signed_with(secret)
    assert findings(wide.page) == []
    seeded.ticket("Told of")
    (made,) = seeded.call("GET", "/webhooks")["data"]
    path = f"/webhooks/{made['id']}/deliveries"
    until(lambda: len(seeded.call("GET", path)["data"]) == 2)
    wide.page.click(".admin-menu summary")
    wide.page.click(".admin-menu .menu-item:has-text('Webhooks')")
    assert findings(wide.page) == []
    wide.page.click(".hook-row a")
    expect(wide.page.locator(".delivery-row")).to_have_count(2)
    expect(wide.page.locator("#secret")).to_have_count(0)
    assert wide.overflow() <= 0
    wide.page.select_option("#filter-status", "failed")
    expect(wide.page.locator("#results")).to_contain_text("No deliveries match these filters.")
    assert "status=failed" in wide.page.url
    wide.page.click("[aria-label='More actions']")
    wide.page.click("a[data-dialog]:has-text('Delete')")
    expect(wide.page.locator("#dialog-title")).to_be_visible()
    assert findings(wide.page) == []
    wide.page.click("#dialog button.danger")
    expect(wide.page.locator("h1")).to_have_text("Webhooks")


def test_a_log_of_failures_is_accessible_and_leads_to_what_was_sent(wide, hook, receiver, seeded):
    receiver.answer = 404
    seeded.ticket("Missed")
    logged(seeded, hook)
    wide.go(f"/webhooks/{hook}")
    row = wide.page.locator(".delivery-row")
    expect(row).to_contain_text("HTTP 404")
    assert findings_in_both(wide.page) == []
    wide.page.click(".delivery-row a")
    expect(wide.page.locator("pre").last).to_contain_text('"title": "Missed"')
    assert findings_in_both(wide.page) == []
    receiver.answer = 200
    wide.page.click("text=Redeliver")
    expect(wide.page.locator("text=Attempt 2 (current)")).to_be_visible()
    expect(wide.page.locator(".badge.good").first).to_be_visible()
    assert findings_in_both(wide.page) == []
    wide.go(f"/webhooks/{hook}")
    expect(wide.page.locator(".strip").first).to_have_attribute(
        "aria-label", re.compile("Last 2 attempts: 1 delivered, 1 failed")
    )


def test_two_clicks_send_once(wide, hook, receiver, seeded):
    receiver.answer = 404
    seeded.ticket("Missed")
    logged(seeded, hook)
    wide.go(f"/webhooks/{hook}")
    wide.page.click(".delivery-row a")

    clicked = threading.Event()

    def after_both_clicks(_):
        clicked.wait(10)
        return 200

    receiver.answer = after_both_clicks
    wide.page.dblclick("text=Redeliver")
    clicked.set()
    expect(wide.page.locator("text=Attempt 2 (current)")).to_be_visible()
    assert len(receiver.received) == 2


# The other pages are tested in test_every_page.py.
def test_a_phone_shows_what_was_sent(phone, hook, receiver, seeded):
    seeded.ticket("Told of")
    logged(seeded, hook)
    phone.go(f"/webhooks/{hook}")
    phone.page.click(".delivery-row a")
    expect(phone.page.locator("h1")).to_have_text("ticket.created")
    assert phone.overflow() <= 0
    assert findings(phone.page) == []


def test_without_a_script(plain, hook, receiver, seeded):
    plain.go("/webhooks/new")
    plain.page.fill("#url", receiver.url)
    plain.page.click("text=Create webhook")
    assert plain.page.locator("#secret").input_value()
    plain.page.click("[aria-label='More actions']")
    plain.page.click("text=Rotate secret")
    assert plain.page.locator("#secret").input_value()
    plain.page.click("text=Send test event")
    expect(plain.page.locator("h1")).to_have_text("webhook.test")
    plain.page.click("main a:has-text('localhost')")
    plain.page.select_option("#filter-status", "failed")
    plain.page.click("text=Apply")
    expect(plain.page.locator("#results")).to_contain_text("No deliveries match these filters.")
    plain.page.click("[aria-label='More actions']")
    plain.page.click("main >> text=Delete")
    plain.page.click("button.danger")
    expect(plain.page.locator("h1")).to_have_text("Webhooks")
