"""Previewing a ticket beside the board or list, and stepping through the tickets of that list."""

import pytest
from playwright.sync_api import expect


@pytest.fixture
def two(seeded):
    """Two tickets at the end of a column, in this order."""
    states = {"state_id": seeded.ids["Backlog"], "priority": "low"}
    first = seeded.ticket("Peek one", body="The **first** text", **states)
    second = seeded.ticket("Peek two", **states)
    seeded.call("POST", f"/tickets/{first}/comments", {"body": "A word on it"})
    return first, second


def title(page, reference):
    return page.card(reference).locator(".card-title")


def test_space_opens_a_card_beside_the_board_and_keys_go_on(wide, two):
    first, second = two
    wide.go("/projects/DEMO/board")
    board = wide.page.url
    title(wide, first).focus()
    wide.press("Space")
    panel = wide.page.locator("#peek")
    expect(panel).to_be_focused()
    expect(panel.locator("h2")).to_have_text("Peek one")
    expect(panel.locator("strong").first).to_have_text("first")
    expect(panel).to_contain_text("A word on it")
    wide.press("j")
    expect(panel.locator("h2")).to_have_text("Peek two")
    expect(wide.card(second)).to_have_attribute("data-peeked", "")
    wide.press("k")
    expect(panel.locator("h2")).to_have_text("Peek one")
    wide.press("Escape")
    expect(panel).not_to_be_visible()
    expect(title(wide, first)).to_be_focused()
    assert wide.page.url == board


def test_enter_opens_what_is_peeked_and_back_shows_it_again(wide, two):
    first, _ = two
    wide.go("/projects/DEMO/board")
    title(wide, first).focus()
    wide.press("Space")
    panel = wide.page.locator("#peek")
    expect(panel).to_be_focused()
    wide.press("Enter")
    wide.page.wait_for_url(f"**/tickets/{first}")
    wide.page.go_back()
    expect(panel.locator("h2")).to_have_text("Peek one")
    wide.page.go_back()
    expect(panel).not_to_be_visible()
    assert wide.page.url.endswith("/projects/DEMO/board")


def test_a_card_that_changes_is_shown_anew(wide, two, seeded):
    first, _ = two
    wide.go("/projects/DEMO/board")
    title(wide, first).focus()
    wide.press("Space")
    panel = wide.page.locator("#peek")
    expect(panel.locator("h2")).to_have_text("Peek one")
    seeded.call("PATCH", f"/tickets/{first}", {"title": "Peek changed"})
    wide.ask_for_news()
    expect(panel.locator("h2")).to_have_text("Peek changed")


def test_the_mouse_opens_a_row_beside_the_list(wide, two):
    first = two[0]
    wide.go("/projects/DEMO/tickets?q=Peek")
    row = wide.page.locator(".ticket-row", has_text=first)
    row.hover()
    row.locator("[data-peek]").click()
    panel = wide.page.locator("#peek")
    expect(panel.locator("h2")).to_have_text("Peek one")
    panel.get_by_role("link", name="Open").click()
    wide.page.wait_for_url(f"**/tickets/{first}")


def test_a_ticket_goes_on_to_the_next_of_the_list(wide, two):
    wide.go("/projects/DEMO/tickets?sort=created")
    links = wide.page.locator(".ticket-row [data-row-link]")
    titles = links.all_inner_texts()
    links.first.click()
    heading = wide.page.locator("h1")
    expect(heading).to_have_text(titles[0])
    bar = wide.page.locator(".neighbors")
    expect(bar).to_contain_text(f"1 of {len(titles)}")
    wide.press("j")
    expect(heading).to_have_text(titles[1])
    bar.get_by_role("link", name="Next ticket").click()
    expect(heading).to_have_text(titles[2])
    wide.press("k")
    expect(heading).to_have_text(titles[1])
    bar.locator("a").nth(1).click()
    wide.page.wait_for_url("**/projects/DEMO/tickets?sort=created")


def test_a_ticket_reached_by_another_way_has_no_neighbors(wide, two):
    first, _ = two
    wide.go("/projects/DEMO/tickets")
    wide.page.locator(".ticket-row [data-row-link]").first.click()
    expect(wide.page.locator(".neighbors")).to_be_visible()
    wide.go("/inbox")
    wide.page.evaluate("reference => location.assign(`/tickets/${reference}`)", first)
    expect(wide.page.locator("h1")).to_have_text("Peek one")
    expect(wide.page.locator(".neighbors")).not_to_be_visible()


def test_on_a_phone_it_fills_the_screen_and_back_closes_it(phone, two):
    first, _ = two
    phone.go("/projects/DEMO/tickets?q=Peek")
    phone.page.locator(".ticket-row", has_text=first).locator("[data-peek]").tap()
    panel = phone.page.locator("#peek")
    expect(panel.locator("h2")).to_have_text("Peek one")
    box = panel.bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 390, 844)
    assert phone.overflow() == 0
    phone.page.go_back()
    expect(panel).not_to_be_visible()
    assert "/projects/DEMO/tickets" in phone.page.url


def test_a_card_is_previewed_from_its_menu_on_a_phone(phone, two):
    first, _ = two
    phone.go("/projects/DEMO/board")
    phone.card(first).locator("[data-more]").tap()
    phone.page.get_by_role("button", name="Preview").tap()
    expect(phone.page.locator("#peek h2")).to_have_text("Peek one")
    expect(phone.page.locator("#dialog")).not_to_be_visible()
