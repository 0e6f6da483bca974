"""Pages that no other keyboard test covers, used with keys only."""

import re

import pytest
from playwright.sync_api import expect

SETTINGS = "/projects/DEMO/settings"


def reach(wide, name, role="button", most=60):
    """Press Tab until an element of this name has the focus, as keyboard users do."""
    wanted = wide.page.get_by_role(role, name=name, exact=True)
    for _ in range(most):
        wide.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    pytest.fail(f"Tab does not lead to {name}")


def reach_text(wide, text, most=60):
    """Like ``reach``, by the start of its text: a summary has no role, a time no fixed name."""
    for _ in range(most):
        wide.press("Tab")
        if re.match(rf"{text}\b", wide.focused().strip()):
            return
    pytest.fail(f"Tab does not lead to {text}")


def states(wide):
    return wide.page.locator("#states .row-name").all_text_contents()


def test_states_are_added_renamed_moved_and_deleted(wide):
    wide.go(f"{SETTINGS}/states")
    before = states(wide)
    reach(wide, "New state", "textbox")
    wide.page.keyboard.type("Blocked")
    wide.press("Enter")
    rows = wide.page.locator("#states .state-row")
    expect(rows).to_have_count(len(before) + 1)
    assert states(wide) == [*before, "Blocked"]
    # Alt and an arrow key on its name move the row, which keeps the focus.
    own = wide.page.get_by_role("link", name="Edit Blocked")
    own.focus()
    wide.press("Alt+ArrowUp")
    expect(wide.page.locator(".row-name").nth(len(before) - 1)).to_have_text("Blocked")
    expect(own).to_be_focused()
    wide.press("Alt+ArrowDown")
    expect(wide.page.locator(".row-name").nth(len(before))).to_have_text("Blocked")
    expect(own).to_be_focused()
    # Enter opens the editor and saves; Escape cancels.
    for key in ("Escape", "Enter"):
        wide.press("Enter")
        expect(wide.page.get_by_label("Name of Blocked")).to_be_focused()
        wide.press("Control+a")
        wide.page.keyboard.type("Stuck")
        wide.press(key)
        name = "Blocked" if key == "Escape" else "Stuck"
        expect(wide.page.get_by_role("link", name=f"Edit {name}")).to_be_focused()
    reach(wide, "Delete Stuck")
    wide.press("Enter")
    expect(rows).to_have_count(len(before))
    assert wide.focused() == "Workflow"


def test_labels_are_added_and_deleted(wide, seeded):
    wide.go(f"{SETTINGS}/labels")
    reach(wide, "New label", "textbox")
    wide.page.keyboard.type("by key")
    wide.press("Enter")
    expect(wide.page.get_by_role("link", name="Edit by key")).to_be_visible()
    wide.page.on("dialog", lambda dialog: dialog.accept())
    wide.page.locator("main h1").evaluate("one => { one.tabIndex = -1; one.focus(); }")
    reach(wide, "Delete by key")
    wide.press("Enter")
    expect(wide.page.get_by_role("link", name="Edit by key")).to_have_count(0)
    assert wide.focused() == "Labels"


def test_the_audit_log_is_filtered_opened_and_undone(wide, seeded):
    reference = seeded.ticket("Of this test")
    seeded.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"}, as_bot=True)
    wide.go("/audit")
    reach_text(wide, "Ticket")
    wide.press("Enter")
    expect(wide.page.get_by_label("Ticket", exact=True)).to_be_focused()
    wide.page.keyboard.type(reference)
    wide.press("Enter")
    wide.page.wait_for_url(f"**/audit?ticket={reference}")
    expect(wide.page.locator(".audit-row")).to_have_count(2)
    reach_text(wide, "Details of ticket.updated")
    wide.press("Enter")
    dialog = wide.page.locator("#dialog")
    expect(dialog).to_contain_text("priority")
    wide.press("Escape")
    expect(dialog).not_to_be_visible()
    assert wide.focused().startswith("Details")
    # The dialog opens again, and its button closes it.
    wide.page.keyboard.press("Enter")
    reach(wide, "Close")
    wide.press("Enter")
    expect(dialog).not_to_be_visible()


def test_a_bot_is_made_paused_and_let_go_on(wide):
    wide.go("/bots")
    reach(wide, "New bot", "link")
    wide.press("Enter")
    reach(wide, "Username", "textbox")
    wide.page.keyboard.type("bot-keys-1")
    reach(wide, "Read only", "radio")
    wide.press("ArrowRight")
    reach(wide, "DEMO Demo project", "checkbox")
    wide.press("Space")
    expect(wide.page.locator("#wording")).to_contain_text("read and write")
    reach(wide, "Create bot and show token")
    wide.press("Enter")
    expect(wide.page.locator("#mcp-url")).to_be_visible()
    wide.go("/bots")
    reach(wide, "Pause all bots")
    wide.press("Enter")
    expect(wide.page.get_by_text("All bots are paused")).to_be_visible()
    reach(wide, "Resume bots")
    wide.press("Enter")
    expect(wide.page.get_by_role("button", name="Pause all bots")).to_be_visible()


def test_a_person_is_added_and_the_look_is_chosen(wide):
    wide.go("/people")
    for name, text in (("Name", "Cleo"), ("Username", "c")):
        reach(wide, name, "textbox")
        wide.page.keyboard.type(text)
    wide.press("Enter")
    # A username of one character is refused; the other field keeps its value.
    expect(wide.page.locator("#username")).to_have_attribute("aria-invalid", "true")
    expect(wide.page.locator("#display_name")).to_have_value("Cleo")
    wide.page.locator("#username").fill("cleo")
    wide.press("Enter")
    expect(wide.page.get_by_role("heading", name="Invite link for Cleo")).to_be_focused()
    wide.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    reach(wide, "Copy link", "button")
    wide.press("Enter")
    expect(wide.toast()).to_contain_text("Copied")
    link = wide.page.locator("#password-link").input_value()
    assert wide.page.evaluate("navigator.clipboard.readText()") == link
    expect(wide.page.get_by_role("button", name="Deactivate Cleo")).to_be_visible()
    wide.go("/profile")
    reach(wide, "System", "radio")
    # Arrow keys move from theme to theme; only Enter submits.
    wide.press("ArrowRight", "ArrowRight")
    expect(wide.page.get_by_role("radio", name="Dark")).to_be_focused()
    wide.press("Enter")
    expect(wide.page.locator("html")).to_have_attribute("data-theme", "dark")


def test_keys_of_fields_lead_to_the_bar_while_rows_are_selected(wide, seeded):
    made = [seeded.ticket(f"Rowed {number}", priority="low") for number in range(2)]
    wide.go("/projects/DEMO/tickets?q=rowed")
    wide.press("j", "x", "j", "x")
    expect(wide.page.locator("#bulk-count")).to_have_text("2")
    wide.press("p")
    expect(wide.page.locator("#bulk-priority")).to_be_focused()
    wide.press("u", "Control+Enter")
    expect(wide.toast()).to_contain_text("2 changed")
    for reference in made:
        assert seeded.call("GET", f"/tickets/{reference}")["priority"] == "urgent"
