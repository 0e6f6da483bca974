"""The inbox by keyboard: walk it, read one, open one; the number in the header follows."""

from playwright.sync_api import expect


def test_the_inbox_by_keyboard(desk, furnished):
    for title in ("First news", "Second news"):
        reference = furnished.ticket(title, assignee_user_id=furnished.ids["ada"])
        body = {"body": "Done, I think."}
        furnished.call("POST", f"/tickets/{reference}/comments", body, as_bot=True)
    desk.go("/projects")
    # DEMO-2 is watched, and the bot wrote there.
    expect(desk.page.locator(".inbox-count")).to_have_text("3")
    expect(desk.page.locator("#to-bots.at-work")).to_be_visible()
    desk.press("g", "i")
    desk.page.wait_for_url("**/inbox")
    desk.press("j")
    assert "Second news" in desk.focused()
    desk.press("j", "k", "Tab")
    assert "Mark DEMO-8 read" in desk.focused()
    desk.press("Enter")
    expect(desk.page.locator(".news")).to_have_count(2)
    expect(desk.page.locator(".inbox-count")).to_have_text("2")
    desk.press("j", "Enter")
    desk.page.wait_for_url("**/tickets/DEMO-7")
    desk.page.go_back()
    desk.page.get_by_role("button", name="Mark all read").click()
    expect(desk.page.get_by_role("heading", name="All read")).to_be_visible()
    expect(desk.page.locator(".inbox-count")).to_have_count(0)
