"""Templates, due dates in words, limits and shared views, by mouse, keyboard and finger."""

import pytest
from playwright.sync_api import expect

SETTINGS = "/projects/DEMO/settings"


@pytest.fixture
def bug(wide):
    """A template named Bug report, added through its page."""
    wide.go(f"{SETTINGS}/templates/new")
    wide.page.get_by_label("Name").fill("Bug report")
    wide.page.get_by_label("Title").fill("Bug:")
    wide.page.get_by_label("Description").fill("## Steps")
    wide.page.get_by_label("Priority").select_option("high")
    wide.page.get_by_role("button", name="Create template").click()
    expect(wide.page.locator(".template-row")).to_have_count(1)
    yield
    wide.go(f"{SETTINGS}/templates")
    wide.page.get_by_role("button", name="Delete Bug report").click()
    expect(wide.toast()).to_contain_text("Template deleted")


@pytest.mark.usefixtures("bug")
def test_a_template_fills_in_a_new_ticket_and_quick_add(wide, seeded):
    wide.go("/tickets/new?project=DEMO")
    wide.page.get_by_role("link", name="Bug report").click()
    expect(wide.page.get_by_label("Description")).to_have_value("## Steps")
    expect(wide.page.get_by_label("Priority")).to_have_value("high")
    # Typing goes on after the title of the template, and takes precedence over another's.
    wide.page.keyboard.type(" The gate sticks")
    expect(wide.page.get_by_label("Title")).to_have_value("Bug: The gate sticks")
    wide.page.get_by_role("link", name="No template").click()
    expect(wide.page.get_by_label("Description")).to_have_value("")
    expect(wide.page.get_by_label("Title")).to_have_value("Bug: The gate sticks")
    wide.page.get_by_label("Title").fill("The gate sticks")
    # In a tab of its own, a template takes nothing from this one.
    with wide.page.context.expect_page() as other:
        wide.page.get_by_role("link", name="Bug report").click(modifiers=["Control"])
    other.value.close()
    expect(wide.page.get_by_label("Title")).to_have_value("The gate sticks")
    wide.page.get_by_role("link", name="Bug report").click()
    expect(wide.page.get_by_label("Description")).to_have_value("## Steps")
    expect(wide.page.get_by_label("Title")).to_have_value("The gate sticks")
    wide.page.get_by_label("Due date", exact=True).fill("1 dec")
    expect(wide.page.locator("#due_date-hint")).to_contain_text("1 Dec")
    wide.page.get_by_role("button", name="Create ticket").click()
    expect(wide.page.locator("h1")).to_contain_text("The gate sticks")
    expect(wide.page.locator("#edit-due_date")).to_contain_text("1 Dec")
    wide.go("/projects/DEMO/board")
    wide.press("c")
    wide.page.keyboard.type("/bug-report due:tomorrow A quick one")
    expect(wide.page.locator("[data-understood]")).to_contain_text("Bug report")
    wide.press("Enter")
    expect(wide.page.locator("#board", has_text="A quick one")).to_be_visible()
    found = seeded.call("GET", f"/projects/{seeded.ids['project']}/tickets?limit=1")["data"][0]
    assert (found["body"], found["priority"]) == ("## Steps", "high")
    assert found["due_date"] is not None


@pytest.mark.usefixtures("bug")
def test_a_view_is_saved_and_a_template_used_on_a_phone(phone):
    phone.go("/projects/DEMO/board?priority=high")
    menu = phone.page.locator(".view-menu")
    menu.locator("summary").tap()
    menu.get_by_label("View name").fill("Urgent things")
    menu.get_by_role("button", name="Save").tap()
    expect(menu.locator("a", has_text="Urgent things")).to_have_count(1)
    menu.locator("summary").tap()
    expect(menu.get_by_role("link", name="Urgent things")).to_be_in_viewport(ratio=1)
    assert phone.overflow() <= 0
    menu.get_by_role("button", name="Delete view Urgent things").tap()
    expect(menu.get_by_role("link", name="Urgent things")).to_have_count(0)
    phone.go("/projects/DEMO/board")
    phone.page.locator("[data-add]").first.tap()
    phone.page.keyboard.type("/bug-report Tapped in")
    expect(phone.page.locator("[data-understood]")).to_contain_text("Bug report")
    phone.page.get_by_role("button", name="Add", exact=True).tap()
    expect(phone.page.locator("#board", has_text="Tapped in")).to_be_visible()


