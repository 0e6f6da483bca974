"""Creating and connecting a bot, live; its page answers what the bot may do."""

import json
import re

import pytest
import requests
from playwright.sync_api import expect


def test_the_first_call_arrives_while_one_looks(wide):
    wide.go("/bots")
    page = wide.page
    page.get_by_role("link", name="New bot").click()
    button = page.get_by_role("button", name="Create bot and show token")
    before = button.bounding_box()
    page.fill("#username", "bot-fresh-1")
    page.get_by_label("All projects").check()
    page.get_by_text("bot-fresh-1 can read").wait_for()
    # The summary of its rights arrives before the click, and must not move the button.
    assert button.bounding_box() == before
    button.click()
    page.get_by_text("Waiting for the first MCP call").wait_for()
    address = page.input_value("#mcp-url")
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "get_self", "arguments": {}},
    }
    path = re.sub(r"^https?://[^/]+", "", address)
    assert requests.post(wide.base + path, json=call, timeout=20).status_code == 200
    connected = page.locator(".notice.good")
    expect(connected).to_contain_text("Connected: get_self", timeout=6000)
    # Only the form of the chosen client is shown.
    expect(page.locator("#mcp-claude")).to_be_visible()
    page.get_by_text("VS Code", exact=True).click()
    expect(page.locator("#mcp-vscode")).to_be_visible()
    expect(page.locator("#mcp-claude")).not_to_be_visible()
    for form in ("mcp-json", "mcp-vscode"):
        shown = page.input_value(f"#{form}")
        assert address in shown
        assert json.loads(shown)
        assert page.locator(f"#{form} + button").get_attribute("data-copy") == shown
    # The token is in no URL, and gone from the next page.
    assert "app_" not in page.url
    wide.go("/bots")
    assert not re.search(r"app_[a-z2-7]{32}", page.content())


def test_one_asks_by_keyboard_what_a_bot_may(wide):
    wide.go("/bots/bot-dev-1")
    wide.page.focus("#reference")
    wide.page.keyboard.type("DEMO-2")
    wide.press("Enter")
    wide.page.get_by_text("Ticket DEMO-2: read").wait_for()
    assert wide.page.get_by_text("Allowed by its access and projects.").count() == 2


@pytest.mark.parametrize(
    "path", ["/bots", "/new-bot", "/bots/bot-dev-1?reference=DEMO-2", "/tickets/DEMO-2"]
)
def test_a_phone_shows_it_whole(phone_visitor, path):
    phone_visitor.go(path)
    assert phone_visitor.overflow() <= 0
