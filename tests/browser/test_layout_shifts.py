"""Content of responses is complete when it appears: none of it waits to be prepared by a script."""

import pytest
from playwright.sync_api import expect

# Click as soon as news is on the page, before anything else can run. The requests that the page
# sends when it opens do not count as news.
CLICK_AT_ONCE = """() => document.addEventListener("htmx:afterSwap", function look(event) {
    if (event.detail.requestConfig.elt.id !== "live") return;
    document.removeEventListener("htmx:afterSwap", look);
    setTimeout(() => document.getElementById("edit-title").click());
})"""


@pytest.fixture
def ticket(wide, seeded):
    reference = seeded.ticket("Of this test")
    wide.go(f"/tickets/{reference}")
    return reference


def test_an_editor_opened_as_news_arrive_opens_in_place_with_the_focus(wide, seeded, ticket):
    wide.page.evaluate(CLICK_AT_ONCE)
    seeded.call("PATCH", f"/tickets/{ticket}", {"title": "Renamed"}, as_bot=True)
    wide.page.evaluate("document.body.dispatchEvent(new Event('app:poll'))")
    expect(wide.page.locator("#value")).to_have_value("Renamed")
    expect(wide.page.locator("#value")).to_be_focused()
    # Typing goes to the editor, and survives further news.
    wide.page.keyboard.press("End")
    wide.page.keyboard.type(" by me")
    seeded.call("PATCH", f"/tickets/{ticket}", {"priority": "urgent"}, as_bot=True)
    wide.page.evaluate("document.body.dispatchEvent(new Event('app:poll'))")
    expect(wide.page.locator("#edit-priority")).to_contain_text("Urgent")
    expect(wide.page.locator("#value")).to_be_focused()
    wide.page.keyboard.press("Enter")
    expect(wide.page.locator("h1")).to_have_text("Renamed by me")
    assert wide.page.url.endswith(f"/tickets/{ticket}")


LOOK = """([place, part]) => {
    const style = getComputedStyle(document.querySelector(place), part);
    return [style.opacity, style.animationName, style.animationDelay];
}"""
WAITING = ([".header", "::after"], "1"), (["#results", None], "0.5")


def test_what_takes_longer_than_300_ms_shows_that_it_is_on_its_way(wide):
    wide.go("/projects/DEMO/tickets")
    held = []

    def hold(route):
        held.append(route)

    wide.intercept("**/projects/DEMO/tickets?*", hold)
    assert [wide.page.evaluate(LOOK, one)[1] for one, _ in WAITING] == ["none", "none"]
    wide.page.fill("#filter-q", "plain")
    for place, late in WAITING:
        wide.page.wait_for_function(f"(place) => ({LOOK})(place)[0] === '{late}'", arg=place)
        assert wide.page.evaluate(LOOK, place)[1:] == ["waited", "0.3s"]
    held[0].continue_()
    for place, _ in WAITING:
        wide.page.wait_for_function(f"(place) => ({LOOK})(place)[1] === 'none'", arg=place)
