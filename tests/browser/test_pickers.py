"""Choosing the fields of a ticket: popovers by mouse, by keys and on a phone."""

import pytest
from playwright.sync_api import expect

from tests.support.serving import until

PICKERS = {
    "s": "state",
    "a": "assignee",
    "p": "priority",
    "l": "labels",
    "d": "due_date",
    "Shift+P": "parent",
}


@pytest.fixture
def ticket(wide, seeded):
    reference = seeded.ticket("To be picked for")
    wide.go(f"/tickets/{reference}")
    return wide


def places(page) -> list[float]:
    """The positions of all fields and of the description."""
    return page.evaluate(
        "[...document.querySelectorAll('.ticket-field, .ticket-field-value, .ticket-main')]"
        ".flatMap(one => { const box = one.getBoundingClientRect();"
        " return [box.x, box.y] })"
    )


def test_each_key_opens_a_popover_that_moves_nothing_and_gives_the_focus_back(ticket):
    before = places(ticket.page)
    for key, name in PICKERS.items():
        ticket.press(key)
        expect(ticket.page.locator(f"#ticket-field-{name} .picker :focus")).to_have_count(1)
        assert places(ticket.page) == before, name
        ticket.press("Escape")
        expect(ticket.page.locator(".picker")).to_have_count(0)
        expect(ticket.page.locator(f"#edit-{name}")).to_be_focused()
    assert places(ticket.page) == before


def test_typing_narrows_the_options_and_enter_takes_the_first(ticket):
    ticket.press("s")
    expect(ticket.page.locator(".picker .option[data-start]")).to_be_focused()
    ticket.page.keyboard.type("rev")
    expect(ticket.page.locator("#narrow")).to_have_value("rev")
    expect(ticket.page.locator(".picker .option:visible")).to_have_text(["In review"])
    ticket.press("Enter")
    expect(ticket.page.locator("#edit-state")).to_contain_text("In review")
    expect(ticket.page.locator("#edit-state")).to_be_focused()


def test_typing_narrows_the_options_after_a_refusal_too(ticket, seeded):
    path = f"/projects/{seeded.ids['project']}/workflow-states"
    state = seeded.call("POST", path, {"name": "Passing", "category": "active"})
    ticket.page.reload()
    ticket.press("s")
    expect(ticket.page.locator(".picker .option[data-start]")).to_be_focused()
    seeded.call("DELETE", f"{path}/{state['id']}")
    ticket.page.keyboard.type("passing")
    ticket.press("Enter")
    expect(ticket.page.locator(".picker .problem")).to_be_focused()
    ticket.page.keyboard.type("rev")
    expect(ticket.page.locator("#narrow")).to_have_value("rev")
    expect(ticket.page.locator(".picker .option:visible")).to_have_text(["In review"])


def test_saved_stands_in_the_place_of_the_name(ticket):
    before = places(ticket.page)
    ticket.press("p")
    expect(ticket.page.locator(".picker :focus")).to_have_count(1)
    ticket.press("ArrowDown", "Enter")
    expect(
        ticket.page.locator("#ticket-field-priority .ticket-field-name > .saved-mark")
    ).to_have_text("Saved")
    assert places(ticket.page)[:12] == before[:12]
    expect(ticket.page.locator(".saved-mark")).to_have_count(0)


def test_several_labels_and_a_new_one_at_once(ticket):
    ticket.press("l")
    expect(ticket.page.locator(".picker :focus")).to_have_count(1)
    ticket.press("Space")
    ticket.page.keyboard.type("Made here")
    create = ticket.page.locator("[data-create]")
    expect(create).to_have_text('Create label "Made here"')
    expect(ticket.page.locator(".picker .option[data-option]:visible")).to_have_count(0)
    ticket.press("Enter")
    expect(ticket.page.locator("#edit-labels .label")).to_have_count(2)
    expect(ticket.page.locator("#edit-labels")).to_contain_text("Made here")
    ticket.press("l")
    expect(ticket.page.locator(".picker :focus")).to_have_count(1)
    ticket.page.keyboard.type("made here")
    expect(create).to_be_hidden()
    ticket.press("Enter")
    expect(ticket.page.locator("#narrow")).to_have_value("")
    ticket.press("Enter")
    expect(ticket.page.locator("#edit-labels .label")).to_have_count(1)


