"""Selecting several cards of a board with a finger, and changing them together."""

from playwright.sync_api import expect


def test_cards_are_chosen_by_tapping_and_changed_together(phone, seeded):
    first, second = (
        seeded.ticket(name, state_id=seeded.ids["Backlog"]) for name in ("One", "Another")
    )
    phone.go("/projects/DEMO/board")
    count = phone.page.locator("#bulk-count")
    phone.card(first).locator(".card-more").tap()
    phone.page.get_by_role("button", name="Select multiple").tap()
    expect(phone.page.locator("#dialog")).not_to_be_visible()
    expect(count).to_have_text("1")
    # In selection mode a tap selects, and opens nothing.
    phone.card(second).tap()
    expect(count).to_have_text("2")
    expect(phone.card(second)).to_contain_class("chosen")
    phone.card(first).tap()
    expect(count).to_have_text("1")
    phone.card(first).tap()
    phone.page.get_by_label("State", exact=True).select_option(label="In review")
    phone.page.locator("#bulk").get_by_role("button", name="Apply").tap()
    expect(phone.toast()).to_contain_text("2 changed")
    for one in (first, second):
        expect(phone.card_at("In review", one)).to_have_count(1)
    expect(count).not_to_be_visible()
    assert phone.page.url.endswith("/projects/DEMO/board")
    assert phone.overflow() <= 0
    # Nothing is selected: a tap opens the ticket again.
    phone.card(first).scroll_into_view_if_needed()
    phone.card(first).tap()
    expect(phone.page.locator("h1")).to_have_text("One")
