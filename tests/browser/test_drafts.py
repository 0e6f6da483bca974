"""What was written and not sent, as the profile lists it."""

import pytest
from playwright.sync_api import expect

from tests.browser.furniture import PASSWORD
from tests.browser.test_session import DRAFTS


def test_the_profile_leads_to_unsent_drafts_and_lets_go_of_them(desk, furnished):
    reference = furnished.ticket("Of this test")
    desk.go(f"/tickets/{reference}")
    desk.page.fill("#comment-body", "Half a thought <b>")
    desk.page.wait_for_function(f"() => sessionStorage.getItem('comment:{reference}')")
    desk.go("/projects/DEMO/sticky-notes")
    desk.page.fill("#note-body", "A note to be")
    desk.page.wait_for_function("() => sessionStorage.getItem('notes:DEMO')")
    desk.go("/profile")
    rows = desk.page.locator("#drafts li")
    expect(rows).to_have_count(2)
    row = rows.filter(has_text="Half a thought <b>")
    row.get_by_role("link").click()
    expect(desk.page.locator("#comment-body")).to_have_value("Half a thought <b>")
    desk.go("/profile")
    # By key: the button is said with what it discards, and the focus stays near.
    row.get_by_role("button", name="Discard this draft").focus()
    desk.press("Enter")
    expect(rows).to_have_count(1)
    assert desk.focused() == "Unsaved drafts"
    desk.go(f"/tickets/{reference}")
    expect(desk.page.locator("#comment-body")).to_have_value("")


def test_a_reload_after_a_conflict_of_descriptions_loses_neither_text(desk, furnished):
    reference = furnished.ticket("Of this test", body="One\n\nTwo")
    text, place = desk.page.locator("#value"), desk.page.locator("#fact-body")
    desk.go(f"/tickets/{reference}")
    desk.page.click("#edit-body")
    text.fill("One\n\nTwo, by me")
    path = f"/tickets/{reference}"
    furnished.call("PATCH", path, {"body": "One, by the bot\n\nTwo"}, as_bot=True)
    place.get_by_role("button", name="Save").click()
    expect(place).to_contain_text("Nothing of yours is lost")
    desk.page.reload()
    desk.page.click("#edit-body")
    expect(text).to_have_value("One\n\nTwo, by me")
    # It was begun on an older text: what became of that is shown once more.
    place.get_by_role("button", name="Save").click()
    expect(text).to_have_value("One, by the bot\n\nTwo, by me")
    place.get_by_role("button", name="Save both together").click()
    expect(place.locator(".markdown")).to_contain_text("Two, by me")
    assert desk.page.evaluate(DRAFTS) == []


@pytest.fixture
def bob(furnished):
    """Someone else; whether that was so before this test or not."""
    known = [one["username"] for one in furnished.call("GET", "/users")["data"]]
    if "bob" not in known:
        furnished.call("POST", "/users", {"username": "bob", "password": PASSWORD})


def log_in(desk, username):
    """Someone comes to a tab in which a session ended."""
    desk.page.context.clear_cookies()
    desk.go("/login")
    desk.page.fill("#username", username)
    desk.page.fill("#password", PASSWORD)
    desk.press("Enter")
    expect(desk.page.locator("#signed-in")).to_have_text(username)


def test_what_one_wrote_waits_for_oneself(desk, bob):
    note = desk.page.locator("#note-body")
    for username, words in (("ada", "Nobody else's business"), ("bob", "Bob's own")):
        log_in(desk, username)
        desk.go("/sticky-notes")
        expect(note).to_have_value("")
        note.fill(words)
        desk.page.wait_for_function("() => sessionStorage.getItem('notes:')")
    desk.go("/profile")
    expect(desk.page.locator("#drafts .draft-words")).to_have_text(["Bob's own"])
    log_in(desk, "ada")
    desk.go("/sticky-notes")
    expect(note).to_have_value("Nobody else's business")


def test_what_one_began_on_an_older_revision_is_offered_to_nobody_else(desk, furnished, bob):
    page = furnished.call("POST", "/wiki/pages", {"title": "Handed on", "body": "One"})
    offer = desk.page.get_by_role("button", name="Bring my text back")
    desk.page.on("dialog", lambda dialog: dialog.accept())
    log_in(desk, "ada")
    desk.go("/wiki/handed-on/edit")
    desk.page.fill("#body", "Two")
    desk.page.wait_for_function("() => Object.keys(sessionStorage).some(key => /^wiki:/.test(key))")
    furnished.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "Three"})
    for username, times in (("bob", 0), ("ada", 1)):
        log_in(desk, username)
        desk.go("/wiki/handed-on/edit")
        expect(offer).to_have_count(times)


def test_a_text_whose_form_got_no_answer_of_ours_is_kept(desk):
    text, create = desk.page.locator("#body"), desk.page.locator("main form button.primary")
    desk.go("/tickets/new?project=DEMO")
    desk.page.fill("#title", "Never made")
    text.fill("Never arrived")
    desk.page.route(
        "**/tickets/new",
        lambda route: route.fulfill(
            status=502, content_type="text/html", body="<h1>No gateway</h1>"
        ),
    )
    create.click()
    expect(desk.page.locator("h1")).to_have_text("No gateway")
    desk.page.unroute("**/tickets/new")
    desk.page.go_back()
    expect(text).to_have_value("Never arrived")
    desk.go("/projects")
    desk.go("/tickets/new?project=DEMO")
    expect(text).to_have_value("Never arrived")
    desk.page.fill("#title", "Made after all")
    create.click()
    expect(desk.page.locator("#fact-body")).to_contain_text("Never arrived")
    desk.page.wait_for_function(f"() => !{DRAFTS}.length")


def test_a_conflict_of_a_page_that_is_left_loses_nothing(desk, furnished):
    page = furnished.call("POST", "/wiki/pages", {"title": "Of two", "body": "One\n\nTwo"})
    desk.page.on("dialog", lambda dialog: dialog.accept())
    desk.go("/wiki/of-two/edit")
    desk.page.fill("#body", "One\n\nTwo by me")
    furnished.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another\n\nTwo"})
    desk.press("Control+s")
    expect(desk.page.locator("#body")).to_have_value("One by another\n\nTwo by me")
    desk.go("/wiki/of-two/edit")
    desk.page.get_by_role("button", name="Bring my text back").click()
    desk.press("Control+s")
    expect(desk.page.locator("#body")).to_have_value("One by another\n\nTwo by me")
    desk.page.get_by_role("button", name="Save both together").click()
    desk.page.wait_for_url("**/wiki/of-two")
    desk.page.wait_for_function(f"() => !{DRAFTS}.length")
