"""The board: dragging, conflicts, quick add, filters."""

from playwright.sync_api import expect

from tests.browser.test_journey import drag

COVERED = """all => all.filter(one => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return !one.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}).map(one => one.outerHTML)"""


def test_escape_puts_a_dragged_card_back(wide, seeded):
    reference = seeded.ticket("Stays here", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    start = wide.card(reference).bounding_box()
    mouse = wide.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(start["x"] + 400, start["y"] + 40, steps=5)
    expect(wide.page.locator(".ghost")).to_be_visible()
    wide.press("Escape")
    expect(wide.page.locator(".ghost")).to_have_count(0)
    mouse.up()
    expect(wide.card_in("Backlog", "Stays here")).to_be_visible()
    assert wide.page.url.endswith("/board")


def test_a_small_movement_is_a_click(wide, seeded):
    reference = seeded.ticket("Just a click")
    wide.go("/projects/DEMO/board")
    box = wide.card(reference).locator(".card-title").bounding_box()
    mouse = wide.page.mouse
    mouse.move(box["x"] + 10, box["y"] + 8)
    mouse.down()
    mouse.move(box["x"] + 13, box["y"] + 9)
    mouse.up()
    expect(wide.page.locator("h1")).to_have_text("Just a click")


def test_a_move_can_be_undone(wide, seeded):
    reference = seeded.ticket("There and back", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    drag(wide, reference, "In review")
    expect(wide.card_in("In review", "There and back")).to_be_visible()
    wide.page.click(f"[data-undo][data-ref={reference}]")
    expect(wide.card_in("Backlog", "There and back")).to_be_visible()


def test_a_card_that_a_bot_moved_meanwhile_shows_its_true_place(wide, seeded):
    reference = seeded.ticket("Contested", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    seeded.call(
        "POST",
        f"/tickets/{reference}/transition",
        {"state_id": seeded.ids["In review"]},
        as_bot=True,
    )
    drag(wide, reference, "In progress")
    expect(wide.card_in("In review", "Contested")).to_be_visible()
    expect(wide.toast()).to_contain_text(f"bot-dev-1 has moved {reference} to In review")
    wide.page.click("text=Move anyway")
    expect(wide.card_in("In progress", "Contested")).to_be_visible()


def test_a_failed_move_puts_the_card_back_and_says_so(wide, seeded):
    reference = seeded.ticket("Unlucky", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    seeded.call("DELETE", f"/tickets/{reference}")
    drag(wide, reference, "In progress")
    expect(wide.toast()).to_contain_text("This ticket was deleted")
    expect(wide.card_in("Backlog", "Unlucky")).to_be_visible()


def test_counts_follow_the_cards(wide, seeded):
    reference = seeded.ticket("Counted", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    before = int(wide.column("In review").locator(".count").inner_text())
    drag(wide, reference, "In review")
    expect(wide.column("In review").locator(".count")).to_have_text(str(before + 1))


def test_quick_add_stays_open_and_creates_each_ticket_once(wide):
    wide.go("/projects/DEMO/board")
    wide.page.click('.column[data-name="To do"] [data-add]')
    for title in ("One more", "And another"):
        wide.page.fill("#quick-title", title)
        wide.press("Enter", "Enter")
        expect(wide.card_in("To do", title)).to_have_count(1)
        expect(wide.page.locator("#quick-title")).to_be_focused()
    wide.press("Escape")
    expect(wide.page.locator(".quick-add")).to_have_count(0)
    assert wide.focused() == "Add to To do"


def test_quick_add_says_what_is_wrong(wide):
    wide.go("/projects/DEMO/board")
    wide.page.click('.column[data-name="To do"] [data-add]')
    wide.page.fill("#quick-title", "   ")
    wide.press("Enter")
    expect(wide.page.locator(".quick-add .problem")).to_contain_text("must not be blank")


def choose_filter(wide, name: str, value: str) -> None:
    """Check a filter in the menu, and close the menu."""
    wide.page.click(".filter-menu summary")
    wide.page.check(f'.filter-menu [name={name}][value="{value}"]')
    wide.page.click(".filter-menu summary", position={"x": 5, "y": 5})


def test_filters_live_in_the_address(wide, seeded):
    wide.go("/projects/DEMO/board")
    choose_filter(wide, "priority", "urgent")
    expect(wide.page.locator(".card")).to_have_count(1)
    assert wide.page.url.endswith("/board?priority=urgent")
    expect(wide.column("To do").locator(".count")).to_contain_text("1 of")
    wide.page.reload()
    expect(wide.page.locator(".card")).to_have_count(1)
    wide.page.get_by_label("Mine").check()
    expect(wide.page.locator(".card")).to_have_count(0)
    assert wide.page.url.endswith("/board?assignee_user_id=me&priority=urgent")
    wide.page.go_back()
    expect(wide.page.locator(".card")).to_have_count(1)
    expect(wide.page.locator("header.header")).to_have_count(1)
    wide.page.click("#clear-filters")
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/board")
    expect(wide.page.locator(".filter-menu :checked")).to_have_count(0)


def test_a_chip_takes_its_filter_away(wide, seeded):
    wide.go("/projects/DEMO/board?priority=urgent&priority=high&q=rich")
    expect(wide.page.locator(".card")).to_have_count(1)
    chips = wide.page.locator(".filter-chip")
    expect(chips).to_have_count(3)
    wide.page.click(".filter-chip:has-text('High')")
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/board?q=rich&priority=urgent")
    expect(chips).to_have_count(2)
    wide.page.click(".filter-chip:has-text('rich')")
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/board?priority=urgent")
    expect(wide.page.locator("#filter-q")).to_have_value("")


def test_typing_in_the_search_replaces_the_address(wide, seeded):
    wide.go("/projects/DEMO/board")
    before = wide.page.evaluate("history.length")
    wide.page.locator("#filter-q").press_sequentially("blocker", delay=20)
    expect(wide.page.locator(".card")).to_have_count(1)
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/board?q=blocker")
    expect(wide.page.locator("#filter-q")).to_be_focused()
    assert wide.page.evaluate("history.length") == before


def test_a_dropped_card_lands_where_it_will_stand(wide, seeded):
    urgent = seeded.ticket("Sorted urgent", priority="urgent", state_id=seeded.ids["In review"])
    low = seeded.ticket("Sorted low", priority="low", state_id=seeded.ids["In review"])
    middle = seeded.ticket("Sorted middle", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board?sort=priority")
    drag(wide, middle, "In review")
    expect(wide.card_in("In review", "Sorted middle")).to_be_visible()

    def order() -> list[str]:
        shown = (
            wide.column("In review")
            .locator(".card")
            .evaluate_all("cards => cards.map(card => card.dataset.ref)")
        )
        return [one for one in shown if one in (urgent, low, middle)]

    assert order() == [urgent, middle, low]
    # The card moves before the server has responded.
    expect(wide.page.locator("#announcements")).to_contain_text(f"{middle} moved to In review")
    wide.page.reload()
    assert order() == [urgent, middle, low]


def test_a_message_leaves_the_bar_of_the_selected_in_reach(wide, phone, seeded):
    for visitor in (wide, phone):
        reference = seeded.ticket("Moved, then selected", state_id=seeded.ids["Backlog"])
        visitor.go("/projects/DEMO/board")
        visitor.card(reference).locator(".card-title").focus()
        visitor.press("Shift+ArrowRight")
        expect(visitor.page.locator(".toast")).to_be_visible()
        visitor.press("x")
        expect(visitor.page.locator(".bulk-bar")).to_be_visible()
        within = visitor.page.locator(".bulk-bar :is(button, select, summary):visible")
        assert within.evaluate_all(COVERED) == []


def test_a_title_has_the_direction_of_its_script(wide, seeded):
    reference = seeded.ticket("عنوان طويل " * 15)
    direction = "one => getComputedStyle(one).direction"
    for path in ("/projects/DEMO/board", "/projects/DEMO/tickets"):
        wide.go(path)
        title = wide.page.locator(f"a[href='/tickets/{reference}']").first
        assert title.evaluate(direction) == "rtl"
    wide.go(f"/tickets/{reference}")
    assert wide.page.locator("h1").evaluate(direction) == "rtl"
