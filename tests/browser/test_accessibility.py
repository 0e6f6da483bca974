"""What axe must find, and what has no page of its own: overlays that keys open, and the login."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings, findings_in_both
from tests.browser.browser_page import watch
from tests.support.forking import FORKED
from tests.support.serving import serving

COLORED = """([scheme, where, color]) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`@media (prefers-color-scheme: ${scheme}) { ${where} { color: ${color} } }`);
    document.adoptedStyleSheets = [sheet];
}"""


@pytest.mark.parametrize(("scheme", "color"), [("light", "#ccc"), ("dark", "#444")])
@pytest.mark.parametrize("where", ["[data-ref=DEMO-6] .ticket-id", ".brand"])
def test_a_text_without_contrast_in_one_theme_is_found(visitor, where, scheme, color):
    visitor.go("/projects/DEMO/board")
    # A text that passed is judged again after its color has changed.
    assert findings_in_both(visitor.page) == []
    visitor.page.evaluate(COLORED, [scheme, where, color])
    found = findings_in_both(visitor.page)
    assert found
    assert all(": color-contrast: " in one for one in found)
    # A text that failed is judged again, too.
    assert findings_in_both(visitor.page) == found


CROWDED = """() => {
    const target = '<button aria-label="One"></button><button aria-label="Other"></button>';
    const box = Object.assign(document.createElement("div"), { innerHTML: target });
    document.querySelector("main").append(box);
    [...box.children].forEach((one, nth) =>
        Object.assign(one.style, { position: "absolute", top: "300px", left: `${300 + 18 * nth}px`,
            width: "16px", height: "16px", minHeight: 0, padding: 0 }));
}"""


def test_targets_without_room_are_found_on_a_page_whose_others_are_known(visitor):
    visitor.go("/projects")
    assert findings_in_both(visitor.page) == []
    visitor.page.evaluate(CROWDED)
    for _ in range(2):
        found = findings_in_both(visitor.page)
        assert len(found) == 2
        assert all(": target-size: " in one for one in found)


def test_what_keys_and_a_lost_session_open_is_accessible(wide):
    wide.go("/projects/DEMO/board")
    wide.page.locator(".card-title").first.focus()
    wide.press("x")
    expect(wide.page.locator("#bulk-count")).to_have_text("1")
    assert findings_in_both(wide.page) == []
    wide.page.context.clear_cookies()
    wide.press("m", "Control+Enter")
    expect(wide.page.get_by_role("dialog", name="You were logged out")).to_be_visible()
    assert findings_in_both(wide.page) == []


@pytest.mark.parametrize("path", ["/login", "/tickets/DEMO-2"])
def test_the_way_in_is_accessible(wide, path):
    wide.page.context.clear_cookies()
    wide.go(path)
    assert "/login" in wide.page.url
    assert findings_in_both(wide.page) == []


def test_the_first_minutes_of_a_new_installation(browser, tmp_path):
    """From nothing to a bot's first call: set up, the sample project, a person, a bot."""
    with serving(tmp_path / "instance", command=FORKED) as fresh:
        context = browser.new_context(viewport={"width": 390, "height": 844})
        page = context.new_page()
        problems: list[str] = []
        watch(page, problems)
        page.goto(fresh.url)
        assert page.url.endswith("/setup")
        assert findings(page) == []
        page.fill("#username", "ada")
        page.fill("#password", "a calm sentence")
        page.get_by_role("button", name="Create account").click()
        page.get_by_role("button", name="Load the sample project").click()
        page.wait_for_url("**/start/people")
        page.fill("#display_name", "Cleo")
        page.get_by_role("button", name="Create invite link").click()
        page.get_by_role("heading", name="Invite link for Cleo").wait_for()
        assert findings(page) == []
        page.get_by_role("link", name="Next: connect a bot").click()
        page.wait_for_url("**/start/bot")
        page.fill("#username", "bot-first-1")
        page.get_by_role("button", name="Create bot and show token").click()
        page.get_by_text("Waiting for the first MCP call").wait_for()
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        path = page.input_value("#mcp-url").split("/", 3)[3]
        call = {"name": "get_self", "arguments": {}}
        fresh.request(
            "POST", f"/{path}", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        )
        page.get_by_text("Connected: get_self").wait_for(timeout=6000)
        page.get_by_role("link", name="Open the board").click()
        page.wait_for_url("**/projects/SAMPLE/board")
        assert page.locator(".card").count() > 20
        assert problems == []
        context.close()
