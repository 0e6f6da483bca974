"""Text whose editor was left, or that others overtook, can be restored."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_session import DRAFTS
from tests.support.serving import until

KEPT = "Your text is kept as a draft."
NOTE = re.compile(r"^Draft from \d\d:\d\d")


# Tests of only one kind choose it by indirect parametrization.
@pytest.fixture(params=["description", "comment", "note"])
def editing(request, wide, seeded):
    """An open editor of each kind: its text field, the link that opens it, and its surroundings."""
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
            place = page.locator("#ticket-field-body")
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
    # Restoring works by keyboard, too.
    wide.toast().get_by_role("button", name="Restore").focus()
    wide.press("Enter")
    expect(text).to_have_value("All that was typed")
    expect(text).to_be_focused()
    expect(wide.toast()).to_have_count(0)
    place.get_by_role("button", name="Save").click()
    expect(place).to_contain_text("All that was typed")
    assert wide.page.evaluate(DRAFTS) == []


@pytest.mark.parametrize("editing", ["note"], indirect=True)
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


@pytest.mark.parametrize("editing", ["comment"], indirect=True)
def test_an_editor_left_as_it_was_says_nothing(wide, editing):
    text, _opener, _place = editing
    text.fill("Before, and after")
    until(lambda: wide.page.evaluate(DRAFTS))
    text.fill("Before")
    wide.press("Escape")
    expect(text).to_have_count(0)
    expect(wide.toast()).to_have_count(0)
    assert wide.page.evaluate(DRAFTS) == []


@pytest.mark.parametrize("editing", ["comment"], indirect=True)
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
    place, text = wide.page.locator("#ticket-field-body"), wide.page.locator("#value")
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
    # The draft began on the older text, so saving merges both changes.
    place.get_by_role("button", name="Save").click()
    expect(text).to_have_value("One by the bot\n\nTwo by me")
    place.get_by_role("link", name="Keep their version").click()
    expect(place.locator(".markdown")).to_contain_text("One by the bot")
    expect(wide.toast()).to_contain_text(KEPT)
    wide.toast().get_by_role("button", name="Restore").click()
    expect(text).to_have_value("One\n\nTwo by me")


def test_a_draft_of_a_page_that_someone_else_saved_comes_back(wide, seeded):
    """Title and summary are kept, too; from the list in the profile to the merge of both."""
    page = seeded.call("POST", "/wiki/pages", {"title": "Overtaken", "body": "One\n\nTwo"})
    text, summary = wide.page.locator("#body"), wide.page.locator("#summary")
    wide.page.on("dialog", lambda dialog: dialog.accept())
    wide.go("/wiki/overtaken/edit")
    text.fill("One\n\nTwo by me")
    summary.fill("Why I did it")
    until(lambda: "Why I did it" in str(wide.page.evaluate("({...sessionStorage})")))
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another\n\nTwo"})
    wide.page.reload()
    expect(text).to_have_value("One\n\nTwo by me")
    wide.go("/profile")
    wide.page.locator("#drafts").get_by_role("link", name="Edit Overtaken").click()
    expect(text).to_have_value("One\n\nTwo by me")
    expect(summary).to_have_value("Why I did it")
    # The draft is older than the last change: saving shows the merge and overwrites nothing.
    note = wide.page.get_by_text(NOTE)
    expect(note).to_contain_text("from before the last change")
    wide.press("Control+s")
    expect(text).to_have_value("One by another\n\nTwo by me")
    text.fill("One by another\n\nTwo by me, merged")
    until(lambda: "merged" in str(wide.page.evaluate("({...sessionStorage})")))
    wide.go("/wiki/overtaken/edit")
    expect(text).to_have_value("One by another\n\nTwo by me, merged")
    expect(note).not_to_contain_text("from before the last change")
    wide.press("Control+s")
    wide.page.wait_for_url("**/wiki/overtaken")
    expect(wide.page.locator(".wiki-main")).to_contain_text("Two by me, merged")
    wide.page.wait_for_function(f"() => !{DRAFTS}.length")


def test_a_discarded_draft_of_an_older_revision_leaves_the_page_as_it_is(wide, seeded):
    page = seeded.call("POST", "/wiki/pages", {"title": "Given up", "body": "One"})
    text = wide.page.locator("#body")
    wide.page.on("dialog", lambda dialog: dialog.accept())
    wide.go("/wiki/given-up/edit")
    text.fill("One by me")
    until(lambda: wide.page.evaluate(DRAFTS))
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another"})
    wide.go("/wiki/given-up/edit")
    wide.page.get_by_text(NOTE).get_by_role("button", name="Discard").click()
    expect(text).to_have_value("One by another")
    expect(wide.page.locator("#preview")).to_have_text("One by another")
    text.fill("One by another, and me")
    wide.press("Control+s")
    wide.page.wait_for_url("**/wiki/given-up")
    expect(wide.page.locator(".wiki-main")).to_contain_text("One by another, and me")


def test_merged_text_of_a_page_that_is_edited_is_no_older_draft(wide, seeded):
    page = seeded.call("POST", "/wiki/pages", {"title": "Both", "body": "One"})
    text = wide.page.locator("#body")
    wide.go("/wiki/both/edit")
    text.fill("One by me")
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another"})
    wide.press("Control+s")
    wide.page.get_by_role("button", name="Edit merged text").click()
    expect(text).to_have_value("One by another\nOne by me")
    wide.press("Control+s")
    wide.page.wait_for_url("**/wiki/both")
    expect(wide.page.locator(".wiki-main")).to_contain_text("One by me")
    wide.page.wait_for_function(f"() => !{DRAFTS}.length")


def test_title_and_description_of_a_new_ticket_are_one_draft(wide):
    page = wide.page
    title, text, note = page.locator("#title"), page.locator("#body"), page.get_by_text(NOTE)
    wide.go("/tickets/new?project=DEMO")
    title.fill("Only a title")
    until(lambda: page.evaluate(DRAFTS))
    page.reload()
    expect(title).to_have_value("Only a title")
    text.fill("And a description")
    title.fill("Title and all")
    page.reload()
    expect(title).to_have_value("Title and all")
    expect(text).to_have_value("And a description")
    wide.go("/profile")
    expect(page.locator("#drafts")).to_contain_text("And a description")
    # A validation error of another field loses nothing either.
    wide.go("/tickets/new?project=DEMO")
    page.fill("#parent_ticket_id", "DEMO-999")
    page.get_by_role("button", name="Create ticket").click()
    expect(page.locator("#parent_ticket_id-problem")).to_be_visible()
    text.fill("And a longer description")
    until(lambda: "longer" in str(page.evaluate("({...sessionStorage})")))
    wide.go("/tickets/new?project=DEMO")
    expect(title).to_have_value("Title and all")
    expect(text).to_have_value("And a longer description")
    page.fill("#parent_ticket_id", "")
    page.get_by_role("button", name="Create ticket").click()
    expect(page.locator("h1")).to_have_text("Title and all")
    page.wait_for_function(f"() => !{DRAFTS}.length")
    wide.go("/tickets/new?project=DEMO")
    expect(title).to_have_value("")
    expect(text).to_have_value("")
    # Discarding empties all fields together.
    title.fill("Another")
    text.fill("Not wanted")
    page.reload()
    note.get_by_role("button", name="Discard").click()
    expect(title).to_have_value("")
    expect(text).to_have_value("")
    assert page.evaluate(DRAFTS) == []


def test_a_draft_of_a_note_that_someone_else_changed_meets_the_change(wide, seeded):
    path = f"/projects/{seeded.ids['project']}/sticky-notes"
    made = seeded.call("POST", path, {"body": "Before"})["id"]
    wide.go("/projects/DEMO/sticky-notes")
    place = wide.page.locator(f"#note-{made}")
    place.get_by_role("link", name="Edit note").click()
    text = place.locator("textarea")
    text.fill("Mine")
    place.get_by_role("link", name="Cancel").click()
    expect(text).to_have_count(0)
    seeded.call("PATCH", f"/sticky-notes/{made}", {"body": "Theirs"}, as_bot=True)
    place.get_by_role("link", name="Edit note").click()
    expect(text).to_have_value("Mine")
    expect(place.get_by_text(NOTE)).to_contain_text("from before the last change")
    place.get_by_role("button", name="Save").click()
    expect(place).to_contain_text("This was changed to “Theirs” after you opened the form.")
    place.get_by_role("button", name="Save").click()
    expect(place.locator(".note-body")).to_have_text("Mine")


def test_a_draft_of_a_template_undoes_no_change_of_someone_else(wide, seeded):
    page, templates = wide.page, "/projects/DEMO/settings/templates"
    first = {"name": "Bug", "title": "Broken", "body": "Steps", "type": "story"}

    def post(address, form):
        """As another tab sends it."""
        headers = {"Origin": wide.base}
        page.context.request.post(address, form=form, headers=headers, max_redirects=0)

    post(wide.base + templates, first)
    wide.go(templates)
    page.get_by_role("link", name="Bug").first.click()
    address = page.url
    page.get_by_label("Description").fill("Steps, by me")
    until(lambda: page.evaluate(DRAFTS))
    wide.go(templates)
    post(address, {**first, "title": "Theirs"})
    page.goto(address)
    expect(page.get_by_label("Description")).to_have_value("Steps, by me")
    expect(page.get_by_label("Title")).to_have_value("Theirs")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("link", name="Bug").first.click()
    expect(page.get_by_label("Description")).to_have_value("Steps, by me")
    expect(page.get_by_label("Title")).to_have_value("Theirs")
