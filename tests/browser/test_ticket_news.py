"""Live changes on a ticket's page: each appears once, and updates the time."""

from playwright.sync_api import expect


def test_own_changes_of_a_minute_stand_in_the_stream_once(wide, seeded):
    reference = seeded.ticket("Of this test")
    wide.go(f"/tickets/{reference}")
    for key, name in (("p", "priority"), ("s", "state"), ("a", "assignee"), ("d", "due_date")):
        wide.press(key)
        expect(wide.page.locator(f"#ticket-field-{name}[data-editor] :focus")).to_have_count(1)
        wide.page.locator(f"#ticket-field-{name} [data-option]:not([aria-pressed=true])").nth(
            1
        ).click()
        expect(wide.page.locator(f"#edit-{name}")).to_be_focused()
    lines = wide.page.locator("#thread .event[id]")
    with wide.page.expect_response("**/live?*") as news:
        wide.ask_for_news()
    assert news.value.status == 200
    seeded.call("PATCH", f"/tickets/{reference}", {"title": "Renamed by a bot"}, as_bot=True)
    wide.ask_for_news()
    expect(wide.page.locator("h1")).to_have_text("Renamed by a bot")
    expect(lines).to_have_count(6)
    # Events that continue a run already on the page appear, too, and once.
    wide.page.reload()
    expect(wide.page.locator(".run .event[id]")).to_have_count(4)
    for day in ("2031-01-02", "2031-01-03"):
        seeded.call("PATCH", f"/tickets/{reference}", {"due_date": day})
    wide.ask_for_news()
    expect(lines).to_have_count(8)
    ids = wide.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_when_it_was_updated_stays_true(wide_apart, seeded):
    wide = wide_apart
    reference = seeded.ticket("Of this test")
    wide.page.clock.install()
    wide.go(f"/tickets/{reference}")
    updated = wide.page.locator("#updated")
    before = updated.locator("time").get_attribute("datetime")
    seeded.call("PATCH", f"/tickets/{reference}", {"priority": "low"}, as_bot=True)
    wide.page.clock.fast_forward(4000)
    expect(wide.page.locator("#edit-priority")).to_contain_text("Low")
    expect(updated.locator("time")).not_to_have_attribute("datetime", before)
    expect(updated).to_have_text("Updated just now")


def test_older_comments_come_into_the_stream_by_key(wide, seeded):
    reference = seeded.ticket("Of this test")
    for number in range(202):
        seeded.call("POST", f"/tickets/{reference}/comments", {"body": f"Comment {number}"})
    wide.go(f"/tickets/{reference}?show=comments")
    comments = wide.page.locator("#thread .comment-text")
    expect(comments).to_have_count(200)
    wide.page.get_by_role("link", name="Show older comments").focus()
    wide.press("Enter")
    expect(comments).to_have_count(202)
    expect(comments.first).to_have_text("Comment 0")
    expect(wide.page.get_by_text("No older comments.")).to_be_focused()
    assert wide.overflow() == 0


def test_a_link_to_an_older_comment_leads_to_it(wide, seeded):
    reference = seeded.ticket("Of this test")
    made = [
        seeded.call("POST", f"/tickets/{reference}/comments", {"body": f"Comment {number}"})["id"]
        for number in range(202)
    ]
    for comment in (made[0], made[201]):
        wide.go(f"/tickets/{reference}#comment-{comment}")
        shown = wide.page.locator(f"#comment-{comment}")
        expect(shown).to_be_in_viewport()
    # The same for a link within the page.
    wide.page.evaluate("(id) => (location.hash = `comment-${id}`)", made[1])
    expect(wide.page.locator(f"#comment-{made[1]}")).to_be_in_viewport()
    assert wide.page.url.partition("?")[0].endswith(f"/tickets/{reference}/comments")
