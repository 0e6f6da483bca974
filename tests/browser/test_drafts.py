"""What was written and not sent, as the profile lists it."""

from playwright.sync_api import expect

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