def test_a_due_date_is_typed_or_taken_from_the_calendar(phone, seeded):
    reference = seeded.ticket("Due some day")
    phone.go(f"/tickets/{reference}")
    phone.page.locator("#edit-due_date").tap()
    field = phone.page.get_by_role("textbox", name="Due date", exact=True)
    expect(field).to_be_focused()
    field.fill("someday")
    expect(phone.page.locator("#value-hint")).to_have_text("Not a valid date")
    phone.page.get_by_label("Due date from a calendar").fill("2030-12-24")
    expect(field).to_have_value("2030-12-24")
    expect(phone.page.locator("#value-hint")).to_have_text("Tuesday, 24 Dec 2030")
    field.press("Enter")
    expect(phone.page.locator("#edit-due_date")).to_contain_text("24 Dec 2030")


def test_a_column_over_its_limit_turns_amber_while_cards_come_and_go(wide, seeded):
    state = seeded.ids["In review"]
    path = f"/projects/{seeded.ids['project']}/workflow-states/{state}"
    total = len(
        seeded.call("GET", f"/projects/{seeded.ids['project']}/tickets?state_id={state}")["data"]
    )
    seeded.call("PATCH", path, {"wip_limit": total + 1})
    try:
        wide.go("/projects/DEMO/board")
        head = wide.page.locator(f"[data-head='{state}']")
        expect(head.locator(".count")).to_contain_text(f"/ {total + 1}")
        expect(head.get_by_label("Over limit")).to_be_hidden()
        for number in range(2):
            head.locator("[data-add]").click()
            wide.page.keyboard.type(f"One more {number}")
            wide.press("Enter")
            expect(wide.page.locator("#board", has_text=f"One more {number}")).to_be_visible()
            wide.press("Escape")
        expect(head.get_by_label("Over limit")).to_be_visible()
        expect(head.locator(".count")).to_have_text(f"{total + 2} / {total + 1}")
    finally:
        seeded.call("PATCH", path, {"wip_limit": None})


def test_a_view_is_shared_and_kept_private_again(wide):
    wide.go("/projects/DEMO/tickets?due=this_week")
    menu = wide.page.locator(".view-menu")
    menu.locator("summary").click()
    menu.get_by_label("View name").fill("Due this week")
    menu.get_by_label("Share with the project").check()
    # The old page also has the element that is clicked next.
    with wide.page.expect_navigation():
        menu.get_by_role("button", name="Save").click()
    menu.locator("summary").click()
    expect(menu.get_by_text("Shared with Demo project")).to_be_visible()
    # The old page also has the element that is clicked next.
    with wide.page.expect_navigation():
        menu.get_by_role("button", name="Stop sharing view Due this week").click()
    menu.locator("summary").click()
    expect(menu.get_by_text("Only you")).to_be_visible()
    menu.get_by_role("link", name="Due this week").click()
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/tickets?due=this_week")
    menu.locator("summary").click()
    menu.get_by_role("button", name="Delete view Due this week").click()
    expect(menu.get_by_role("link", name="Due this week")).to_have_count(0)


def test_a_page_that_is_looked_at_again_says_where_its_reader_is(wide_apart):
    page = wide_apart.page
    wide_apart.go("/projects/DEMO/board")
    page.evaluate("Date.prototype.getTimezoneOffset = () => -345")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert "utc_offset=345" in page.evaluate("document.cookie")
