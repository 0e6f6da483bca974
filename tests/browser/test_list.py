"""The list: keys, choosing, the bar, undo, trees, pages, a phone."""

import pytest
from playwright.sync_api import expect

from tests.support.serving import until

# The focus comes back, and what is fetched for it is in place.
SETTLED = """() => new Promise(done => {
    document.addEventListener("htmx:afterSettle", () => done(), { once: true });
    dispatchEvent(new Event("focus"));
})"""


@pytest.fixture
def several(furnished):
    """Five tickets of a title of their own, the newest first."""
    made = [furnished.ticket(f"Listed {number}", priority="low") for number in range(5)]
    yield made[::-1]
    for reference in made:
        if (
            furnished.served.request(
                "GET", f"/api/v1/tickets/{reference}", Cookie=furnished.cookie
            ).status
            == 200
        ):
            furnished.call("DELETE", f"/tickets/{reference}")


def box(desk, reference):
    """The box of a row."""
    return desk.page.get_by_label(f"Choose {reference}", exact=True)


def bar(desk):
    """The bar below the list."""
    return desk.page.locator(".bulk-bar")


def field(furnished, reference, name):
    """A field of a ticket."""
    return furnished.call("GET", f"/tickets/{reference}")[name]


def test_choose_apply_and_undo_all(desk, furnished, several):
    desk.go("/projects/DEMO/tickets?q=listed")
    expect(bar(desk)).not_to_be_visible()
    box(desk, several[0]).check()
    box(desk, several[3]).click(modifiers=["Shift"])
    expect(desk.page.locator("#bulk-count")).to_have_text("4")
    bar(desk).get_by_label("Priority").select_option("urgent")
    bar(desk).get_by_label("State").select_option(label="In review")
    bar(desk).get_by_text("Apply").click()
    expect(desk.toast()).to_contain_text("4 changed")
    expect(bar(desk)).not_to_be_visible()
    expect(desk.page.locator(".ticket-row .state-cell", has_text="In review")).to_have_count(4)
    assert field(furnished, several[1], "priority") == "urgent"
    assert field(furnished, several[4], "priority") == "low"
    desk.page.click("[data-undo-all]")
    until(lambda: field(furnished, several[1], "priority") == "low")
    assert field(furnished, several[0], "state")["name"] == "Backlog"


def test_by_keys_alone(desk, furnished, several):
    desk.go("/projects/DEMO/tickets?q=listed")
    expect(desk.page.locator(".ticket-row")).to_have_count(5)
    desk.press("j", "x", "j", "x")
    expect(desk.page.locator("#bulk-count")).to_have_text("2")
    expect(box(desk, several[1])).to_be_checked()
    desk.press("x")
    expect(desk.page.locator("#bulk-count")).to_have_text("1")
    desk.press("Escape")
    expect(bar(desk)).not_to_be_visible()
    desk.press("k", "Enter")
    expect(desk.page.locator("h1")).to_have_text("Listed 4")


def test_all_that_match_is_not_the_page(desk, furnished, several):
    desk.go("/projects/DEMO/tickets?q=listed")
    box(desk, several[0]).check()
    desk.page.click("#choose-all")
    expect(desk.page.locator("#bulk-count")).to_have_text("All 5")
    bar(desk).get_by_label("Add label").select_option(label="docs")
    bar(desk).get_by_text("Apply").click()
    expect(desk.toast()).to_contain_text("5 changed")
    assert [one["name"] for one in field(furnished, several[2], "labels")] == ["docs"]


def test_all_that_match_stays_said_while_the_page_fetches_something(desk, several):
    desk.go("/projects/DEMO/tickets?q=listed")
    box(desk, several[0]).check()
    desk.page.click("#choose-all")
    expect(desk.page.locator("#bulk-count")).to_have_text("All 5")
    # Whoever comes back to the window is told anew what the inbox holds.
    desk.page.evaluate(SETTLED)
    expect(desk.page.locator("#bulk-count")).to_have_text("All 5")
    box(desk, several[0]).uncheck()
    expect(desk.page.locator("#bulk-count")).to_have_text("4")


