"""Text that was written and not sent, as the profile lists it."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings_in_both
from tests.browser.seed import PASSWORD
from tests.browser.test_session import DRAFTS


def test_the_profile_leads_to_unsent_drafts_and_lets_go_of_them(wide, seeded):
    reference = seeded.ticket("Of this test")
    wide.go(f"/tickets/{reference}")
    wide.page.fill("#comment-body", "Half a thought <b>")
    wide.page.wait_for_function(f"() => sessionStorage.getItem('comment:{reference}')")
    wide.go("/projects/DEMO/sticky-notes")
    wide.page.fill("#note-body", "A note to be")
    wide.page.wait_for_function("() => sessionStorage.getItem('notes:DEMO')")
    wide.go("/profile")
    rows = wide.page.locator("#drafts li")
    expect(rows).to_have_count(2)
    row = rows.filter(has_text="Half a thought <b>")
    row.get_by_role("link").click()
    expect(wide.page.locator("#comment-body")).to_have_value("Half a thought <b>")
    wide.go("/profile")
    # By keyboard: the name of the button says what it discards, and the focus stays near.
    row.get_by_role("button", name="Discard this draft").focus()
    wide.press("Enter")
    expect(rows).to_have_count(1)
    assert wide.focused() == "Unsaved drafts"
    wide.go(f"/tickets/{reference}")
    expect(wide.page.locator("#comment-body")).to_have_value("")


def test_a_reload_after_a_conflict_of_descriptions_loses_neither_text(wide, seeded):
    reference = seeded.ticket("Of this test", body="One\n\nTwo")
    text, place = wide.page.locator("#value"), wide.page.locator("#ticket-field-body")
    wide.go(f"/tickets/{reference}")
    wide.page.click("#edit-body")
    text.fill("One\n\nTwo, by me")
    path = f"/tickets/{reference}"
    seeded.call("PATCH", path, {"body": "One, by the bot\n\nTwo"}, as_bot=True)
    place.get_by_role("button", name="Save").click()
    expect(place).to_contain_text("Your changes are safe")
    wide.page.reload()
    wide.page.click("#edit-body")
    expect(text).to_have_value("One\n\nTwo, by me")
    # The draft began on an older text: saving shows the merged text once more.
    place.get_by_role("button", name="Save").click()
    expect(text).to_have_value("One, by the bot\n\nTwo, by me")
    place.get_by_role("button", name="Save both").click()
    expect(place.locator(".markdown")).to_contain_text("Two, by me")
    assert wide.page.evaluate(DRAFTS) == []


@pytest.fixture
def overtaken(wide, seeded):
    """Ada and the bot changed the same line of a description; she saved second."""
    reference = seeded.ticket("Of this test", body="One\n\nTwo\n\nThree")
    path, page = f"/tickets/{reference}", wide.page
    wide.go(path)
    page.click("#edit-body")
    page.locator("#value").fill("One by me\n\nTwo\n\nThree by me")
    seeded.call("PATCH", path, {"body": "One by the bot\n\nTwo\n\nThree by it"}, as_bot=True)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Conflict 2 of 2")).to_be_visible()
    return lambda: seeded.call("GET", path)["body"]


KEPT_BOTH = "One by the bot\nOne by me\n\nTwo\n\nThree by it\nThree by me"


def test_each_conflict_of_a_description_is_decided_by_mouse(wide, overtaken):
    assert findings_in_both(wide.page) == []
    wide.page.get_by_role("radio", name="Keep mine").first.check()
    wide.page.get_by_role("radio", name="Keep theirs").last.check()
    wide.page.get_by_role("button", name="Save merged text").click()
    expect(wide.page.locator("#ticket-field-body .markdown")).to_contain_text("One by me")
    assert overtaken() == "One by me\n\nTwo\n\nThree by it"
    assert wide.page.evaluate(DRAFTS) == []


def test_each_conflict_of_a_description_is_decided_by_key(wide, overtaken):
    # The differences come before the first choice in tab order: they fold and scroll by keyboard.
    wide.page.get_by_label("Keep both, theirs first").first.focus()
    wide.press("ArrowDown", "Control+Enter")
    expect(wide.page.locator("#ticket-field-body .markdown")).to_contain_text("One by me")
    assert overtaken() == KEPT_BOTH.removeprefix("One by the bot\n")


def test_ctrl_enter_in_a_conflict_empties_nothing(wide, overtaken):
    expect(wide.page.get_by_role("alert").filter(has_text="Someone else")).to_be_focused()
    wide.press("Control+Enter")
    expect(wide.page.locator("#ticket-field-body .markdown")).to_contain_text("One by me")
    assert overtaken() == KEPT_BOTH


def test_a_reload_of_a_conflict_loses_no_text(wide, overtaken):
    text = wide.page.locator("#value")
    wide.page.get_by_role("button", name="Edit merged text").click()
    expect(text).to_have_value(KEPT_BOTH)
    # Reload before the first edit of the merged text, and after the last.
    wide.page.reload()
    wide.page.click("#edit-body")
    expect(text).to_have_value("One by me\n\nTwo\n\nThree by me")
    wide.page.get_by_role("button", name="Save").click()
    wide.page.get_by_role("button", name="Edit merged text").click()
    text.fill("All of it, by both")
    wide.page.reload()
    wide.page.click("#edit-body")
    expect(text).to_have_value("All of it, by both")
    wide.press("Control+Enter")
    expect(wide.page.locator("#ticket-field-body .markdown")).to_contain_text("All of it, by both")
    assert overtaken() == "All of it, by both"
    assert wide.page.evaluate(DRAFTS) == []


def test_a_conflict_fits_on_a_phone(wide, overtaken):
    wide.page.set_viewport_size({"width": 390, "height": 844})
    assert wide.overflow() == 0
    wide.page.get_by_role("button", name="Save my version").click()
    expect(wide.page.locator("#ticket-field-body .markdown")).to_contain_text("One by me")
    assert overtaken() == "One by me\n\nTwo\n\nThree by me"


@pytest.fixture
def bob(seeded):
    """A second person, bob, created unless an earlier test did."""
    known = [one["username"] for one in seeded.call("GET", "/users")["data"]]
    if "bob" not in known:
        seeded.call("POST", "/users", {"username": "bob", "password": PASSWORD})


def log_in(wide, username):
    """Log in as ``username`` in a tab whose session ended."""
    wide.page.context.clear_cookies()
    wide.go("/login")
    wide.page.fill("#username", username)
    wide.page.fill("#password", PASSWORD)
    wide.press("Enter")
    expect(wide.page.locator("#signed-in")).to_have_text(username)


def test_what_one_wrote_waits_for_oneself(wide, bob):
    note = wide.page.locator("#note-body")
    for username, words in (("ada", "Nobody else's business"), ("bob", "Bob's own")):
        log_in(wide, username)
        wide.go("/sticky-notes")
        expect(note).to_have_value("")
        note.fill(words)
        wide.page.wait_for_function("() => sessionStorage.getItem('notes:')")
    wide.go("/profile")
    expect(wide.page.locator("#drafts .draft-words")).to_have_text(["Bob's own"])
    log_in(wide, "ada")
    wide.go("/sticky-notes")
    expect(note).to_have_value("Nobody else's business")


def test_what_one_began_on_an_older_revision_is_offered_to_nobody_else(wide, seeded, bob):
    page = seeded.call("POST", "/wiki/pages", {"title": "Handed on", "body": "One"})
    text = wide.page.locator("#body")
    wide.page.on("dialog", lambda dialog: dialog.accept())
    log_in(wide, "ada")
    wide.go("/wiki/handed-on/edit")
    wide.page.fill("#body", "Two")
    wide.page.wait_for_function("() => Object.keys(sessionStorage).some(key => /^wiki:/.test(key))")
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "Three"})
    for username, shown in (("bob", "Three"), ("ada", "Two")):
        log_in(wide, username)
        wide.go("/wiki/handed-on/edit")
        expect(text).to_have_value(shown)


def test_a_text_whose_form_got_no_answer_of_ours_is_kept(wide):
    text, create = wide.page.locator("#body"), wide.page.locator("main form button.primary")
    wide.go("/tickets/new?project=DEMO")
    wide.page.fill("#title", "Never made")
    text.fill("Never arrived")
    wide.intercept(
        "**/tickets/new",
        lambda route: route.fulfill(
            status=502, content_type="text/html", body="<h1>No gateway</h1>"
        ),
    )
    create.click()
    expect(wide.page.locator("h1")).to_have_text("No gateway")
    wide.page.unroute("**/tickets/new")
    wide.page.go_back()
    expect(text).to_have_value("Never arrived")
    wide.go("/projects")
    wide.go("/tickets/new?project=DEMO")
    expect(text).to_have_value("Never arrived")
    wide.page.fill("#title", "Made after all")
    create.click()
    expect(wide.page.locator("#ticket-field-body")).to_contain_text("Never arrived")
    wide.page.wait_for_function(f"() => !{DRAFTS}.length")


def test_a_conflict_of_a_page_that_is_left_loses_nothing(wide, seeded):
    page = seeded.call("POST", "/wiki/pages", {"title": "Of two", "body": "One\n\nTwo"})
    wide.page.on("dialog", lambda dialog: dialog.accept())
    wide.go("/wiki/of-two/edit")
    wide.page.fill("#body", "One\n\nTwo by me")
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another\n\nTwo"})
    wide.press("Control+s")
    expect(wide.page.locator("#body")).to_have_value("One by another\n\nTwo by me")
    wide.go("/wiki/of-two/edit")
    expect(wide.page.locator("#body")).to_have_value("One\n\nTwo by me")
    wide.press("Control+s")
    expect(wide.page.locator("#body")).to_have_value("One by another\n\nTwo by me")
    wide.page.get_by_role("button", name="Save both").click()
    wide.page.wait_for_url("**/wiki/of-two")
    wide.page.wait_for_function(f"() => !{DRAFTS}.length")
