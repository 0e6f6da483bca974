"""Without a mouse: everything on the board and the ticket page by keys alone."""

import pytest
from playwright.sync_api import expect

# A message as the server appends it; error messages do not disappear.
MESSAGE = """text => document.getElementById("toasts").insertAdjacentHTML("beforeend",
    `<div class="toast error" data-toast role="alert">${text}<button data-close></button></div>`)"""


@pytest.fixture
def board(wide, seeded):
    """The board with a known card in focus."""
    reference = seeded.ticket("Keyed", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    wide.card(reference).locator(".card-title").focus()
    return wide, reference


def test_the_skip_link_comes_first(wide):
    wide.go("/projects/DEMO/board")
    wide.press("Tab")
    assert wide.focused() == "Skip to content"


def test_one_card_is_in_the_tab_order(wide):
    wide.go("/projects/DEMO/board")
    titles = wide.page.locator(".card-title")
    assert titles.evaluate_all("all => all.filter(one => one.tabIndex === 0).length") == 1


def test_arrows_walk_the_cards(board):
    wide, _ = board
    wide.press("ArrowRight")
    first = wide.column("To do").locator(".card-title").first
    expect(first).to_be_focused()
    wide.press("ArrowDown")
    expect(wide.column("To do").locator(".card-title").nth(1)).to_be_focused()
    wide.press("ArrowUp")
    expect(first).to_be_focused()
    wide.press("End")
    expect(wide.column("To do").locator(".card-title").last).to_be_focused()


@pytest.mark.parametrize("key", ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"])
@pytest.mark.parametrize("query", ["", "?group=priority"])
def test_an_arrow_starts_at_the_first_card(wide, query, key):
    wide.go(f"/projects/DEMO/board{query}")
    wide.press(f"Shift+{key}")
    expect(wide.page.locator("body")).to_be_focused()
    wide.press(key)
    expect(wide.page.locator(".card-title").first).to_be_focused()


def test_an_arrow_starts_nothing_beside_a_dialog_or_without_cards(wide):
    wide.go("/projects/DEMO/board")
    wide.press("?")
    wide.page.locator("dialog[open] h2").first.click()
    wide.page.evaluate("document.activeElement.blur()")
    wide.press("ArrowDown")
    assert wide.page.evaluate("document.activeElement.closest('[data-ref]')") is None
    wide.go("/projects/DEMO/board?q=nothing+like+it")
    wide.press("ArrowDown")
    expect(wide.page.locator("body")).to_be_focused()


def test_shift_and_an_arrow_move_the_card_and_keep_the_focus(board):
    wide, reference = board
    wide.press("Shift+ArrowRight")
    expect(wide.card_at("To do", reference)).to_have_count(1)
    expect(wide.page.locator("#announcements")).to_contain_text(f"{reference} moved to To do")
    expect(wide.card(reference).locator(".card-title")).to_be_focused()
    wide.press("Shift+ArrowLeft")
    expect(wide.card_at("Backlog", reference)).to_have_count(1)
    expect(wide.page.locator("#announcements")).to_contain_text("moved to Backlog")


def test_m_opens_the_move_menu(board):
    wide, reference = board
    wide.press("m")
    expect(wide.page.locator("#dialog-title")).to_have_text(f"Move {reference} to…")
    expect(wide.page.locator("#dialog [data-start]")).to_be_focused()
    wide.press("ArrowDown", "Enter")
    expect(wide.card_at("To do", reference)).to_have_count(1)
    expect(wide.page.locator("#dialog")).not_to_be_visible()


def test_several_cards_are_chosen_and_changed_together(board, seeded):
    wide, first = board
    second = seeded.ticket("Keyed too", state_id=seeded.ids["Backlog"])
    wide.page.reload()
    count = wide.page.locator("#bulk-count")
    wide.card(first).locator(".card-title").focus()
    wide.press("x")
    expect(count).to_have_text("1")
    expect(wide.page.locator("#announcements")).to_have_text(f"{first} selected, 1 in total")
    wide.card(second).locator(".card-title").focus()
    wide.press("x")
    expect(count).to_have_text("2")
    # A card that is rendered again stays selected.
    seeded.call("PATCH", f"/tickets/{second}", {"title": "Keyed as well"})
    wide.ask_for_news()
    expect(wide.card(second)).to_contain_text("Keyed as well")
    expect(wide.card(second)).to_contain_class("chosen")
    wide.press("p")
    expect(wide.page.get_by_label("Priority", exact=True)).to_be_focused()
    wide.press("u")
    wide.page.get_by_label("Add label").select_option(label="docs")
    wide.page.get_by_label("State", exact=True).select_option(label="In review")
    wide.press("Control+Enter")
    expect(wide.toast()).to_contain_text("2 changed")
    expect(wide.card_at("In review", first).locator(".priority-urgent")).to_be_visible()
    expect(wide.card_at("In review", second).locator(".label")).to_have_text("docs")
    expect(count).not_to_be_visible()
    assert "Keyed" in wide.focused()
    with wide.page.expect_navigation():
        wide.page.click("[data-undo-all]")
    wide.go("/projects/DEMO/board")
    expect(wide.card_at("Backlog", first)).to_be_visible()
    # Shift and a click select as well; Escape clears the selection.
    wide.card(first).click(modifiers=["Shift"])
    expect(count).to_have_text("1")
    wide.press("x", "x", "Escape")
    expect(count).not_to_be_visible()
    expect(wide.page.locator(".card.chosen")).to_have_count(0)


def test_escape_ends_one_thing_at_a_time(board):
    wide, reference = board
    wide.press("x")
    for text in ("Older", "Newer"):
        wide.page.evaluate(MESSAGE, text)
    menu = wide.page.locator(".switcher")
    menu.locator("summary").focus()
    wide.press("Enter", "Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(wide.toast()).to_have_text(["Older", "Newer"])
    expect(wide.card(reference)).to_contain_class("chosen")
    wide.press("Control+k", "Escape")
    expect(wide.page.locator("#palette")).not_to_be_visible()
    expect(wide.card(reference)).to_contain_class("chosen")
    wide.press("Escape")
    expect(wide.card(reference)).not_to_contain_class("chosen")
    expect(wide.toast()).to_have_text(["Older", "Newer"])
    wide.press("Escape")
    expect(wide.toast()).to_have_text(["Older"])


def test_every_key_that_leads_somewhere(wide):
    wide.go("/bots")
    for keys, path in (
        ("gh", "/"),
        ("gi", "/inbox"),
        ("gb", "/board"),
        ("gl", "/tickets"),
        ("gw", "/wiki"),
        ("gs", "/sticky-notes"),
        ("ga", "/audit"),
        ("gp", "/projects"),
        ("c", "/tickets/new?project=DEMO"),
    ):
        wide.press(*keys)
        wide.page.wait_for_url(wide.base + path)
    wide.go("/bots")
    wide.press("n")
    wide.page.wait_for_url(wide.base + "/sticky-notes#note-body")
    wide.go("/sticky-notes")
    wide.press("n")
    expect(wide.page.locator("#note-body")).to_be_focused()
    wide.go("/projects/DEMO/board")
    wide.press("g", "l")
    wide.page.wait_for_url(wide.base + "/projects/DEMO/tickets")
    wide.press("/")
    expect(wide.page.locator("#palette-q")).to_be_focused()


def test_the_keys_of_a_ticket(wide, seeded):
    seeded.ticket("Beside it")
    reference = seeded.ticket("All of its keys")
    wide.go(f"/tickets/{reference}")
    wide.press("i")
    expect(wide.page.locator("#edit-assignee")).to_contain_text("Ada Berg")
    expect(wide.page.locator("#edit-assignee")).to_be_focused()
    # The keys of the other fields are tested in test_pickers.py.
    for key, opens in (("e", "#ticket-field-title"), ("m", "#ticket-field-state")):
        wide.press(key)
        expect(wide.page.locator(f"{opens}[data-editor] :focus")).to_have_count(1)
        wide.press("Escape")
        expect(wide.page.locator(f"{opens} [data-edit]")).to_be_focused()
    watch = wide.page.locator("#watch")
    before = watch.inner_text()
    wide.press("w")
    expect(watch).not_to_have_text(before)
    wide.press("u")
    wide.page.wait_for_url("**/projects/DEMO/board")
    wide.press("j")
    first = wide.card_in_focus()
    wide.press("j")
    assert wide.card_in_focus() != first
    wide.press("k")
    assert wide.card_in_focus() == first
    # From a subtask, "u" goes up to its parent.
    wide.go("/tickets/DEMO-3")
    wide.press("u")
    expect(wide.page.locator("h1")).to_have_text("A rich ticket")


def test_escape_closes_the_move_menu(board):
    wide, reference = board
    wide.press("m")
    expect(wide.page.locator("#dialog-title")).to_be_visible()
    wide.press("Escape")
    expect(wide.page.locator("#dialog")).not_to_be_visible()
    expect(wide.card(reference).locator(".card-title")).to_be_focused()


def test_enter_opens_the_ticket_and_c_adds_one(board):
    wide, reference = board
    wide.press("c")
    expect(wide.page.locator("#quick-title")).to_be_focused()
    wide.press("Escape")
    wide.card(reference).locator(".card-title").focus()
    wide.press("Enter")
    expect(wide.page.locator("h1")).to_have_text("Keyed")


def test_help_opens_with_a_question_mark_and_keys_can_be_switched_off(wide):
    wide.go("/projects")
    wide.press("?")
    expect(wide.page.locator("#keys")).to_be_visible()
    wide.press("Escape")
    wide.go("/profile")
    with wide.page.expect_navigation():
        wide.page.uncheck("input[name=keys]")
    wide.go("/projects")
    wide.press("?")
    expect(wide.page.locator("#keys")).not_to_be_visible()


def test_a_field_is_edited_and_left_by_keys(wide, seeded):
    reference = seeded.ticket("Edited by keys")
    wide.go(f"/tickets/{reference}")
    wide.press("m")
    expect(wide.page.locator(".option[data-start]")).to_be_focused()
    wide.press("ArrowDown", "Enter")
    expect(wide.page.locator("#edit-state")).to_contain_text("To do")
    expect(wide.page.locator("#edit-state")).to_be_focused()
    wide.press("Enter")
    expect(wide.page.locator(".option[data-start]")).to_be_focused()
    wide.press("Escape")
    expect(wide.page.locator("#edit-state")).to_be_focused()


def test_the_title_and_a_comment_by_keys(wide, seeded):
    reference = seeded.ticket("Old title")
    wide.go(f"/tickets/{reference}")
    wide.press("e")
    expect(wide.page.locator("#value")).to_be_focused()
    wide.press("Control+a")
    wide.page.keyboard.type("New title")
    wide.press("Enter")
    expect(wide.page.locator("h1")).to_have_text("New title")
    wide.press("r")
    wide.page.keyboard.type("Sent by keys")
    wide.press("Control+Enter")
    expect(wide.page.locator(".comment-text")).to_have_text("Sent by keys")
    expect(wide.page.locator("#comment-body")).to_be_focused()


def test_escape_leaves_an_editor_and_then_a_message(wide, seeded):
    wide.go(f"/tickets/{seeded.ticket('Edited beside a message')}")
    wide.page.evaluate(MESSAGE, "Still here")
    wide.press("e")
    expect(wide.page.locator("#value")).to_be_focused()
    wide.press("Escape")
    expect(wide.page.locator("#value")).to_have_count(0)
    expect(wide.toast()).to_have_text("Still here")
    wide.press("Escape")
    expect(wide.toast()).to_have_count(0)


def test_a_project_is_found_in_the_header_by_typing(wide, seeded):
    for number in range(6):
        seeded.call("POST", "/projects", {"key": f"MORE{number}", "name": f"Further {number}"})
    wide.go("/projects/DEMO/board")
    menu = wide.page.locator(".switcher")
    menu.locator("summary").focus()
    wide.press("Enter")
    expect(menu.get_by_label("Find a project")).to_be_focused()
    wide.page.keyboard.type("further")
    found = menu.locator("#switch-found .menu-item")
    expect(found).to_have_count(6)
    wide.press("ArrowDown", "ArrowDown")
    expect(found.nth(1)).to_be_focused()
    wide.press("Escape")
    expect(menu.locator("summary")).to_be_focused()
    wide.press("Enter", "Tab")
    wide.page.keyboard.type("more5")
    wide.press("Enter")
    expect(wide.page).to_have_url(f"{seeded.url}/projects/MORE5/board")
