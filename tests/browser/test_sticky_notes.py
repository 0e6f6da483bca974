"""Walls of notes in a browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings_in_both

WALL = "/projects/DEMO/sticky-notes"


@pytest.fixture(scope="module")
def seeded(seeded):
    """The seeded server, with notes of every kind."""
    path = f"/projects/{seeded.ids['project']}/sticky-notes"
    for body, color in (
        ("Call the *bank*", "#facc15"),
        ("# Long\n\n" + "Line of words\n\n" * 40, "#60a5fa"),
        ("`code` and https://example.org\n\n```\nblock\n```\n\n> quote", "#94a3b8"),
        ("Dark", "#000000"),
        ("Bright", "#ffffff"),
        ("No color", None),
    ):
        seeded.call("POST", path, {"body": body, "color": color}, as_bot=True)
    made = seeded.call("POST", path, {"body": "Became one", "color": "#a78bfa"})
    seeded.call("POST", f"/sticky-notes/{made['id']}/convert-to-ticket", {})
    seeded.ids["note"] = seeded.call("POST", path, {"body": "Plain note"})["id"]
    seeded.call("POST", "/sticky-notes", {"body": "Mine"})
    return seeded


# The pages of a single note are tested in test_every_page.py.
def test_a_wall_a_dialog_and_an_editor_are_accessible(wide, seeded):
    wide.go(WALL)
    assert findings_in_both(wide.page) == []
    assert wide.overflow() <= 0
    wide.page.click(f"#convert-{seeded.ids['note']}")
    expect(wide.page.locator("#dialog")).to_be_visible()
    assert findings_in_both(wide.page) == []
    wide.press("Escape")
    wide.page.click(f"#edit-{seeded.ids['note']}")
    expect(wide.page.locator(".note.editing textarea")).to_be_focused()
    assert findings_in_both(wide.page) == []


def test_a_wall_fits_a_phone(phone_visitor):
    phone_visitor.go(WALL)
    assert phone_visitor.overflow() <= 0
    expect(phone_visitor.page.locator(".bottom-bar [aria-current]")).to_have_text("Notes")


def test_writing_changing_and_deleting_by_keys(wide):
    wide.go("/sticky-notes")
    wide.press("n")
    expect(wide.page.locator("#note-body")).to_be_focused()
    wide.page.keyboard.type("Fresh thought")
    wide.press("Control+Enter")
    note = wide.page.locator(".notes > .note").first
    expect(note).to_contain_text("Fresh thought")
    expect(wide.page.locator("#note-body")).to_have_value("")
    note.get_by_role("link", name="Edit note").focus()
    wide.press("Enter")
    area = wide.page.locator(".note.editing textarea")
    expect(area).to_be_focused()
    area.fill("Second thought")
    wide.page.locator(".note.editing").get_by_label("Teal").check(force=True)
    area.focus()
    wide.press("Control+Enter")
    expect(note).to_contain_text("Second thought")
    expect(note).to_have_class(re.compile("c-2dd4bf"))
    note.get_by_role("link", name="Edit note").click()
    expect(area).to_be_focused()
    wide.press("Escape")
    expect(area).to_have_count(0)
    expect(note).to_contain_text("Second thought")
    note.get_by_role("link", name="Delete note").click()
    wide.page.locator("#dialog").get_by_role("button", name="Delete note").click()
    expect(wide.page.locator(".notes")).not_to_contain_text("Second thought")
    expect(wide.toast()).to_contain_text("Note deleted")
    expect(wide.page.locator("#dialog")).to_be_hidden()


def test_a_note_becomes_a_ticket_in_a_dialog(wide, seeded):
    made = seeded.call("POST", "/sticky-notes", {"body": "# Buy *chairs*\n\nfour of them"})
    wide.go("/sticky-notes")
    wide.page.click(f"#convert-{made['id']}")
    dialog = wide.page.locator("#dialog")
    expect(dialog.get_by_label("Title")).to_have_value("Buy chairs")
    dialog.get_by_label("Type").select_option("subtask")
    dialog.get_by_role("button", name="Create ticket").click()
    expect(dialog.locator(".problem, .problems").first).to_be_visible()
    dialog.get_by_label("Type").select_option("story")
    dialog.get_by_role("button", name="Create ticket").click()
    expect(dialog).to_be_hidden()
    note = wide.page.locator(f"#note-{made['id']}")
    expect(note).to_contain_text("Converted to DEMO-")
    wide.toast().get_by_role("button", name="Undo").click()
    first = wide.page.locator(".notes > .note").first
    expect(first.get_by_role("link", name="Convert to ticket")).to_be_visible()
    expect(first).to_contain_text("four of them")
    first.get_by_role("link", name="Convert to ticket").click()
    dialog.get_by_role("button", name="Create ticket").click()
    wide.toast().get_by_role("link", name="Open").click()
    expect(wide.page.locator("h1")).to_have_text("Buy chairs")


def test_finding_among_the_notes(wide):
    wide.go(WALL)
    shown = wide.page.locator(".notes > .note:visible")
    every = shown.count()
    wide.page.fill("#note-find", "bank")
    expect(shown).to_have_count(1)
    expect(wide.page.locator("#note-count")).to_have_text(f"1 of {every}")
    wide.page.fill("#note-find", "")
    wide.page.select_option("#note-color", "Blue")
    expect(shown).to_have_count(1)
    wide.page.select_option("#note-color", "")
    wide.page.select_option("#note-author", "Ada Berg")
    expect(shown).to_have_count(2)


def test_an_editor_is_shown_whatever_the_filter(wide, seeded):
    wide.go(WALL)
    shown = wide.page.locator(".notes > .note:visible")
    wide.page.fill("#note-find", "plain note")
    wide.page.select_option("#note-color", "No color")
    expect(shown).to_have_count(1)
    wide.page.click(f"#edit-{seeded.ids['note']}")
    editor = wide.page.locator(".note.editing textarea")
    expect(editor).to_be_focused()
    # Filtering goes on while it is open.
    wide.page.fill("#note-find", "bank")
    expect(editor).to_be_visible()
    editor.focus()
    wide.press("Escape")
    expect(shown).to_have_count(0)


def test_a_new_note_that_a_filter_hides_is_announced(wide):
    wide.go(WALL)
    shown = wide.page.locator(".notes > .note:visible")
    wide.page.fill("#note-find", "bank")
    wide.page.fill("#note-body", "To the bank")
    wide.page.click("text=Add note")
    expect(shown).to_have_count(2)
    expect(wide.toast()).to_have_count(0)
    wide.page.fill("#note-body", "A zebra")
    wide.page.click("text=Add note")
    expect(wide.toast()).to_contain_text("Note saved. The filter hides it.")
    expect(shown).to_have_count(2)
    wide.toast().get_by_role("button", name="Clear filter").click()
    zebra = wide.page.locator(".notes > .note:visible", has_text="A zebra")
    expect(zebra.get_by_label("Edit note")).to_be_focused()
    expect(wide.page.locator("#note-find")).to_have_value("")
    wide.page.fill("#note-find", "zebra")
    zebra.get_by_label("Edit note").click()
    wide.page.locator(".note.editing textarea").fill("A horse")
    wide.press("Control+Enter")
    expect(wide.toast()).to_contain_text("Note saved. The filter hides it.")
    expect(shown).to_have_count(0)


def test_the_text_for_a_note_that_was_deleted_stays_and_says_why(wide, seeded):
    made = seeded.call("POST", "/sticky-notes", {"body": "Soon gone"})
    wide.go("/sticky-notes")
    wide.page.click(f"#edit-{made['id']}")
    editor = wide.page.locator(".note.editing textarea")
    editor.fill("Words worth keeping")
    seeded.call("DELETE", f"/sticky-notes/{made['id']}")
    wide.press("Control+Enter")
    expect(wide.toast()).to_contain_text("This note was deleted.")
    expect(editor).to_have_value("Words worth keeping")
    expect(editor).to_be_editable()


def test_notes_work_without_a_script(plain):
    plain.go("/sticky-notes")
    plain.page.fill("#note-body", "Plain words")
    plain.page.get_by_role("button", name="Add note").click()
    note = plain.page.locator(".notes > .note", has_text="Plain words")
    note.get_by_role("link", name="Edit note").click()
    plain.page.fill("[id^=note-text-]", "Other words")
    plain.page.get_by_role("button", name="Save").click()
    note = plain.page.locator(".notes > .note", has_text="Other words")
    note.get_by_role("link", name="Convert to ticket").click()
    plain.page.get_by_role("button", name="Create ticket").click()
    expect(plain.page.locator("h1")).to_have_text("Other words")
    plain.go("/sticky-notes")
    note.get_by_role("link", name="Delete note").click()
    plain.page.get_by_role("button", name="Delete note").click()
    expect(plain.page.locator(".notes")).not_to_contain_text("Other words")
