"""The board: dragging, conflicts, quick add, filters."""

from playwright.sync_api import expect

from tests.browser.test_journey import drag


def test_escape_puts_a_dragged_card_back(desk, furnished):
    reference = furnished.ticket("Stays here", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    start = desk.card(reference).bounding_box()
    mouse = desk.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(start["x"] + 400, start["y"] + 40, steps=5)
    expect(desk.page.locator(".ghost")).to_be_visible()
    desk.press("Escape")
    expect(desk.page.locator(".ghost")).to_have_count(0)
    mouse.up()
    expect(desk.card_in("Backlog", "Stays here")).to_be_visible()
    assert desk.page.url.endswith("/board")


def test_a_small_movement_is_a_click(desk, furnished):
    reference = furnished.ticket("Just a click")
    desk.go("/projects/DEMO/board")
    box = desk.card(reference).locator(".card-title").bounding_box()
    mouse = desk.page.mouse
    mouse.move(box["x"] + 10, box["y"] + 8)
    mouse.down()
    mouse.move(box["x"] + 13, box["y"] + 9)
    mouse.up()
    expect(desk.page.locator("h1")).to_have_text("Just a click")


def test_a_move_can_be_undone(desk, furnished):
    reference = furnished.ticket("There and back", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    drag(desk, reference, "In review")
    expect(desk.card_in("In review", "There and back")).to_be_visible()
    desk.page.click(f"[data-undo][data-ref={reference}]")
    expect(desk.card_in("Backlog", "There and back")).to_be_visible()


def test_a_card_that_a_bot_moved_meanwhile_shows_its_true_place(desk, furnished):
    reference = furnished.ticket("Contested", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    furnished.call(
        "POST",
        f"/tickets/{reference}/transition",
        {"state_id": furnished.ids["In review"]},
        as_bot=True,
    )
    drag(desk, reference, "In progress")
    expect(desk.card_in("In review", "Contested")).to_be_visible()
    expect(desk.toast()).to_contain_text(f"bot-dev-1 moved {reference} to In review meanwhile")
    desk.page.click("text=Move anyway")
    expect(desk.card_in("In progress", "Contested")).to_be_visible()


def test_a_failed_move_puts_the_card_back_and_says_so(desk, furnished):
    reference = furnished.ticket("Unlucky", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    furnished.call("DELETE", f"/tickets/{reference}")
    drag(desk, reference, "In progress")
    expect(desk.toast()).to_contain_text("This ticket was deleted")
    expect(desk.card_in("Backlog", "Unlucky")).to_be_visible()


def test_counts_follow_the_cards(desk, furnished):
    reference = furnished.ticket("Counted", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    before = int(desk.column("In review").locator(".count").inner_text())
    drag(desk, reference, "In review")
    expect(desk.column("In review").locator(".count")).to_have_text(str(before + 1))


def test_quick_add_stays_open_and_creates_each_ticket_once(desk):
    desk.go("/projects/DEMO/board")
    desk.page.click('.column[data-name="To do"] [data-add]')
    for title in ("One more", "And another"):
        desk.page.fill("#quick-title", title)
        desk.press("Enter", "Enter")
        expect(desk.card_in("To do", title)).to_have_count(1)
        expect(desk.page.locator("#quick-title")).to_be_focused()
    desk.press("Escape")
    expect(desk.page.locator(".quick-add")).to_have_count(0)
    assert desk.focused() == "Add to To do"


def test_quick_add_says_what_is_wrong(desk):
    desk.go("/projects/DEMO/board")
    desk.page.click('.column[data-name="To do"] [data-add]')
    desk.page.fill("#quick-title", "   ")
    desk.press("Enter")
    expect(desk.page.locator(".quick-add .problem")).to_contain_text("must not be blank")


def choose_filter(desk, name: str, value: str) -> None:
    """Tick a filter in the menu, and close it."""
    desk.page.click(".filter-menu summary")
    desk.page.check(f'.filter-menu [name={name}][value="{value}"]')
    desk.page.click(".filter-menu summary", position={"x": 5, "y": 5})


def test_filters_live_in_the_address(desk, furnished):
    desk.go("/projects/DEMO/board")
    choose_filter(desk, "priority", "urgent")
    expect(desk.page.locator(".card")).to_have_count(1)
    assert desk.page.url.endswith("/board?priority=urgent")
    expect(desk.column("To do").locator(".count")).to_contain_text("1 of")
    desk.page.reload()
    expect(desk.page.locator(".card")).to_have_count(1)
    desk.page.get_by_label("Mine").check()
    expect(desk.page.locator(".card")).to_have_count(0)
    assert desk.page.url.endswith("/board?assignee_user_id=me&priority=urgent")
    desk.page.go_back()
    expect(desk.page.locator(".card")).to_have_count(1)
    expect(desk.page.locator("header.header")).to_have_count(1)
    desk.page.click("#clear-filters")
    expect(desk.page).to_have_url(f"{desk.base}/projects/DEMO/board")
    expect(desk.page.locator(".filter-menu :checked")).to_have_count(0)


def test_a_chip_takes_its_filter_away(desk, furnished):
    desk.go("/projects/DEMO/board?priority=urgent&priority=high&q=rich")
    expect(desk.page.locator(".card")).to_have_count(1)
    chips = desk.page.locator(".filter-chip")
    expect(chips).to_have_count(3)
    desk.page.click(".filter-chip:has-text('High')")
    expect(desk.page).to_have_url(f"{desk.base}/projects/DEMO/board?q=rich&priority=urgent")
    expect(chips).to_have_count(2)
    desk.page.click(".filter-chip:has-text('rich')")
    expect(desk.page).to_have_url(f"{desk.base}/projects/DEMO/board?priority=urgent")
    expect(desk.page.locator("#filter-q")).to_have_value("")


def test_typing_in_the_search_replaces_the_address(desk, furnished):
    desk.go("/projects/DEMO/board")
    before = desk.page.evaluate("history.length")
    desk.page.locator("#filter-q").press_sequentially("blocker", delay=20)
    expect(desk.page.locator(".card")).to_have_count(1)
    expect(desk.page).to_have_url(f"{desk.base}/projects/DEMO/board?q=blocker")
    expect(desk.page.locator("#filter-q")).to_be_focused()
    assert desk.page.evaluate("history.length") == before


def test_a_dropped_card_lands_where_it_will_stand(desk, furnished):
    urgent = furnished.ticket(
        "Sorted urgent", priority="urgent", state_id=furnished.ids["In review"]
    )
    low = furnished.ticket("Sorted low", priority="low", state_id=furnished.ids["In review"])
    middle = furnished.ticket("Sorted middle", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    drag(desk, middle, "In review")
    expect(desk.card_in("In review", "Sorted middle")).to_be_visible()

    def order() -> list[str]:
        shown = (
            desk.column("In review")
            .locator(".card")
            .evaluate_all("cards => cards.map(card => card.dataset.ref)")
        )
        return [one for one in shown if one in (urgent, low, middle)]

    assert order() == [urgent, middle, low]
    # The card stands there before the server knows.
    expect(desk.page.locator("#speak")).to_contain_text(f"{middle} moved to In review")
    desk.page.reload()
    assert order() == [urgent, middle, low]
