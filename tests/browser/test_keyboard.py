"""Without a mouse: everything on the board and the ticket page by keys alone."""

import pytest
from playwright.sync_api import expect


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
