"""Pages that have no other journeys of their own, used with nothing but keys."""

import pytest
from playwright.sync_api import expect

SETTINGS = "/projects/DEMO/settings"


def reach(desk, name, role="button", most=60):
    """Press Tab until something of this name has the focus, as those do who use no mouse."""
    wanted = desk.page.get_by_role(role, name=name, exact=True)
    for _ in range(most):
        desk.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    pytest.fail(f"Tab does not lead to {name}")


def states(desk):
    fields = desk.page.locator("#states .state-row input[name=name]")
    return fields.evaluate_all("all => all.map(one => one.value)")


def test_states_are_added_renamed_moved_and_deleted(desk):
    desk.go(f"{SETTINGS}/states")
    before = states(desk)
    reach(desk, "New state", "textbox")
    desk.page.keyboard.type("Blocked")
    desk.press("Enter")
    rows = desk.page.locator("#states .state-row")
    expect(rows).to_have_count(len(before) + 1)
    assert states(desk) == [*before, "Blocked"]
    # From its name it moves up and down, and keeps the focus.
    own = rows.filter(has=desk.page.get_by_role("button", name="Move Blocked up")).get_by_label(
        "Name of state"
    )
    own.focus()
    desk.press("Alt+ArrowUp")
    expect(rows.nth(len(before) - 1).get_by_label("Name of state")).to_have_value("Blocked")
    expect(own).to_be_focused()
    desk.press("Alt+ArrowDown")
    expect(rows.nth(len(before)).get_by_label("Name of state")).to_have_value("Blocked")
    expect(own).to_be_focused()
    desk.press("Control+a")
    desk.page.keyboard.type("Stuck")
    desk.press("Enter")
    expect(desk.page.get_by_role("button", name="Save Stuck")).to_be_visible()
    reach(desk, "Delete Stuck")
    desk.press("Enter")
    expect(rows).to_have_count(len(before))
    assert desk.focused() == "Workflow"


def test_labels_are_added_and_deleted(desk, furnished):
    desk.go(f"{SETTINGS}/labels")
    reach(desk, "New label", "textbox")
    desk.page.keyboard.type("by key")
    desk.press("Enter")
    expect(desk.page.get_by_role("button", name="Save by key")).to_be_visible()
    desk.page.on("dialog", lambda dialog: dialog.accept())
    desk.page.locator("main h1").evaluate("one => { one.tabIndex = -1; one.focus(); }")
    reach(desk, "Delete by key")
    desk.press("Enter")
    expect(desk.page.get_by_role("button", name="Save by key")).to_have_count(0)
    assert desk.focused() == "Labels"


def test_the_audit_log_is_filtered_opened_and_undone(desk, furnished):
    reference = furnished.ticket("Of this test")
    furnished.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"}, as_bot=True)
    desk.go("/audit")
    reach(desk, "Ticket", "textbox")
    desk.page.keyboard.type(reference)
    desk.press("Enter")
    expect(desk.page.locator(".audit-row")).to_have_count(2)
    assert f"ticket={reference}" in desk.page.url
    reach(desk, "Details of ticket.updated", "link")
    desk.press("Enter")
    dialog = desk.page.locator("#dialog")
    expect(dialog).to_contain_text("priority")
    desk.press("Escape")
    expect(dialog).not_to_be_visible()
    assert desk.focused().startswith("Details")
    # The row behind is a link that reads without a script too, and back leads here again.
    desk.page.keyboard.press("Enter")
    reach(desk, "Close")
    desk.press("Enter")
    expect(dialog).not_to_be_visible()


def test_a_bot_is_made_paused_and_let_go_on(desk):
    desk.go("/bots")
    reach(desk, "Username", "textbox")
    desk.page.keyboard.type("bot-keys-1")
    reach(desk, "Read only", "radio")
    desk.press("ArrowRight")
    reach(desk, "DEMO Demo project", "checkbox")
    desk.press("Space")
    expect(desk.page.locator("#wording")).to_contain_text("read and write")
    reach(desk, "Create bot and show its token")
    desk.press("Enter")
    expect(desk.page.locator("#mcp-url")).to_be_visible()
    desk.go("/bots")
    reach(desk, "Pause all bots")
    desk.press("Enter")
    expect(desk.page.get_by_text("All bots are paused")).to_be_visible()
    reach(desk, "Let bots write again")
    desk.press("Enter")
    expect(desk.page.get_by_role("button", name="Pause all bots")).to_be_visible()


def test_a_person_is_added_and_the_look_is_chosen(desk):
    desk.go("/people")
    for name, text in (("Username", "cleo"), ("Name", "Cleo"), ("First password", "a calm word")):
        reach(desk, name, "textbox")
        desk.page.keyboard.type(text)
    desk.press("Enter")
    # Eleven characters: the field says so, and what was typed is there.
    expect(desk.page.locator("#username")).to_have_value("cleo")
    desk.page.locator("#password").focus()
    desk.page.keyboard.type("a calm sentence")
    desk.press("Enter")
    expect(desk.page.get_by_role("button", name="Deactivate Cleo")).to_be_visible()
    desk.go("/profile")
    reach(desk, "As the system", "radio")
    # Past one look to another: only Enter sends it.
    desk.press("ArrowRight", "ArrowRight")
    expect(desk.page.get_by_role("radio", name="Dark")).to_be_focused()
    desk.press("Enter")
    expect(desk.page.locator("html")).to_have_attribute("data-theme", "dark")
