"""Swimlanes, choices for a card, folded columns, views, and the quick-add line."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_journey import drag
from tests.support.serving import until


def cell(wide, column: str, swimlane: str):
    """A column within a swimlane."""
    return wide.page.locator(f'.column[data-name="{column}"][data-swimlane-name="{swimlane}"]')


def at(wide, reference: str, column: str, swimlane: str):
    """A card in a column of a swimlane."""
    return cell(wide, column, swimlane).locator(f'.card[data-ref="{reference}"]')


def carry(wide, reference: str, column: str, swimlane: str) -> None:
    """Drag a card to a column of a swimlane with the mouse."""
    wide.card(reference).scroll_into_view_if_needed()
    start = wide.card(reference).bounding_box()
    end = cell(wide, column, swimlane).bounding_box()
    mouse = wide.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(start["x"] + 60, start["y"] + 30, steps=3)
    mouse.move(end["x"] + 60, end["y"] + 20, steps=6)
    mouse.up()


def test_carrying_to_another_swimlane_changes_the_field(wide, seeded):
    reference = seeded.ticket("Grouped", priority="urgent", state_id=seeded.ids["To do"])
    wide.go("/projects/DEMO/board?group=priority&q=grouped")
    carry(wide, reference, "To do", "High")
    expect(at(wide, reference, "To do", "High")).to_have_count(1)
    expect(wide.toast()).to_contain_text(f"{reference} changed swimlanes")
    assert seeded.call("GET", f"/tickets/{reference}")["priority"] == "high"
    wide.page.click(f"[data-undo][data-ref={reference}]")
    expect(at(wide, reference, "To do", "Urgent")).to_have_count(1)
    carry(wide, reference, "In progress", "High")
    expect(wide.page.locator("#announcements")).to_contain_text(
        f"{reference} moved to In progress, High, 1 of 1"
    )
    now = seeded.call("GET", f"/tickets/{reference}")
    assert (now["priority"], now["state"]["name"]) == ("high", "In progress")


def test_a_swimlane_out_of_sight_is_reached_by_holding_at_the_edge(wide, seeded):
    for number in range(6):
        seeded.ticket(f"Tall {number}", priority="urgent", state_id=seeded.ids["To do"])
    reference = seeded.ticket("Tall last", priority="urgent", state_id=seeded.ids["Backlog"])
    wide.page.set_viewport_size({"width": 1440, "height": 520})
    wide.go("/projects/DEMO/board?group=priority&q=tall")
    board = wide.page.locator("#board")
    start = wide.card(reference).bounding_box()
    edge = board.bounding_box()
    mouse = wide.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(start["x"] + 50, edge["y"] + edge["height"] - 8, steps=4)
    low = cell(wide, "Backlog", "Low")
    expect(low).to_be_in_viewport(ratio=0.5)
    end = low.bounding_box()
    mouse.move(start["x"] + 50, end["y"] + 20, steps=3)
    mouse.up()
    expect(at(wide, reference, "Backlog", "Low")).to_have_count(1)


def test_swimlanes_by_keys(wide, seeded):
    reference = seeded.ticket("Keyed swimlanes", priority="high", state_id=seeded.ids["To do"])
    wide.go("/projects/DEMO/board?group=priority&q=keyed")
    title = wide.card(reference).locator(".card-title")
    title.focus()
    wide.press("Shift+ArrowUp")
    expect(at(wide, reference, "To do", "Urgent")).to_have_count(1)
    expect(title).to_be_focused()
    # The result is announced once the server has responded.
    expect(wide.page.locator("#announcements")).to_contain_text(
        f"{reference} moved to To do, Urgent"
    )
    wide.press("Shift+ArrowUp")
    expect(wide.page.locator("#announcements")).to_have_text("No more swimlanes this way")
    wide.press("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowRight")
    expect(at(wide, reference, "In progress", "Medium")).to_have_count(1)
    expect(title).to_be_focused()

    def arrived() -> bool:
        now = seeded.call("GET", f"/tickets/{reference}")
        return (now["priority"], now["state"]["name"]) == ("medium", "In progress")

    # The card moves at once; the server receives each move after the one before.
    until(arrived)


def test_quick_moves_wait_for_each_other(wide, seeded):
    """The second request says that it saw the card where the first put it."""
    reference = seeded.ticket("In a hurry", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board?q=hurry")
    delays = [800, 0]

    def slow(route) -> None:
        wide.page.wait_for_timeout(delays.pop(0))
        route.continue_()

    wide.intercept("**/move", slow)
    wide.card(reference).locator(".card-title").focus()
    wide.press("Shift+ArrowRight", "Shift+ArrowRight")
    expect(wide.page.locator("#announcements")).to_contain_text(f"{reference} moved to In progress")
    expect(wide.card_at("In progress", reference)).to_have_count(1)
    assert delays == []
    assert seeded.call("GET", f"/tickets/{reference}")["state"]["name"] == "In progress"


def test_a_swimlane_that_is_not_there_yet_waits_for_the_reader(wide, seeded):
    reference = seeded.ticket("Without anyone", state_id=seeded.ids["To do"])
    wide.go("/projects/DEMO/board?group=assignee&q=anyone")
    body = {"assignee_user_id": seeded.ids["bot"]}
    seeded.call("PATCH", f"/tickets/{reference}", body)
    expect(wide.page.locator("#pill")).to_contain_text("Refresh")
    wide.page.click("#pill")
    expect(at(wide, reference, "To do", "bot-dev-1")).to_have_count(1)


def test_what_no_swimlane_can_change_goes_back(wide, seeded):
    wide.go("/projects/DEMO/board?group=epic&q=part")
    loose = seeded.ticket("A loose part of nothing", state_id=seeded.ids["To do"])
    wide.go("/projects/DEMO/board?group=epic&q=part")
    carry(wide, "DEMO-4", "To do", "No epic")
    expect(wide.toast()).to_contain_text("A subtask stays with its story")
    expect(at(wide, "DEMO-4", "To do", "The epic above")).to_have_count(1)
    seeded.call("DELETE", f"/tickets/{loose}")


@pytest.fixture
def chosen(wide, seeded):
    """A board with a card in focus."""
    reference = seeded.ticket("To be chosen for", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    wide.card(reference).locator(".card-title").focus()
    return wide, reference


def test_a_and_i_assign(chosen):
    wide, reference = chosen
    wide.press("i")
    expect(wide.card(reference).get_by_label("Ada Berg")).to_be_visible()
    expect(wide.card(reference).locator(".card-title")).to_be_focused()
    wide.press("a")
    expect(wide.page.locator("#dialog-title")).to_have_text(f"Assignee of {reference}")
    expect(wide.page.locator("#dialog [data-start]")).to_be_focused()
    wide.page.keyboard.type("bot-dev")
    wide.press("Enter")
    expect(wide.card(reference).get_by_label("bot-dev-1, bot")).to_be_visible()
    expect(wide.card(reference).locator(".card-title")).to_be_focused()
    wide.page.click(f"[data-undo][data-ref={reference}] >> nth=-1")
    expect(wide.card(reference).get_by_label("Ada Berg")).to_be_visible()


def test_p_and_l_choose(chosen, seeded):
    wide, reference = chosen
    wide.press("p")
    wide.page.locator("#dialog").get_by_text("Urgent").click()
    expect(wide.card(reference).get_by_label("Urgent priority")).to_be_visible()
    wide.press("l")
    for name in ("bug", "docs"):
        wide.page.locator("#dialog").get_by_text(name).click()
    wide.press("Enter")
    expect(wide.card(reference).locator(".label")).to_have_count(2)
    assert len(seeded.call("GET", f"/tickets/{reference}")["labels"]) == 2


def test_a_folded_column_stays_folded_and_takes_cards(wide, seeded):
    reference = seeded.ticket("Into the fold", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    wide.column("In review").hover()
    wide.page.get_by_label("Collapse In review").click()
    expect(wide.column("In review").locator(".cards")).not_to_be_visible()
    wide.page.reload()
    expect(wide.column("In review").locator(".cards")).not_to_be_visible()
    start = wide.card(reference).bounding_box()
    end = wide.column("In review").bounding_box()
    assert end["width"] < 60
    mouse = wide.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(end["x"] + 20, end["y"] + 100, steps=6)
    mouse.up()
    expect(wide.toast()).to_contain_text(f"{reference} moved to In review")
    wide.page.get_by_label("Collapse In review").click()
    expect(wide.card_at("In review", reference)).to_be_visible()


def test_quick_add_shows_what_it_understood(wide, seeded):
    wide.go("/projects/DEMO/board")
    wide.page.click('.column[data-name="To do"] [data-add]')
    wide.page.keyboard.type("Mend #7 !urgent @bot-dev-1 #docs ^DEMO-1 due:2031-02-03")
    chips = wide.page.locator(".understood .badge")
    expect(chips).to_have_count(5)
    wide.press("Enter")
    card = wide.card_in("To do", "Mend #7")
    expect(card).to_have_count(1)
    expect(card.get_by_label("Urgent priority")).to_be_visible()
    expect(card.get_by_label("bot-dev-1, bot")).to_be_visible()
    expect(card).to_contain_text("The epic above")
    expect(card).to_contain_text("3 Feb 2031")
    expect(chips).to_have_count(0)


def test_what_is_typed_outlives_filters_and_closing(wide):
    wide.go("/projects/DEMO/board")
    wide.page.click('.column[data-name="To do"] [data-add]')
    wide.page.keyboard.type("Half a tho")
    wide.page.get_by_label("Blocked").check()
    expect(wide.page.locator(".filter-chip")).to_have_count(1)
    line = wide.page.locator("#quick-title")
    expect(line).to_have_value("Half a tho")
    line.focus()
    wide.press("Escape")
    wide.page.click('.column[data-name="Backlog"] [data-add]')
    expect(line).to_have_value("Half a tho")
    wide.page.keyboard.type("ught")
    wide.press("Enter")
    expect(wide.card_in("Backlog", "Half a thought")).to_have_count(1)
    wide.press("Escape")
    wide.page.click('.column[data-name="Backlog"] [data-add]')
    expect(line).to_have_value("")


def test_a_view_is_saved_and_opened(wide):
    wide.go("/projects/DEMO/board")
    wide.page.get_by_label("Blocked").check()
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/board?blocked=true")
    wide.page.click(".view-menu summary")
    wide.page.fill("#view-name", "In the way")
    wide.press("Enter")
    expect(wide.page.locator(".view-menu")).to_contain_text("In the way")
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/board?blocked=true")
    wide.go("/projects/DEMO/tickets")
    wide.page.click(".view-menu summary")
    wide.page.click("text=In the way")
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/tickets?blocked=true")
    wide.page.click(".view-menu summary")
    wide.page.get_by_label("Delete view In the way").click()
    wide.page.click(".view-menu summary")
    expect(wide.page.locator(".view-menu")).not_to_contain_text("In the way")


def test_the_board_of_all_projects(wide, seeded):
    reference = seeded.ticket("Everywhere", state_id=seeded.ids["Backlog"])
    wide.go("/board")
    drag(wide, reference, "Active")
    expect(wide.card_at("Active", reference)).to_have_count(1)
    # The card moves at once; the toast appears once the server has saved the move.
    expect(wide.toast()).to_contain_text(f"{reference} moved")
    assert seeded.call("GET", f"/tickets/{reference}")["state"]["name"] == "To do"
    wide.card(reference).locator(".card-title").focus()
    wide.press("m")
    wide.page.locator("#dialog").get_by_role("button", name="In review").click()
    body = {"state_id": seeded.ids["Done"]}
    seeded.call("POST", f"/tickets/{reference}/transition", body, as_bot=True)
    expect(wide.card_at("Done", reference)).to_have_count(1)


def test_swimlanes_and_filters_on_a_phone(phone, seeded):
    phone.go("/projects/DEMO/board?group=priority")
    assert phone.overflow() <= 0
    phone.page.locator(".filter-menu summary").tap()
    expect(phone.page.locator(".filter-groups")).to_be_in_viewport(ratio=1)
    phone.page.locator(".filter-groups").get_by_label("Urgent").check()
    expect(phone.page.locator(".card .priority-medium")).to_have_count(0)
    expect(phone.page.locator(".card .priority-urgent").first).to_be_attached()
    assert phone.overflow() <= 0
