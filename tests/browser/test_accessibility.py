"""Every page, in both themes: WCAG 2.2 A and AA by axe, no error, no breach of the policy."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.browser_page import watch
from tests.support.forking import FORKED
from tests.support.serving import serving

RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    },
    "rules": {
        name: {"enabled": True} for name in ("landmark-unique", "scrollable-region-focusable")
    },
    "resultTypes": ["violations"],
}
# In the dark colours alone are others; all else is judged in the light.
RULES_OF_COLOURS = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    "resultTypes": ["violations"],
}
AXE = Axe().axe_script
JUDGE = "rules => axe.run(document, rules).then(results => results.violations)"
# One of those texts that look alike on the same grounds, and each that may lie over something else.
JUDGE_COLOURS = """rules => {
    const seen = new Set(), grounds = new Map();
    const lie = new Set(["absolute", "fixed", "sticky"]);
    const groundOf = element => {
        if (!element) return "";
        if (!grounds.has(element)) {
            const below = groundOf(element.parentElement), style = getComputedStyle(element);
            const own = [style.backgroundColor, style.backgroundImage, style.opacity, style.filter];
            grounds.set(element, below === null || lie.has(style.position) ? null
                : own.join() === "rgba(0, 0, 0, 0),none,1,none" ? below : `${below}/${own}`);
        }
        return grounds.get(element);
    };
    const isNew = element => {
        const style = getComputedStyle(element), around = getComputedStyle(element.parentElement);
        const look = [groundOf(element), element.localName, style.color, style.fontSize,
            style.fontWeight, style.textShadow, style.textDecoration, around.color].join(";");
        const isKnown = groundOf(element) !== null && seen.has(look);
        seen.add(look);
        return !isKnown;
    };
    const hasText = element => element.matches("input, select, textarea")
        || [...element.childNodes].some(one => one.nodeType === 3 && one.data.trim());
    const include = [...document.body.querySelectorAll("*")].filter(
        element => hasText(element) && element.checkVisibility() && isNew(element));
    return axe.run({ include }, rules).then(results => results.violations);
}"""
DARK = "matchMedia('(prefers-color-scheme: dark)').matches"
# Pages of which there is a picture are judged in test_every_page.py; these are not among them.
PAGES = (
    "/projects/DEMO/board?priority=low",
    *(f"/projects/DEMO/board?group={by}" for by in ("epic", "priority", "label")),
    "/projects/DEMO/tickets?priority=low",
    "/tickets/new",
    *(f"/tickets/DEMO-2/pick/{name}" for name in ("labels", "priority", "due_date", "parent")),
    *(
        f"/tickets/DEMO-2/fields/{name}"
        for name in ("title", "state", "assignee", "due_date", "parent")
    ),
    "/tickets/DEMO-99",
    "/bots/bot-dev-1?reference=DEMO-2",
)
MISSING = ("/tickets/DEMO-99",)
# What opens on a page: the address, and what to click.
OPENED = (
    ("/tickets/DEMO-2", "#edit-body"),
    ("/tickets/DEMO-2", "#edit-assignee"),
    ("/tickets/DEMO-2", "#edit-parent"),
    ("/tickets/DEMO-2", "#relations summary"),
    ("/tickets/DEMO-2", "#watchers summary"),
    ("/tickets/DEMO-2", "a[data-dialog] >> nth=0"),
    ("/design", "[data-open='#sample-dialog']"),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server in development, which has the page of the design system."""
    instance = tmp_path_factory.mktemp("accessible") / "instance"
    with serving(instance, command=FORKED, FLASK_DEBUG="1") as running:
        yield running


def findings(page) -> list[str]:
    """What axe finds, one line each."""
    # Colours are judged at rest.
    page.emulate_media(reduced_motion="reduce")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    is_dark = page.evaluate(DARK)
    found = page.evaluate(*((JUDGE_COLOURS, RULES_OF_COLOURS) if is_dark else (JUDGE, RULES)))
    return [
        f"{page.url}: {one['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
    ]


def findings_in_both(page) -> list[str]:
    """What axe finds in the light, and in the dark what differs there."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += findings(page)
    return found


COLOURED = """([scheme, where, colour]) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`@media (prefers-color-scheme: ${scheme}) { ${where} { color: ${colour} } }`);
    document.adoptedStyleSheets = [sheet];
}"""


@pytest.mark.parametrize(("scheme", "colour"), [("light", "#ccc"), ("dark", "#444")])
@pytest.mark.parametrize("where", ["[data-ref=DEMO-6] .ticket-id", ".brand"])
def test_a_text_without_contrast_in_one_theme_is_found(visitor, where, scheme, colour):
    visitor.go("/projects/DEMO/board")
    visitor.page.evaluate(COLOURED, [scheme, where, colour])
    found = findings_in_both(visitor.page)
    assert found
    assert all(": color-contrast: " in one for one in found)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_accessible(visitor, path):
    visitor.go(path, 404 if path in MISSING else 200)
    assert findings_in_both(visitor.page) == []
    assert visitor.page.locator("h1").count() == 1
    assert visitor.overflow() <= 0


@pytest.mark.parametrize(("path", "opener"), OPENED)
def test_what_opens_is_accessible(visitor, path, opener):
    visitor.go(path)
    visitor.page.click(opener)
    visitor.arrived()
    assert findings_in_both(visitor.page) == []


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
