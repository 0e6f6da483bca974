"""What the answers of the server bring is whole at once: nothing of it waits to be made ready."""

import pytest
from playwright.sync_api import expect

# Click as soon as the news are in the page, before anything else can run. What the page fetches for
# itself when it opens is no news.
CLICK_AT_ONCE = """() => document.addEventListener("htmx:afterSwap", function look(event) {
    if (event.detail.requestConfig.elt.id !== "live") return;
    document.removeEventListener("htmx:afterSwap", look);
    setTimeout(() => document.getElementById("edit-title").click());
})"""


@pytest.fixture
def ticket(desk, furnished):
    reference = furnished.ticket("Of this test")
    desk.go(f"/tickets/{reference}")
    return reference


def test_an_editor_opened_as_news_arrive_opens_in_place_with_the_focus(desk, furnished, ticket):
    desk.page.evaluate(CLICK_AT_ONCE)
    furnished.call("PATCH", f"/tickets/{ticket}", {"title": "Renamed"}, as_bot=True)
    desk.page.evaluate("document.body.dispatchEvent(new Event('app:poll'))")
    expect(desk.page.locator("#value")).to_have_value("Renamed")
    expect(desk.page.locator("#value")).to_be_focused()
    # What is typed goes there, and stays through further news.
    desk.page.keyboard.press("End")
    desk.page.keyboard.type(" by me")
    furnished.call("PATCH", f"/tickets/{ticket}", {"priority": "urgent"}, as_bot=True)
    desk.page.evaluate("document.body.dispatchEvent(new Event('app:poll'))")
    expect(desk.page.locator("#edit-priority")).to_contain_text("Urgent")
    expect(desk.page.locator("#value")).to_be_focused()
    desk.page.keyboard.press("Enter")
    expect(desk.page.locator("h1")).to_have_text("Renamed by me")
    assert desk.page.url.endswith(f"/tickets/{ticket}")


LOOK = """([place, part]) => {
    const style = getComputedStyle(document.querySelector(place), part);
    return [style.opacity, style.animationName, style.animationDelay];
}"""
WAITING = ([".header", "::after"], "1"), (["#results", None], "0.5")


def test_what_takes_longer_than_300_ms_shows_that_it_is_on_its_way(desk):
    desk.go("/projects/DEMO/tickets")
    held = []

    def hold(route):
        held.append(route)

    desk.page.route("**/projects/DEMO/tickets?*", hold)
    assert [desk.page.evaluate(LOOK, one)[1] for one, _ in WAITING] == ["none", "none"]
    desk.page.fill("#filter-q", "plain")
    for place, late in WAITING:
        desk.page.wait_for_function(f"(place) => ({LOOK})(place)[0] === '{late}'", arg=place)
        assert desk.page.evaluate(LOOK, place)[1:] == ["waited", "0.3s"]
    held[0].continue_()
    for place, _ in WAITING:
        desk.page.wait_for_function(f"(place) => ({LOOK})(place)[1] === 'none'", arg=place)