def test_a_click_elsewhere_saves_chosen_labels_and_leaves_the_others(ticket):
    ticket.page.click("#edit-labels")
    ticket.page.check("#ticket-field-labels [type=checkbox] >> nth=0")
    ticket.page.click("h1")
    expect(ticket.page.locator("#edit-labels .label")).to_have_count(1)
    ticket.page.click("#edit-state")
    expect(ticket.page.locator(".picker")).to_have_count(1)
    ticket.page.click("#edit-state")
    expect(ticket.page.locator(".picker")).to_have_count(0)


def test_a_due_date_in_words(ticket):
    ticket.press("d")
    expect(ticket.page.locator("#value")).to_be_focused()
    ticket.page.keyboard.type("in 2 weeks")
    expect(ticket.page.locator("#value-hint")).not_to_have_text("Leave empty for no date")
    day = ticket.page.inner_text("#value-hint").split(", ")[1].rsplit(" ", 2)[0]
    ticket.press("Enter")
    expect(ticket.page.locator("#edit-due_date")).to_contain_text(f"{day} ")


def test_a_suggested_due_date_is_one_click_and_so_is_none(ticket):
    ticket.page.click("#edit-due_date")
    ticket.page.click(".picker .option:has-text('In 2 weeks')")
    expect(ticket.page.locator("#edit-due_date")).not_to_contain_text("None")
    ticket.page.click("#edit-due_date")
    ticket.page.click(".picker .option:has-text('No due date')")
    expect(ticket.page.locator("#edit-due_date")).to_contain_text("None")


def test_a_parent_is_found_by_its_title_and_taken_away(ticket):
    ticket.press("Shift+P")
    expect(ticket.page.locator(".picker :focus")).to_have_count(1)
    ticket.page.keyboard.type("epic above")
    ticket.press("Enter")
    expect(ticket.page.locator("#edit-parent")).to_contain_text("The epic above")
    ticket.press("Shift+P")
    expect(ticket.page.locator(".picker [data-start]")).to_be_focused()
    ticket.page.click(".picker .option:has-text('No parent')")
    expect(ticket.page.locator("#edit-parent")).to_contain_text("None")


@pytest.fixture(scope="module")
def old_epic(seeded):
    """An epic with a hundred newer ones, so that no list suggests it."""
    made = [seeded.ticket(title, type="epic") for title in ("The old harbor", *("New",) * 100)]
    yield made[0]
    for reference in made:
        seeded.call("DELETE", f"/tickets/{reference}")


def test_a_parent_that_is_not_suggested_is_searched_for(ticket, old_epic):
    held = []

    def hold(route):
        held.append(route)

    ticket.intercept("**/parents?*", hold)
    ticket.press("Shift+P")
    expect(ticket.page.locator(".picker :focus")).to_have_count(1)
    ticket.page.keyboard.type("old harb")
    until(lambda: ticket.page.evaluate("1") and held)
    # Enter before the response arrives chooses nothing.
    ticket.press("Enter")
    held[-1].continue_()
    ticket.page.unroute("**/parents?*")
    option = ticket.page.locator(".picker .option:visible", has_text="The old harbor")
    expect(option).to_have_count(1)
    ticket.press("Enter")
    expect(ticket.page.locator("#edit-parent")).to_contain_text("The old harbor")


def test_a_parent_is_searched_for_on_a_phone(phone, seeded, old_epic):
    reference = seeded.ticket("To be picked for")
    phone.go(f"/tickets/{reference}")
    phone.page.locator("#edit-parent").tap()
    phone.page.locator(".picker #value").fill("zeppelin")
    expect(phone.page.locator(".picker .options")).to_have_text("No matches.")
    phone.page.locator(".picker #value").fill("harbor")
    phone.page.locator(".picker .option", has_text="The old harbor").tap()
    expect(phone.page.locator("#edit-parent")).to_contain_text("The old harbor")


def test_a_parent_is_searched_for_on_a_card(wide, seeded, old_epic):
    reference = seeded.ticket("A card without a parent")
    wide.go("/projects/DEMO/board")
    wide.card(reference).locator("[data-title]").focus()
    wide.press("Shift+P")
    wide.page.locator("#dialog #value").fill("old harb")
    wide.page.locator("#dialog .option", has_text="The old harbor").click()
    expect(wide.toast()).to_contain_text("parent")
    parent = seeded.call("GET", f"/tickets/{reference}")["parent"]
    assert parent["display_id"] == old_epic


