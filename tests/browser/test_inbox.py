"""The inbox by keyboard: walk it, read one, open one; the number in the header follows."""

from playwright.sync_api import expect


def test_the_inbox_by_keyboard(wide, seeded):
    for title in ("First news", "Second news"):
        reference = seeded.ticket(title, assignee_user_id=seeded.ids["ada"])
        body = {"body": "Done, I think."}
        seeded.call("POST", f"/tickets/{reference}/comments", body, as_bot=True)
    wide.go("/projects")
    # DEMO-2 is watched, and the bot wrote there.
    expect(wide.page.locator(".inbox-count")).to_have_text("3")
    expect(wide.page.locator("#to-bots.at-work")).to_be_visible()
    wide.press("g", "i")
    wide.page.wait_for_url("**/inbox")
    wide.press("j")
    assert "Second news" in wide.focused()
    wide.press("j", "k", "Tab")
    assert "Mark DEMO-8 read" in wide.focused()
    wide.press("Enter")
    expect(wide.page.locator(".news")).to_have_count(2)
    expect(wide.page.locator(".inbox-count")).to_have_text("2")
    wide.press("j", "Enter")
    wide.page.wait_for_url("**/tickets/DEMO-7")
    wide.page.go_back()
    wide.page.get_by_role("button", name="Mark all read").click()
    expect(wide.page.get_by_role("heading", name="All read")).to_be_visible()
    expect(wide.page.locator(".inbox-count")).to_have_count(0)
