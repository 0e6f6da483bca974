"""Without a mouse: everything on the board and the ticket page by keys alone."""

import pytest
from playwright.sync_api import expect

# A message as the server appends it; an error stays.
MESSAGE = """text => document.getElementById("toasts").insertAdjacentHTML("beforeend",
    `<div class="toast error" data-toast role="alert">${text}<button data-close></button></div>`)"""


@pytest.fixture
def board(desk, furnished):
    """The board with a known card in focus."""
    reference = furnished.ticket("Keyed", state_id=furnished.ids["Backlog"])
    desk.go("/projects/DEMO/board")
    desk.card(reference).locator(".card-title").focus()
    return desk, reference


def test_the_skip_link_comes_first(desk):
    desk.go("/projects/DEMO/board")
    desk.press("Tab")
    assert desk.focused() == "Skip to content"


def test_one_card_is_in_the_tab_order(desk):
    desk.go("/projects/DEMO/board")
    titles = desk.page.locator(".card-title")
    assert titles.evaluate_all("all => all.filter(one => one.tabIndex === 0).length") == 1


def test_arrows_walk_the_cards(board):
    desk, _ = board
    desk.press("ArrowRight")
    first = desk.column("To do").locator(".card-title").first
    expect(first).to_be_focused()
    desk.press("ArrowDown")
    expect(desk.column("To do").locator(".card-title").nth(1)).to_be_focused()
    desk.press("ArrowUp")
    expect(first).to_be_focused()
    desk.press("End")
    expect(desk.column("To do").locator(".card-title").last).to_be_focused()


def test_shift_and_an_arrow_move_the_card_and_keep_the_focus(board):
    desk, reference = board
    desk.press("Shift+ArrowRight")
    expect(desk.card_at("To do", reference)).to_have_count(1)
    expect(desk.page.locator("#speak")).to_contain_text(f"{reference} moved to To do")
    expect(desk.card(reference).locator(".card-title")).to_be_focused()
    desk.press("Shift+ArrowLeft")
    expect(desk.card_at("Backlog", reference)).to_have_count(1)
    expect(desk.page.locator("#speak")).to_contain_text("moved to Backlog")


def test_m_opens_the_move_menu(board):
    desk, reference = board
    desk.press("m")
    expect(desk.page.locator("#dialog-title")).to_have_text(f"Move {reference} to…")
    expect(desk.page.locator("#dialog input:checked")).to_be_focused()
    desk.press("ArrowDown", "Enter")
    expect(desk.card_at("To do", reference)).to_have_count(1)
    expect(desk.page.locator("#dialog")).not_to_be_visible()


def test_several_cards_are_chosen_and_changed_together(board, furnished):
    desk, first = board
    second = furnished.ticket("Keyed too", state_id=furnished.ids["Backlog"])
    desk.page.reload()
    count = desk.page.locator("#bulk-count")
    desk.card(first).locator(".card-title").focus()
    desk.press("x")
    expect(count).to_have_text("1")
    expect(desk.page.locator("#speak")).to_have_text(f"{first} chosen, 1 in all")
    desk.card(second).locator(".card-title").focus()
    desk.press("x")
    expect(count).to_have_text("2")
    # What is shown anew stays chosen.
    furnished.call("PATCH", f"/tickets/{second}", {"title": "Keyed as well"})
    expect(desk.card(second)).to_contain_text("Keyed as well")
    expect(desk.card(second)).to_contain_class("chosen")
    desk.press("p")
    expect(desk.page.get_by_label("Priority", exact=True)).to_be_focused()
    desk.press("u")
    desk.page.get_by_label("Add label").select_option(label="docs")
    desk.page.get_by_label("State", exact=True).select_option(label="In review")
    desk.press("Control+Enter")
    expect(desk.toast()).to_contain_text("2 changed")
    expect(desk.card_at("In review", first).locator(".priority-urgent")).to_be_visible()
    expect(desk.card_at("In review", second).locator(".label")).to_have_text("docs")
    expect(count).not_to_be_visible()
    assert "Keyed" in desk.focused()
    desk.page.click("[data-undo-all]")
    desk.go("/projects/DEMO/board")
    expect(desk.card_at("Backlog", first)).to_be_visible()
    # A click with Shift does the same, and Escape leaves all.
    desk.card(first).click(modifiers=["Shift"])
    expect(count).to_have_text("1")
    desk.press("x", "x", "Escape")
    expect(count).not_to_be_visible()
    expect(desk.page.locator(".card.chosen")).to_have_count(0)