def test_on_a_phone_a_picker_is_a_sheet_at_the_bottom(phone, seeded):
    phone.go(f"/tickets/{seeded.ticket('Picked for on a phone')}")
    picker = phone.page.locator(".picker")
    for name in PICKERS.values():
        # A tap scrolls the field into view, so scroll before measuring.
        phone.page.locator(f"#edit-{name}").scroll_into_view_if_needed()
        before = places(phone.page)
        phone.page.tap(f"#edit-{name}")
        expect(picker).to_be_visible()
        box = picker.bounding_box()
        assert box is not None
        assert (box["x"], box["width"], round(box["y"] + box["height"])) == (0, 390, 844)
        assert places(phone.page) == before
        assert phone.overflow() == 0
        phone.page.tap("h1")
        expect(picker).to_have_count(0)


@pytest.mark.parametrize("path", ["/projects/DEMO/board", "/projects/DEMO/tickets"])
def test_the_same_pickers_open_on_a_card_and_on_a_row(wide, seeded, path):
    reference = seeded.ticket("Of a card and a row", state_id=seeded.ids["To do"])
    link = wide.page.locator(f"a[href='/tickets/{reference}']:is([data-title], [data-row-link])")
    wide.go(path)
    link.focus()
    for key in PICKERS:
        wide.press(key)
        expect(wide.page.locator("#dialog form :focus")).to_have_count(1)
        wide.press("Escape")
        expect(link).to_be_focused()
    wide.press("s")
    expect(wide.page.locator("#dialog form :focus")).to_have_count(1)
    wide.page.keyboard.type("review")
    wide.press("Enter")
    expect(wide.toast()).to_contain_text("moved to In review")
    expect(link).to_be_focused()
    wide.press("d")
    expect(wide.page.locator("#value")).to_be_focused()
    wide.page.keyboard.type("2031-05-06")
    wide.press("Enter")
    expect(wide.toast().last).to_contain_text(f"{reference}: due 6 May 2031")
    wide.press("l")
    expect(wide.page.locator("#dialog form :focus")).to_have_count(1)
    wide.page.fill("#narrow", "From a card")
    wide.press("Enter")
    expect(wide.toast().last).to_contain_text("From a card")
    expect(link).to_be_focused()
    ticket = seeded.call("GET", f"/tickets/{reference}")
    assert (ticket["state"]["name"], ticket["due_date"]) == ("In review", "2031-05-06")
    seeded.call("DELETE", f"/projects/{ticket['project_id']}/labels/{ticket['labels'][0]['id']}")


def test_a_row_has_the_focus_back_when_the_list_came_anew_below_its_sheet(wide, seeded):
    reference = seeded.ticket("Of a list that comes anew", state_id=seeded.ids["To do"])
    link = wide.page.locator(f"a[href='/tickets/{reference}'][data-row-link]")
    wide.go("/projects/DEMO/tickets")
    for ending in ("Escape", "Enter"):
        link.focus()
        wide.press("p")
        expect(wide.page.locator("#dialog form :focus")).to_have_count(1)
        wide.page.evaluate(
            "document.querySelector('#results').dataset.old = '';"
            "htmx.ajax('GET', location.pathname, { target: '#results', swap: 'outerHTML' })"
        )
        expect(wide.page.locator("[data-old]")).to_have_count(0)
        wide.press(ending)
        expect(link).to_be_focused()


def test_the_menu_of_a_card_leads_to_its_pickers(phone, seeded):
    reference = seeded.ticket("Of a menu", state_id=seeded.ids["To do"])
    phone.go("/projects/DEMO/board")
    phone.card(reference).locator(".card-more").tap()
    phone.page.locator("#dialog").get_by_role("link", name="Priority").tap()
    expect(phone.page.locator("#dialog-title")).to_have_text(f"Priority of {reference}")
    assert phone.overflow() == 0
    phone.page.locator("#dialog").get_by_role("button", name="Urgent").tap()
    expect(phone.card(reference).get_by_label("Urgent priority")).to_be_visible()


def test_the_parent_of_a_new_ticket_is_found_by_its_title(wide):
    wide.go("/tickets/new?project=DEMO")
    wide.page.get_by_label("Title").fill("Below an epic")
    parent = wide.page.get_by_label("Parent")
    parent.press_sequentially("epic ab")
    expect(wide.page.get_by_role("option", name="The epic above")).to_be_visible()
    wide.press("Enter")
    expect(parent).to_have_value("DEMO-1")
    wide.press("Enter")
    expect(wide.page.locator("h1")).to_have_text("Below an epic")
    expect(wide.page.locator("#edit-parent")).to_contain_text("The epic above")
