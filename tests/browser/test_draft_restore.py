"""Text that its editor was left with, or that others overtook: it comes back."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_session import DRAFTS
from tests.support.serving import until

KEPT = "Your text is kept as a draft."
NOTE = re.compile(r"^Draft from \d\d:\d\d")


@pytest.fixture(params=["description", "comment", "note"])
def editing(request, wide, seeded):
    """An editor of each kind, open: its text, how to open it again, and where the text stands."""
    page = wide.page
    if request.param == "note":
        made = seeded.call("POST", "/sticky-notes", {"body": "Before"})
        wide.go("/sticky-notes")
        place = page.locator(f"#note-{made['id']}")
        opener, text = place.get_by_role("link", name="Edit note"), place.locator("textarea")
    else:
        reference = seeded.ticket("Of this test", body="Before")
        path = f"/tickets/{reference}"
        if request.param == "comment":
            made = seeded.call("POST", f"{path}/comments", {"body": "Before"})
            place = page.locator(f"#comment-{made['id']}")
            opener, text = place.get_by_role("link", name="Edit"), place.locator("textarea")
        else:
            place = page.locator("#fact-body")
            opener, text = page.locator("#edit-body"), place.locator("#value")
        wide.go(path)
    opener.click()
    expect(text).to_be_focused()
    return text, opener, place


def test_a_text_left_by_escape_is_restored_from_the_message(wide, editing):
    text, _opener, place = editing
    text.fill("All that was typed")
    until(lambda: wide.page.evaluate(DRAFTS))
    wide.press("Escape")
    expect(text).to_have_count(0)
    expect(place).to_contain_text("Before")
    expect(wide.toast()).to_contain_text(KEPT)
    # By key too.
    wide.toast().get_by_role("button", name="Restore").focus()
    wide.press("Enter")
    expect(text).to_have_value("All that was typed")
    expect(text).to_be_focused()
    expect(wide.toast()).to_have_count(0)
    place.get_by_role("button", name="Save").click()
    expect(place).to_contain_text("All that was typed")
    assert wide.page.evaluate(DRAFTS) == []


def test_a_text_left_at_once_is_in_the_editor_when_it_opens_again(wide, editing):
    text, opener, place = editing
    text.fill("Typed a moment ago")
    place.get_by_role("link", name="Cancel").click()
    expect(text).to_have_count(0)
    opener.click()
    expect(text).to_have_value("Typed a moment ago")
    note = place.get_by_text(NOTE)
    expect(note).to_be_visible()
    note.get_by_role("button", name="Discard").click()
    expect(text).to_have_value("Before")
    wide.press("Escape")
    expect(text).to_have_count(0)
    assert wide.page.evaluate(DRAFTS) == []


def test_an_editor_left_as_it_was_says_nothing(wide, editing):
    text, _opener, _place = editing
    text.fill("Before, and after")
    until(lambda: wide.page.evaluate(DRAFTS))
    text.fill("Before")
    wide.press("Escape")
    expect(text).to_have_count(0)
    expect(wide.toast()).to_have_count(0)
    assert wide.page.evaluate(DRAFTS) == []


def test_the_message_goes_when_the_editor_opens_again(wide, editing):
    text, opener, _place = editing
    for words in ("One", "One and two"):
        text.fill(words)
        wide.press("Escape")
        expect(wide.toast()).to_have_count(1)
        opener.click()
        expect(text).to_have_value(words)
        expect(wide.toast()).to_have_count(0)


def test_who_uses_theirs_can_have_the_own_text_back(wide, seeded):
    reference = seeded.ticket("Of this test", body="One\n\nTwo")
    place, text = wide.page.locator("#fact-body"), wide.page.locator("#value")
    wide.go(f"/tickets/{reference}")
    wide.page.click("#edit-body")
    text.fill("One\n\nTwo by me")
    until(lambda: wide.page.evaluate(DRAFTS))
    path = f"/tickets/{reference}"
    seeded.call("PATCH", path, {"body": "One by the bot\n\nTwo"}, as_bot=True)
    place.get_by_role("button", name="Use theirs").click()
    expect(place.locator(".markdown")).to_contain_text("One by the bot")
    expect(wide.toast()).to_contain_text(KEPT)
    wide.toast().get_by_role("button", name="Restore").click()
    expect(text).to_have_value("One\n\nTwo by me")
    # It was begun on the older text, so both changes arrive.
    place.get_by_role("button", name="Save").click()
    expect(text).to_have_value("One by the bot\n\nTwo by me")
    place.get_by_role("link", name="Keep their version").click()
    expect(place.locator(".markdown")).to_contain_text("One by the bot")
    expect(wide.toast()).to_contain_text(KEPT)
    wide.toast().get_by_role("button", name="Restore").click()
    expect(text).to_have_value("One\n\nTwo by me")