def test_escape_ends_one_thing_at_a_time(board):
    desk, reference = board
    desk.press("x")
    for text in ("Older", "Newer"):
        desk.page.evaluate(MESSAGE, text)
    menu = desk.page.locator(".switcher")
    menu.locator("summary").focus()
    desk.press("Enter", "Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(desk.toast()).to_have_text(["Older", "Newer"])
    expect(desk.card(reference)).to_contain_class("chosen")
    desk.press("Control+k", "Escape")
    expect(desk.page.locator("#palette")).not_to_be_visible()
    expect(desk.card(reference)).to_contain_class("chosen")
    desk.press("Escape")
    expect(desk.card(reference)).not_to_contain_class("chosen")
    expect(desk.toast()).to_have_text(["Older", "Newer"])
    desk.press("Escape")
    expect(desk.toast()).to_have_text(["Older"])


def test_every_key_that_leads_somewhere(desk):
    for keys, path in (
        ("gh", "/"),
        ("gi", "/inbox"),
        ("gb", "/board"),
        ("gl", "/tickets"),
        ("gw", "/wiki"),
        ("gs", "/sticky-notes"),
        ("ga", "/audit"),
        ("gp", "/projects"),
        ("n", "/sticky-notes#note-body"),
        ("c", "/tickets/new?project=DEMO"),
    ):
        desk.go("/bots")
        desk.press(*keys)
        desk.page.wait_for_url(desk.base + path)
    desk.go("/sticky-notes")
    desk.press("n")
    expect(desk.page.locator("#note-body")).to_be_focused()
    desk.go("/projects/DEMO/board")
    desk.press("g", "l")
    desk.page.wait_for_url(desk.base + "/projects/DEMO/tickets")
    desk.press("/")
    expect(desk.page.locator("#palette-q")).to_be_focused()


def test_the_keys_of_a_ticket(desk, furnished):
    furnished.ticket("Beside it")
    reference = furnished.ticket("All of its keys")
    desk.go(f"/tickets/{reference}")
    for key, opens in (
        ("e", "#fact-title"),
        ("m", "#fact-state"),
        ("a", "#fact-assignee"),
        ("l", "#fact-labels"),
        ("p", "#fact-priority"),
    ):
        desk.press(key)
        expect(desk.page.locator(f"{opens}[data-editor] :focus")).to_have_count(1)
        desk.press("Escape")
        expect(desk.page.locator(f"{opens} [data-edit]")).to_be_focused()
    desk.press("i")
    expect(desk.page.locator("#edit-assignee")).to_contain_text("Ada Berg")
    watch = desk.page.locator("#watch")
    before = watch.inner_text()
    desk.press("w")
    expect(watch).not_to_have_text(before)
    desk.press("u")
    desk.page.wait_for_url("**/projects/DEMO/board")
    desk.press("j")
    first = desk.card_in_focus()
    desk.press("j")
    assert desk.card_in_focus() != first
    desk.press("k")
    assert desk.card_in_focus() == first


def test_escape_closes_the_move_menu(board):
    desk, reference = board
    desk.press("m")
    expect(desk.page.locator("#dialog-title")).to_be_visible()
    desk.press("Escape")
    expect(desk.page.locator("#dialog")).not_to_be_visible()
    expect(desk.card(reference).locator(".card-title")).to_be_focused()


def test_enter_opens_the_ticket_and_c_adds_one(board):
    desk, reference = board
    desk.press("c")
    expect(desk.page.locator("#quick-title")).to_be_focused()
    desk.press("Escape")
    desk.card(reference).locator(".card-title").focus()
    desk.press("Enter")
    expect(desk.page.locator("h1")).to_have_text("Keyed")


def test_help_opens_with_a_question_mark_and_keys_can_be_switched_off(desk):
    desk.go("/projects")
    desk.press("?")
    expect(desk.page.locator("#keys")).to_be_visible()
    desk.press("Escape")
    desk.go("/profile")
    with desk.page.expect_navigation():
        desk.page.uncheck("input[name=keys]")
    desk.go("/projects")
    desk.press("?")
    expect(desk.page.locator("#keys")).not_to_be_visible()


def test_a_field_is_edited_and_left_by_keys(desk, furnished):
    reference = furnished.ticket("Edited by keys")
    desk.go(f"/tickets/{reference}")
    desk.press("m")
    expect(desk.page.locator(".option[data-start]")).to_be_focused()
    desk.press("ArrowDown", "Enter")
    expect(desk.page.locator("#edit-state")).to_contain_text("To do")
    expect(desk.page.locator("#edit-state")).to_be_focused()
    desk.press("Enter")
    expect(desk.page.locator(".option[data-start]")).to_be_focused()
    desk.press("Escape")
    expect(desk.page.locator("#edit-state")).to_be_focused()


def test_the_title_and_a_comment_by_keys(desk, furnished):
    reference = furnished.ticket("Old title")
    desk.go(f"/tickets/{reference}")
    desk.press("e")
    expect(desk.page.locator("#value")).to_be_focused()
    desk.press("Control+a")
    desk.page.keyboard.type("New title")
    desk.press("Enter")
    expect(desk.page.locator("h1")).to_have_text("New title")
    desk.page.focus("#comment-body")
    desk.page.keyboard.type("Sent by keys")
    desk.press("Control+Enter")
    expect(desk.page.locator(".comment-text")).to_have_text("Sent by keys")
    expect(desk.page.locator("#comment-body")).to_be_focused()


def test_escape_leaves_an_editor_and_then_a_message(desk, furnished):
    desk.go(f"/tickets/{furnished.ticket('Edited beside a message')}")
    desk.page.evaluate(MESSAGE, "Still here")
    desk.press("e")
    expect(desk.page.locator("#value")).to_be_focused()
    desk.press("Escape")
    expect(desk.page.locator("#value")).to_have_count(0)
    expect(desk.toast()).to_have_text("Still here")
    desk.press("Escape")
    expect(desk.toast()).to_have_count(0)


def test_a_project_is_found_in_the_header_by_typing(desk, furnished):
    for number in range(6):
        furnished.call("POST", "/projects", {"key": f"MORE{number}", "name": f"Further {number}"})
    desk.go("/projects/DEMO/board")
    menu = desk.page.locator(".switcher")
    menu.locator("summary").focus()
    desk.press("Enter")
    expect(menu.get_by_label("Find a project")).to_be_focused()
    desk.page.keyboard.type("further")
    found = menu.locator("#switch-found .menu-item")
    expect(found).to_have_count(6)
    desk.press("ArrowDown", "ArrowDown")
    expect(found.nth(1)).to_be_focused()
    desk.press("Escape")
    expect(menu.locator("summary")).to_be_focused()
    desk.press("Enter", "Tab")
    desk.page.keyboard.type("more5")
    desk.press("Enter")
    expect(desk.page).to_have_url(f"{furnished.url}/projects/MORE5/board")
