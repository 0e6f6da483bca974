"""Lanes, choices for a card, folded columns, views, and the line of quick add."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_journey import drag
from tests.support.serving import until


def cell(desk, column: str, lane: str):
    """A column within a lane."""
    return desk.page.locator(f'.column[data-name="{column}"][data-lane-name="{lane}"]')


def at(desk, reference: str, column: str, lane: str):
    """A card in a column of a lane."""
    return cell(desk, column, lane).locator(f'.card[data-ref="{reference}"]')


def carry(desk, reference: str, column: str, lane: str) -> None:
    """Carry a card to a column of a lane by the mouse."""
    desk.card(reference).scroll_into_view_if_needed()
    start = desk.card(reference).bounding_box()
    end = cell(desk, column, lane).bounding_box()
    mouse = desk.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(start["x"] + 60, start["y"] + 30, steps=3)
    mouse.move(end["x"] + 60, end["y"] + 20, steps=6)
    mouse.up()


def test_carrying_to_another_lane_changes_the_field(desk, furnished):
    reference = furnished.ticket("Laned", priority="urgent", state_id=furnished.ids["To do"])
    desk.go("/projects/DEMO/board?group=priority&q=laned")
    carry(desk, reference, "To do", "High")
    expect(at(desk, reference, "To do", "High")).to_have_count(1)
    expect(desk.toast()).to_contain_text(f"{reference} changed lanes")
    assert furnished.call("GET", f"/tickets/{reference}")["priority"] == "high"
    desk.page.click(f"[data-undo][data-ref={reference}]")
    expect(at(desk, reference, "To do", "Urgent")).to_have_count(1)
    carry(desk, reference, "In progress", "High")
    expect(desk.page.locator("#speak")).to_contain_text(
        f"{reference} moved to In progress, High, 1 of 1"
    )
    now = furnished.call("GET", f"/tickets/{reference}")
    assert (now["priority"], now["state"]["name"]) == ("high", "In progress")


def test_a_lane_out_of_sight_is_reached_by_holding_at_the_edge(desk, furnished):
    for number in range(6):
        furnished.ticket(f"Tall {number}", priority="urgent", state_id=furnished.ids["To do"])
    reference = furnished.ticket("Tall last", priority="urgent", state_id=furnished.ids["Backlog"])
    desk.page.set_viewport_size({"width": 1440, "height": 520})
    desk.go("/projects/DEMO/board?group=priority&q=tall")
    board = desk.page.locator("#board")
    start = desk.card(reference).bounding_box()
    edge = board.bounding_box()
    mouse = desk.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(start["x"] + 50, edge["y"] + edge["height"] - 8, steps=4)
    low = cell(desk, "Backlog", "Low")
    expect(low).to_be_in_viewport(ratio=0.5)
    end = low.bounding_box()
    mouse.move(start["x"] + 50, end["y"] + 20, steps=3)
    mouse.up()
    expect(at(desk, reference, "Backlog", "Low")).to_have_count(1)


def test_lanes_by_keys(desk, furnished):
    reference = furnished.ticket("Keyed lanes", priority="high", state_id=furnished.ids["To do"])
    desk.go("/projects/DEMO/board?group=priority&q=keyed")
    title = desk.card(reference).locator(".card-title")
    title.focus()
    desk.press("Shift+ArrowUp")
    expect(at(desk, reference, "To do", "Urgent")).to_have_count(1)
    expect(title).to_be_focused()
    # What came of the move is said when the server has answered.
    expect(desk.page.locator("#speak")).to_contain_text(f"{reference} moved to To do, Urgent")
    desk.press("Shift+ArrowUp")
    expect(desk.page.locator("#speak")).to_have_text("There is no further lane")
    desk.press("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowRight")
    expect(at(desk, reference, "In progress", "Medium")).to_have_count(1)
    expect(title).to_be_focused()

    def arrived() -> bool:
        now = furnished.call("GET", f"/tickets/{reference}")
        return (now["priority"], now["state"]["name"]) == ("medium", "In progress")

    # The card is there at once; the server hears of each move after the one before.
    until(arrived)


def test_quick_moves_wait_for_each_other(desk, furnished):
    """The second says that it saw the card where the first put it."""
    reference = furnished.ticket("In a hurry", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board?q=hurry")
    delays = [800, 0]

    def slow(route) -> None:
        desk.page.wait_for_timeout(delays.pop(0))
        route.continue_()

    desk.page.route("**/move", slow)
    desk.card(reference).locator(".card-title").focus()
    desk.press("Shift+ArrowRight", "Shift+ArrowRight")
    expect(desk.page.locator("#speak")).to_contain_text(f"{reference} moved to In progress")
    expect(desk.card_at("In progress", reference)).to_have_count(1)
    assert delays == []
    assert furnished.call("GET", f"/tickets/{reference}")["state"]["name"] == "In progress"


def test_a_lane_that_is_not_there_yet_waits_for_the_reader(desk, furnished):
    reference = furnished.ticket("Without anyone", state_id=furnished.ids["To do"])
    desk.go("/projects/DEMO/board?group=assignee&q=anyone")
    body = {"assignee_user_id": furnished.ids["bot"]}
    furnished.call("PATCH", f"/tickets/{reference}", body)
    expect(desk.page.locator("#pill")).to_contain_text("Refresh")
    desk.page.click("#pill")
    expect(at(desk, reference, "To do", "bot-dev-1")).to_have_count(1)


def test_what_no_lane_can_change_goes_back(desk, furnished):
    desk.go("/projects/DEMO/board?group=epic&q=part")
    loose = furnished.ticket("A loose part of nothing", state_id=furnished.ids["To do"])
    desk.go("/projects/DEMO/board?group=epic&q=part")
    carry(desk, "DEMO-4", "To do", "No epic")
    expect(desk.toast()).to_contain_text("A subtask stays with its story")
    expect(at(desk, "DEMO-4", "To do", "The epic above")).to_have_count(1)
    furnished.call("DELETE", f"/tickets/{loose}")


@pytest.fixture
def chosen(desk, furnished):
    """A board with a card in focus."""
    reference = furnished.ticket("To be chosen for", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    desk.card(reference).locator(".card-title").focus()
    return desk, reference


def test_a_and_i_assign(chosen):
    desk, reference = chosen
    desk.press("i")
    expect(desk.card(reference).get_by_label("Ada Berg")).to_be_visible()
    expect(desk.card(reference).locator(".card-title")).to_be_focused()
    desk.press("a")
    expect(desk.page.locator("#dialog-title")).to_have_text(f"Assignee of {reference}")
    expect(desk.page.locator("#dialog input:checked")).to_be_focused()
    desk.page.locator("#dialog").get_by_text("bot-dev-1").click()
    desk.press("Enter")
    expect(desk.card(reference).get_by_label("bot-dev-1, bot")).to_be_visible()
    expect(desk.card(reference).locator(".card-title")).to_be_focused()
    desk.page.click(f"[data-undo][data-ref={reference}] >> nth=-1")
    expect(desk.card(reference).get_by_label("Ada Berg")).to_be_visible()


def test_p_and_l_choose(chosen, furnished):
    desk, reference = chosen
    desk.press("p")
    desk.page.locator("#dialog").get_by_text("Urgent").click()
    desk.press("Enter")
    expect(desk.card(reference).get_by_label("Urgent priority")).to_be_visible()
    desk.press("l")
    for name in ("bug", "docs"):
        desk.page.locator("#dialog").get_by_text(name).click()
    desk.press("Enter")
    expect(desk.card(reference).locator(".label")).to_have_count(2)
    assert len(furnished.call("GET", f"/tickets/{reference}")["labels"]) == 2


def test_a_folded_column_stays_folded_and_takes_cards(desk, furnished):
    reference = furnished.ticket("Into the fold", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    desk.column("In review").hover()
    desk.page.get_by_label("Fold In review").click()
    expect(desk.column("In review").locator(".cards")).not_to_be_visible()
    desk.page.reload()
    expect(desk.column("In review").locator(".cards")).not_to_be_visible()
    start = desk.card(reference).bounding_box()
    end = desk.column("In review").bounding_box()
    assert end["width"] < 60
    mouse = desk.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(end["x"] + 20, end["y"] + 100, steps=6)
    mouse.up()
    expect(desk.toast()).to_contain_text(f"{reference} moved to In review")
    desk.page.get_by_label("Fold In review").click()
    expect(desk.card_at("In review", reference)).to_be_visible()


def test_quick_add_shows_what_it_understood(desk, furnished):
    desk.go("/projects/DEMO/board")
    desk.page.click('.column[data-name="To do"] [data-add]')
    desk.page.keyboard.type("Mend #7 !urgent @bot-dev-1 #docs ^DEMO-1 due:2031-02-03")
    chips = desk.page.locator(".understood .badge")
    expect(chips).to_have_count(5)
    desk.press("Enter")
    card = desk.card_in("To do", "Mend #7")
    expect(card).to_have_count(1)
    expect(card.get_by_label("Urgent priority")).to_be_visible()
    expect(card.get_by_label("bot-dev-1, bot")).to_be_visible()
    expect(card).to_contain_text("The epic above")
    expect(card).to_contain_text("3 Feb 2031")
    expect(chips).to_have_count(0)


def test_what_is_typed_outlives_filters_and_closing(desk):
    desk.go("/projects/DEMO/board")
    desk.page.click('.column[data-name="To do"] [data-add]')
    desk.page.keyboard.type("Half a tho")
    desk.page.get_by_label("Blocked").check()
    expect(desk.page.locator(".filter-chip")).to_have_count(1)
    line = desk.page.locator("#quick-title")
    expect(line).to_have_value("Half a tho")
    line.focus()
    desk.press("Escape")
    desk.page.click('.column[data-name="Backlog"] [data-add]')
    expect(line).to_have_value("Half a tho")
    desk.page.keyboard.type("ught")
    desk.press("Enter")
    expect(desk.card_in("Backlog", "Half a thought")).to_have_count(1)
    desk.press("Escape")
    desk.page.click('.column[data-name="Backlog"] [data-add]')
    expect(line).to_have_value("")


def test_a_view_is_saved_and_opened(desk):
    desk.go("/projects/DEMO/board")
    desk.page.get_by_label("Blocked").check()
    expect(desk.page).to_have_url(f"{desk.base}/projects/DEMO/board?blocked=true")
    desk.page.click(".view-menu summary")
    desk.page.fill("#view-name", "In the way")
    desk.press("Enter")
    expect(desk.page.locator(".view-menu")).to_contain_text("In the way")
    expect(desk.page).to_have_url(f"{desk.base}/projects/DEMO/board?blocked=true")
    desk.go("/projects/DEMO/tickets")
    desk.page.click(".view-menu summary")
    desk.page.click("text=In the way")
    expect(desk.page).to_have_url(f"{desk.base}/projects/DEMO/tickets?blocked=true")
    desk.page.click(".view-menu summary")
    desk.page.get_by_label("Delete the view In the way").click()
    desk.page.click(".view-menu summary")
    expect(desk.page.locator(".view-menu")).not_to_contain_text("In the way")


def test_the_board_of_all_projects(desk, furnished):
    reference = furnished.ticket("Everywhere", state_id=furnished.ids["Backlog"])
    desk.go("/board")
    drag(desk, reference, "Active")
    expect(desk.card_at("Active", reference)).to_have_count(1)
    # The card moves at once; the server has it when it says so.
    expect(desk.toast()).to_contain_text(f"{reference} moved")
    assert furnished.call("GET", f"/tickets/{reference}")["state"]["name"] == "To do"
    desk.card(reference).locator(".card-title").focus()
    desk.press("m")
    desk.page.locator("#dialog").get_by_label("In review").check()
    desk.page.click("#dialog .button.primary")
    body = {"state_id": furnished.ids["Done"]}
    furnished.call("POST", f"/tickets/{reference}/transition", body, as_bot=True)
    expect(desk.card_at("Done", reference)).to_have_count(1)


def test_lanes_and_filters_on_a_phone(phone, furnished):
    phone.go("/projects/DEMO/board?group=priority")
    assert phone.overflow() <= 0
    phone.page.locator(".filter-menu summary").tap()
    expect(phone.page.locator(".filter-groups")).to_be_in_viewport(ratio=1)
    phone.page.locator(".filter-groups").get_by_label("Urgent").check()
    expect(phone.page.locator(".card .priority-medium")).to_have_count(0)
    expect(phone.page.locator(".card .priority-urgent").first).to_be_attached()
    assert phone.overflow() <= 0
