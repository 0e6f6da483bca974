"""Finding things: the palette on every page, and the page of results."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings_in_both

# The limit of the specification between the last key and the results.
ALLOWED_MS = 100


@pytest.fixture(scope="module")
def gates(seeded):
    """Tickets and pages about gates."""
    for number in range(12):
        seeded.ticket(f"Mend gate {number}", body="It hangs loose in the wind")
    seeded.call("POST", "/wiki/pages", {"title": "All gates", "body": "oak and iron"})
    page = {"title": "Gates of demo", "body": "oak", "project_id": seeded.ids["project"]}
    seeded.call("POST", "/wiki/pages", page)
    return seeded


def chosen(wide):
    """The option that Enter would open."""
    return wide.page.locator("#palette [role=option][aria-selected=true]")


def typed(wide, text):
    """Open the palette and type into it."""
    wide.press("Control+k")
    expect(wide.page.locator("#palette-q")).to_be_focused()
    wide.page.keyboard.type(text)


@pytest.mark.parametrize("path", ["/projects/DEMO/board", "/tickets/DEMO-2", "/wiki", "/search"])
def test_the_palette_opens_on_every_page(visitor, gates, path):
    visitor.go(path)
    visitor.press("Control+k")
    expect(chosen(visitor)).to_have_count(1)
    visitor.press("Control+k")
    expect(visitor.page.locator("#palette")).not_to_be_visible()
    visitor.press("Meta+k")
    expect(visitor.page.locator("#palette")).to_be_visible()
    visitor.press("Escape")
    expect(visitor.page.locator("#palette")).not_to_be_visible()
    visitor.page.click("a:has-text('Search')[data-palette]")
    expect(visitor.page.locator("#palette-q")).to_be_focused()


def test_it_opens_while_something_is_written_and_gives_the_focus_back(wide, gates):
    wide.go("/tickets/DEMO-2")
    wide.page.fill("#child-title", "half a sentence")
    wide.press("Control+k")
    expect(wide.page.locator("#palette-q")).to_be_focused()
    wide.press("Escape")
    expect(wide.page.locator("#child-title")).to_be_focused()
    expect(wide.page.locator("#child-title")).to_have_value("half a sentence")
    # In a Markdown field, the same keys insert a link.
    wide.page.fill("#comment-body", "")
    wide.press("Control+k")
    expect(wide.page.locator("#comment-body")).to_be_focused()
    expect(wide.page.locator("#comment-body")).to_have_value(re.compile(r"^\[.*\]\(.*\)$"))
    expect(wide.page.locator("#palette")).not_to_be_visible()


def test_a_slash_opens_it_unless_it_is_typed(wide, gates):
    wide.go("/tickets/DEMO-2")
    wide.page.focus("#comment-body")
    wide.press("/")
    expect(wide.page.locator("#comment-body")).to_have_value("/")
    wide.page.locator("h1").click()
    wide.page.evaluate("document.activeElement.blur()")
    wide.press("/")
    expect(wide.page.locator("#palette-q")).to_be_focused()
    expect(wide.page.locator("#palette-q")).to_have_value("")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("demo 2", "/tickets/DEMO-2"),
        ("gates of d", "/projects/DEMO/wiki/gates-of-demo"),
        ("board in demo", "/projects/DEMO/board"),
        ("new ticket", "/tickets/new?project=DEMO"),
        ("settings demo", "/projects/DEMO/settings/general"),
        ("zebra", "/search?q=zebra"),
    ],
)
def test_what_is_typed_last_is_where_enter_leads(visitor, gates, text, where):
    """Enter follows the last key at once, before its response can be there."""
    visitor.go("/people")
    visitor.press("Control+k")
    visitor.page.keyboard.type(text)
    visitor.press("Enter")
    visitor.page.wait_for_url(f"**{where}")


def test_arrows_walk_the_options_and_around_the_ends(visitor, gates):
    visitor.go("/")
    typed(visitor, "mend gate")
    options = visitor.page.locator("#palette [role=option]")
    expect(options).to_have_count(9)
    expect(chosen(visitor)).to_contain_text("Mend gate 11")
    visitor.press("ArrowDown")
    expect(chosen(visitor)).to_contain_text("Mend gate 10")
    field = visitor.page.locator("#palette-q")
    expect(field).to_have_attribute("aria-activedescendant", chosen(visitor).get_attribute("id"))
    visitor.press("ArrowUp", "ArrowUp")
    expect(chosen(visitor)).to_contain_text("All results")
    visitor.press("ArrowDown")
    expect(chosen(visitor)).to_contain_text("Mend gate 11")
    assert visitor.page.locator("#palette mark").first.inner_text() == "Mend"
    options.nth(2).click()
    expect(visitor.page.locator("h1")).to_have_text("Mend gate 9")


@pytest.mark.quiet
def test_results_are_there_within_a_tenth_of_a_second(wide, gates):
    wide.go("/projects/DEMO/board")
    wide.press("Control+k")
    waited = wide.page.evaluate(
        """async () => {
            const field = document.getElementById("palette-q");
            const list = document.getElementById("palette-list");
            const times = [];
            for (const text of ["m", "me", "men", "mend", "mend g", "wind", "w", "oak"]) {
                const began = performance.now();
                const changed = new Promise((done) => new MutationObserver((_, watch) => {
                    watch.disconnect();
                    done(performance.now() - began);
                }).observe(list, { childList: true }));
                field.value = text;
                field.dispatchEvent(new Event("input", { bubbles: true }));
                times.push(await changed);
            }
            return times;
        }"""
    )
    # Other tests run in parallel; a delay that the page itself causes would be in every time.
    assert sorted(waited)[len(waited) // 4] < ALLOWED_MS, waited


def test_results_follow_what_is_typed(visitor, gates):
    visitor.go("/search")
    expect(visitor.page.locator("#q")).to_be_focused()
    visitor.page.keyboard.type("gat")
    hits = visitor.page.locator(".hit")
    expect(hits).to_have_count(14)
    expect(visitor.page.locator("#count")).to_have_text("14 results")
    expect(visitor.page).to_have_url(f"{visitor.base}/search?q=gat")
    visitor.page.check("input[value=wiki_page]", force=True)
    expect(hits).to_have_count(2)
    expect(visitor.page).to_have_url(f"{visitor.base}/search?q=gat&type=wiki_page")
    visitor.page.fill("#q", "zebra")
    expect(visitor.page.locator("#results h2")).to_have_text("No results")
    visitor.page.click("text=Search everything")
    expect(visitor.page).to_have_url(f"{visitor.base}/search?q=zebra")


def test_results_are_walked_and_opened_by_keys(visitor, gates):
    visitor.go("/search?q=gate")
    links = visitor.page.locator(".hit a")
    visitor.page.focus("#q")
    visitor.press("ArrowDown")
    expect(links.nth(0)).to_be_focused()
    visitor.press("j", "j", "k")
    expect(links.nth(1)).to_be_focused()
    title = links.nth(1).inner_text()
    visitor.press("Enter")
    expect(visitor.page.locator("h1")).to_have_text(title)
    visitor.page.go_back()
    expect(visitor.page.locator(".hit")).to_have_count(14)
    expect(visitor.page.locator("#q")).to_have_value("gate")


def test_j_is_a_letter_where_one_types(visitor, gates):
    visitor.go("/search?q=gate")
    visitor.page.focus("#q")
    visitor.press("End", "j")
    expect(visitor.page.locator("#q")).to_have_value("gatej")


def test_without_a_script_search_is_a_form(plain, gates):
    plain.go("/people")
    with plain.page.expect_navigation(url="**/search"):
        plain.page.click(".search-open")
    plain.page.fill("#q", "gate oak")
    plain.page.focus("input[value=wiki_page]")
    plain.press("Space")
    plain.page.click("main button:has-text('Search')")
    expect(plain.page.locator(".hit")).to_have_count(2)
    plain.page.click(".hit a >> nth=0")
    expect(plain.page.locator("h1")).to_contain_text("ates")


# Pages of results and the empty palette are tested in test_every_page.py.
def test_results_in_the_palette_are_accessible(visitor, gates):
    visitor.go("/search?q=zebra+x&type=ticket")
    typed(visitor, "gate")
    expect(visitor.page.locator("#palette [role=option]")).to_have_count(9)
    assert findings_in_both(visitor.page) == []


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_everything_can_be_touched(phone, gates, width):
    phone.page.set_viewport_size({"width": width, "height": 844})
    for path in ("/search?q=" + "w" * 200, "/projects/DEMO/board"):
        phone.go(path)
        # The numbers in the header load after the page.
        phone.page.wait_for_load_state("networkidle")
        assert phone.overflow() <= 0
        for one in phone.page.locator(".header a:visible, .header summary:visible").all():
            box = one.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["height"] >= 24
    phone.page.locator(".bottom-bar [data-palette]").tap()
    phone.page.keyboard.type("mend gate")
    expect(phone.page.locator("#palette [role=option]")).to_have_count(9)
    assert phone.overflow() <= 0
    phone.page.locator("#palette [role=option]").nth(1).tap()
    phone.page.wait_for_url("**/tickets/DEMO-*")


@pytest.mark.parametrize(
    ("words", "opens"),
    [
        ("change st", "state"),
        ("assign", "assignee"),
        ("edit lab", "labels"),
        ("set due", "due_date"),
    ],
)
def test_the_palette_opens_a_picker_of_the_ticket_at_hand(visitor, gates, words, opens):
    visitor.go("/tickets/DEMO-2")
    typed(visitor, words)
    visitor.press("Enter")
    expect(visitor.page.locator(f"#ticket-field-{opens} .picker :focus")).to_have_count(1)
    visitor.press("Escape")
    expect(visitor.page.locator(f"#edit-{opens}")).to_be_focused()


def test_the_palette_watches_and_copies(wide, gates):
    wide.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wide.go("/tickets/DEMO-2")
    before = wide.page.inner_text("#watch")
    typed(wide, "watch or")
    wide.press("Enter")
    expect(wide.page.locator("#watch")).not_to_have_text(before)
    typed(wide, "copy link")
    wide.press("Enter")
    expect(wide.toast()).to_contain_text("Copied")
    assert wide.page.evaluate("navigator.clipboard.readText()").endswith("/tickets/DEMO-2")
    # The ticket has an assignee, so there is no button for taking it.
    typed(wide, "assign to me")
    expect(wide.page.locator("[data-press=me]")).to_have_count(0)


def test_recent_places_come_first_while_nothing_is_typed(wide, gates):
    for path in ("/wiki/all-gates", "/tickets/DEMO-2", "/tickets/DEMO-99", "/projects/DEMO/board"):
        wide.page.goto(wide.base + path)
    wide.press("Control+k")
    expect(chosen(wide)).to_have_text("DEMO-2 A rich ticket")
    recent = wide.page.get_by_role("group", name="Recent").locator("[role=option]")
    expect(recent).to_have_text(["DEMO-2 A rich ticket", "All gates"])
    assert findings_in_both(wide.page) == []
    wide.press("ArrowDown", "Enter")
    wide.page.wait_for_url("**/wiki/all-gates")
    wide.page.context.clear_cookies()
    wide.page.goto(wide.base + "/login")
    assert wide.page.evaluate("localStorage.getItem('recent')") is None