def test_deleting_asks_with_the_number(desk, furnished, several):
    desk.go("/projects/DEMO/tickets?q=listed")
    for reference in several[:2]:
        box(desk, reference).check()
    bar(desk).get_by_text("Delete…").click()
    expect(desk.page.locator("#dialog-title")).to_have_text("Delete 2 tickets?")
    desk.press("Escape")
    expect(desk.page.locator("#dialog")).not_to_be_visible()
    expect(desk.page.locator("#bulk-count")).to_have_text("2")
    bar(desk).get_by_text("Delete…").click()
    desk.page.click("#dialog .button.danger")
    expect(desk.toast()).to_contain_text("2 deleted")
    expect(desk.page.locator(".ticket-row")).to_have_count(3)
    desk.page.click("[data-undo-all]")
    until(
        lambda: (
            furnished.served.request(
                "GET", f"/api/v1/tickets/{several[0]}", Cookie=furnished.cookie
            ).status
            == 200
        )
    )


def test_what_was_chosen_survives_other_rows(desk, furnished, several):
    desk.go("/projects/DEMO/tickets?q=listed")
    box(desk, several[0]).check()
    desk.page.fill("#filter-q", "plain")
    expect(desk.page.locator(".ticket-row")).to_have_count(1)
    expect(desk.page.locator("#bulk-count")).to_have_text("1")
    bar(desk).get_by_label("Priority").select_option("high")
    bar(desk).get_by_text("Apply").click()
    expect(desk.toast()).to_contain_text("1 changed")
    assert field(furnished, several[0], "priority") == "high"
    assert field(furnished, "DEMO-6", "priority") == "medium"


def test_what_is_wrong_keeps_the_choice(desk, furnished, several):
    desk.go("/projects/DEMO/tickets?q=listed")
    box(desk, several[0]).check()
    bar(desk).get_by_text("Apply").click()
    expect(desk.toast()).to_contain_text("Choose what to change")
    expect(desk.page.locator("#bulk-count")).to_have_text("1")


def test_sorting_and_more_rows(desk, furnished, several):
    desk.go("/projects/DEMO/tickets")
    desk.page.click(".sort:has-text('Updated')")
    expect(desk.page).to_have_url(f"{desk.base}/projects/DEMO/tickets?sort=updated")
    expect(desk.page.locator("th[aria-sort=descending] .sort.descending")).to_contain_text(
        "Updated"
    )
    desk.page.go_back()
    expect(desk.page.locator("th[aria-sort=descending] .sort.descending")).to_contain_text(
        "Created"
    )
    desk.page.click(".sort:has-text('Created')")
    expect(desk.page.locator("th[aria-sort=ascending] .sort.ascending")).to_contain_text("Created")
    for number in range(50):
        furnished.ticket(f"Many {number}")
    desk.go("/projects/DEMO/tickets")
    expect(desk.page.locator(".ticket-row")).to_have_count(50)
    desk.page.click(".more-row a")
    until(lambda: desk.page.locator(".ticket-row").count() > 50)


def test_a_tree_folds(desk, furnished):
    desk.go("/projects/DEMO/tickets?view=tree&sort=oldest")
    rows = desk.page.locator(".ticket-row:visible")
    before = rows.count()
    epic = desk.page.locator(".ticket-row", has_text="The epic above")
    epic.get_by_role("button").click()
    expect(rows).to_have_count(before - 3)
    expect(epic).to_have_attribute("aria-expanded", "false")
    epic.locator(".stretched").focus()
    desk.press("ArrowRight")
    expect(rows).to_have_count(before)
    story = desk.page.locator(".ticket-row", has_text="A rich ticket")
    story.locator(".stretched").focus()
    desk.press("ArrowLeft")
    expect(rows).to_have_count(before - 2)
    # What was folded inside stays so.
    epic.locator(".stretched").focus()
    desk.press("ArrowLeft", "ArrowRight")
    expect(rows).to_have_count(before - 2)


def test_on_a_phone_rows_are_cards(phone, furnished, several):
    phone.go("/projects/DEMO/tickets?q=listed")
    assert phone.overflow() <= 0
    box(phone, several[0]).check()
    expect(bar(phone)).to_be_in_viewport(ratio=0.9)
    assert phone.overflow() <= 0
    bar(phone).get_by_label("Priority").select_option("high")
    bar(phone).get_by_text("Apply").tap()
    expect(phone.toast()).to_contain_text("1 changed")


def test_without_a_script(plain, furnished, several):
    plain.go("/projects/DEMO/tickets?q=listed")
    box(plain, several[0]).check()
    box(plain, several[1]).check()
    bar(plain).get_by_label("Priority").select_option("urgent")
    bar(plain).get_by_text("Apply").click()
    expect(plain.page.locator("h1")).to_have_text("2 changed")
    plain.page.click("text=Undo all")
    until(lambda: field(furnished, several[0], "priority") == "low")
    plain.go("/projects/DEMO/tickets?view=tree&sort=oldest")
    expect(plain.page.locator("[aria-level='2']").first).to_be_visible()
