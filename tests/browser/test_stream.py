"""The stream of a ticket: news while one reads, undo, writing without loss, by mouse and by key."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_accessibility import findings, findings_in_both


@pytest.fixture
def ticket(desk, furnished):
    """A plain ticket of this test's own, opened."""
    reference = furnished.ticket("Of this test")
    desk.go(f"/tickets/{reference}")
    return desk, reference


def change(furnished, reference, **fields):
    furnished.call("PATCH", f"/tickets/{reference}", fields, as_bot=True)


def undo_button(desk, words):
    return desk.page.locator(f".event:has-text('{words}') form.undo button").last


def test_what_a_bot_does_appears_within_seconds_and_disturbs_nothing(ticket, furnished):
    desk, reference = ticket
    desk.page.fill("#comment-body", "Half a thought")
    desk.page.focus("#comment-body")
    change(furnished, reference, priority="urgent", title="Renamed by a bot")
    furnished.call("POST", f"/tickets/{reference}/comments", {"body": "Done."}, as_bot=True)
    expect(desk.page.locator("h1")).to_have_text("Renamed by a bot", timeout=4000)
    expect(desk.page.locator("#edit-priority")).to_contain_text("Urgent")
    expect(desk.page.locator(".comment-text")).to_have_text("Done.")
    expect(desk.page.locator("#comment-body")).to_be_focused()
    expect(desk.page.locator("#comment-body")).to_have_value("Half a thought")
    # Nothing comes twice, however often the page asks.
    desk.page.evaluate(
        "for (let i = 0; i < 3; i++) document.body.dispatchEvent(new Event('app:poll'))"
    )
    desk.page.wait_for_timeout(500)
    assert desk.page.locator(".comment-text").count() == 1
    assert desk.page.locator(".event:has-text('changed the title')").count() == 1


def test_a_field_being_edited_is_left_alone_and_says_what_it_became(ticket, furnished):
    desk, reference = ticket
    desk.page.click("#edit-title")
    desk.page.fill("#value", "My title")
    change(furnished, reference, title="Their title")
    note = desk.page.locator("#fact-title .theirs")
    expect(note).to_contain_text("bot-dev-1 changed this to Their title")
    expect(desk.page.locator("#value")).to_have_value("My title")
    note.get_by_role("button").click()
    expect(desk.page.locator("h1")).to_have_text("Their title")


def test_undo_by_key_takes_a_bots_change_back(ticket, furnished):
    desk, reference = ticket
    change(furnished, reference, priority="low")
    button = undo_button(desk, "from medium to low")
    expect(button).to_be_visible()
    button.focus()
    desk.press("Enter")
    expect(desk.page.locator("#edit-priority")).to_contain_text("Medium")
    expect(desk.toast()).to_contain_text("Undone")
    expect(desk.page.locator("#thread")).to_contain_text("from low to medium")
    assert desk.focused() == "undone"


def test_undo_asks_where_a_person_changed_it_since(ticket, furnished):
    desk, reference = ticket
    change(furnished, reference, priority="low")
    furnished.call("PATCH", f"/tickets/{reference}", {"priority": "high"})
    button = undo_button(desk, "from medium to low")
    button.click()
    dialog = desk.page.locator("#dialog")
    expect(dialog).to_contain_text("Priority now")
    expect(dialog).to_contain_text("high")
    desk.press("Escape")
    expect(dialog).not_to_be_visible()
    expect(desk.page.locator("#edit-priority")).to_contain_text("High")
    button.click()
    expect(dialog).to_be_visible()
    desk.page.click("#dialog .button.primary")
    expect(dialog).not_to_be_visible()
    expect(desk.page.locator("#edit-priority")).to_contain_text("Medium")


def test_two_people_change_one_description_and_nothing_is_lost(ticket, furnished):
    desk, reference = ticket
    furnished.call("PATCH", f"/tickets/{reference}", {"body": "One\n\nTwo\n\nThree"})
    desk.page.reload()
    desk.page.click("#edit-body")
    desk.page.fill("#value", "One\n\nTwo\n\nThree, by me")
    change(furnished, reference, body="One, by the bot\n\nTwo\n\nThree")
    desk.page.click("#fact-body button[type=submit]")
    expect(desk.page.locator("#fact-body")).to_contain_text("Nothing of yours is lost")
    expect(desk.page.locator("#value")).to_have_value("One, by the bot\n\nTwo\n\nThree, by me")
    desk.page.click("text=Save both together")
    expect(desk.page.locator("#fact-body .markdown")).to_contain_text("Three, by me")
    expect(desk.page.locator("#fact-body .markdown")).to_contain_text("One, by the bot")


def test_names_links_and_numbers_complete_by_key(ticket):
    desk, _ = ticket
    area = desk.page.locator("#comment-body")
    options = desk.page.locator("#comment-body-completions [role=option]")
    area.focus()
    desk.page.keyboard.type("Ask @bot")
    expect(options).to_have_count(1)
    desk.press("Enter")
    expect(area).to_have_value("Ask @bot-dev-1 ")
    desk.page.keyboard.type("about DEMO-")
    expect(options.first).to_be_visible()
    desk.press("Escape")
    expect(options.first).not_to_be_visible()
    desk.page.keyboard.type("2")
    desk.press("End", "Enter")
    expect(area).to_have_value("Ask @bot-dev-1 about DEMO-2\n")
    desk.page.click("#comment-body-see")
    expect(desk.page.locator("#comment-body-preview a")).to_have_text("DEMO-2")
    desk.page.click("#comment-body-write")
    expect(area).to_be_focused()


def test_a_comment_moves_the_ticket_with_one_click(ticket):
    desk, _ = ticket
    desk.page.fill("#comment-body", "That was it.")
    desk.page.click("text=Comment and move to…")
    desk.page.click("#comment-states button:has-text('Done')")
    expect(desk.page.locator("#edit-state")).to_contain_text("Done")
    expect(desk.page.locator(".comment-text")).to_have_text("That was it.")
    expect(desk.page.locator("#comment-body")).to_have_value("")


def test_the_stream_is_filtered_without_losing_a_draft(ticket, furnished):
    desk, reference = ticket
    desk.page.fill("#comment-body", "Kept")
    change(furnished, reference, priority="low")
    desk.page.click("#show-bots")
    expect(desk.page.locator("#thread .event")).to_have_count(1)
    expect(desk.page).to_have_url(f"{desk.base}/tickets/{reference}?show=bots")
    expect(desk.page.locator("#comment-body")).to_have_value("Kept")
    # News keep to the part that is shown.
    furnished.call("PATCH", f"/tickets/{reference}", {"due_date": "2031-01-01"})
    expect(desk.page.locator("#edit-due_date")).to_contain_text("2031")
    expect(desk.page.locator("#thread .event")).to_have_count(1)


def test_a_run_of_changes_opens_by_key_and_at_its_address(ticket, furnished):
    desk, reference = ticket
    for fields in ({"priority": "low"}, {"due_date": "2031-01-01"}, {"body": "New text"}):
        change(furnished, reference, **fields)
    desk.page.reload()
    run = desk.page.locator(".run > summary")
    expect(run).to_contain_text("changed priority, due date, description")
    run.focus()
    desk.press("Enter")
    fold = desk.page.locator(".run .fold summary")
    fold.focus()
    desk.press("Enter")
    expect(desk.page.locator(".run .diff ins")).to_contain_text("New text")
    assert findings(desk.page) == []
    line = desk.page.locator(".run .event[id]").last.get_attribute("id")
    desk.go("/projects")
    desk.go(f"/tickets/{reference}#{line}")
    expect(desk.page.locator(f"#{line}")).to_be_in_viewport()


def test_a_subtask_is_added_by_key_and_the_line_is_ready_for_the_next(ticket):
    desk, _ = ticket
    desk.page.focus("#child-title")
    desk.page.keyboard.type("First part")
    desk.press("Enter")
    expect(desk.page.locator(".children")).to_contain_text("First part")
    expect(desk.page.locator("#child-title")).to_be_focused()
    expect(desk.page.locator("#child-title")).to_have_value("")


def test_a_deleted_ticket_is_brought_back(ticket, furnished):
    desk, reference = ticket
    furnished.call("DELETE", f"/tickets/{reference}", as_bot=True)
    expect(desk.page.locator("#live")).to_contain_text("was deleted meanwhile")
    desk.go(f"/tickets/{reference}", 410)
    assert findings(desk.page) == []
    desk.page.click(f"text=Restore {reference}")
    expect(desk.page.locator("h1")).to_have_text("Of this test")


def test_the_id_stays_in_sight(ticket):
    desk, reference = ticket
    desk.page.set_viewport_size({"width": 1280, "height": 400})
    expect(desk.page.locator(".subject")).not_to_be_visible()
    desk.page.mouse.wheel(0, 400)
    expect(desk.page.locator(".subject")).to_contain_text(f"{reference}Of this test")
    expect(desk.page.locator(".subject-state")).to_have_text("Backlog")


def test_copies(ticket):
    desk, reference = ticket
    desk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.page.click(".copies summary")
    desk.page.click("text=Branch name")
    expect(desk.toast()).to_contain_text("Copied")
    copied = desk.page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{reference.lower()}-of-this-test"
    desk.page.click(".side-actions a:has-text('Duplicate')")
    expect(desk.page.locator("#title")).to_have_value("Of this test")


def test_code_of_a_comment_that_just_came_is_copied(ticket, furnished):
    desk, reference = ticket
    desk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    body = {"body": "Run\n\n```\nmake test\n```\n"}
    furnished.call("POST", f"/tickets/{reference}/comments", body, as_bot=True)
    code = desk.page.locator("#thread .code-box")
    code.hover()
    code.get_by_role("button", name="Copy").click()
    expect(desk.toast()).to_contain_text("Copied")
    assert desk.page.evaluate("navigator.clipboard.readText()") == "make test"


def test_the_review_of_a_bot(desk, furnished):
    reference = furnished.ticket("To review")
    change(furnished, reference, priority="low", assignee_user_id=furnished.ids["bot"])
    desk.go("/bots/bot-dev-1/review")
    call = desk.page.locator(".call", has_text=reference)
    call.locator(".deed:has-text('priority') form.undo button").click()
    expect(call.locator(".deed:has-text('priority')")).to_contain_text("undone")
    desk.page.click("#good")
    expect(desk.page.locator("main")).to_contain_text("Nothing new")
    change(furnished, reference, due_date="2031-01-01", priority="high")
    desk.page.reload()
    expect(desk.page.locator(".call")).to_have_count(1)


def test_without_a_script_the_stream_reads_and_undoes(plain, furnished):
    reference = furnished.ticket("Plain work")
    change(furnished, reference, body="New text")
    plain.go(f"/tickets/{reference}")
    plain.page.click("#show-changes")
    expect(plain.page.locator(".event")).to_have_count(2)
    plain.page.click(".fold summary")
    plain.page.click("text=Show it")
    expect(plain.page.locator(".diff ins")).to_have_text("New text")
    plain.page.go_back()
    plain.page.fill("#child-title", "A plain part")
    plain.page.click("#children .add-row button")
    expect(plain.page.locator(".children")).to_contain_text("A plain part")
    plain.page.locator(".event:has-text('edited the description') form.undo button").click()
    expect(plain.page.locator("#fact-body")).to_contain_text("No description yet")
    change(furnished, reference, priority="low")
    furnished.call("PATCH", f"/tickets/{reference}", {"priority": "high"})
    plain.page.reload()
    plain.page.locator(".event:has-text('from medium to low') form.undo button").click()
    expect(plain.page.locator("h1")).to_have_text("Undo all the same?")
    plain.page.click("text=Undo all the same >> nth=-1")
    expect(plain.page.locator("#edit-priority")).to_contain_text("Medium")


def test_without_a_script_epics_and_the_review_read(plain):
    plain.go("/projects/DEMO/epics")
    plain.page.click(".subparts summary")
    plain.page.click("text=Show them")
    expect(plain.page.locator(".bough")).to_contain_text("An open part")
    plain.go("/bots/bot-dev-1/review")
    plain.page.click("#good")
    expect(plain.page.locator("main")).to_contain_text("Nothing new")


def test_on_a_phone_nothing_is_cut_off(phone, furnished):
    change(furnished, "DEMO-6", title="W" * 200)
    for path in ("/projects/DEMO/epics", "/bots/bot-dev-1/review"):
        phone.go(path)
        for width in (390, 320):
            phone.page.set_viewport_size({"width": width, "height": 844})
            assert phone.overflow() <= 0, (path, width)
    change(furnished, "DEMO-6", title="A plain ticket")


def test_all_of_it_is_accessible(desk, furnished):
    reference = furnished.ticket("Seen by all", body="Old text")
    for fields in ({"priority": "low"}, {"due_date": "2031-01-01"}, {"body": "New text"}):
        change(furnished, reference, **fields)
    comment = furnished.call("POST", f"/tickets/{reference}/comments", {"body": "One"})["id"]
    furnished.call("PATCH", f"/comments/{comment}", {"body": "Two"})
    furnished.call("PATCH", f"/tickets/{reference}", {"due_date": "2031-02-02"})
    events = furnished.call("GET", f"/tickets/{reference}/activity")["data"]
    text = next(one for one in events if "body" in one["payload"].get("changes", {}))
    date = next(one for one in events if "due_date" in one["payload"].get("changes", {}))
    for path in (
        f"/tickets/{reference}",
        f"/tickets/{reference}?show=changes",
        f"/tickets/{reference}/changes/{text['id']}",
        f"/comments/{comment}/history",
        f"/tickets/new?project=DEMO&copy={reference}",
        "/projects/DEMO/epics",
        "/projects/DEMO/epics?days=90",
        "/tickets/DEMO-2/parts",
        "/bots/bot-dev-1/review",
        f"/audit/events/{date['id']}",
    ):
        desk.go(path)
        for summary in desk.page.locator("main details summary").all():
            if summary.is_visible() and not summary.get_attribute("hx-get"):
                summary.click()
                desk.press("Escape") if "menu" in (
                    summary.locator("..").get_attribute("class") or ""
                ) else None
        assert findings_in_both(desk.page) == []
        assert desk.page.locator("h1").count() == 1


def test_a_related_ticket_is_found_by_words_of_its_title(ticket):
    desk, _ = ticket
    desk.page.click("#relations summary")
    desk.page.focus("#target_ticket_id")
    desk.page.keyboard.type("block")
    option = desk.page.locator("#target_ticket_id-completions [role=option]")
    expect(option).to_have_count(1)
    desk.press("Enter")
    expect(desk.page.locator("#target_ticket_id")).to_have_value("DEMO-5")
    desk.press("Enter")
    expect(desk.page.locator("#relations .relation")).to_contain_text("A blocker")


def test_keys_of_the_ticket(ticket):
    desk, _ = ticket
    desk.press("i")
    expect(desk.page.locator("#edit-assignee")).to_contain_text("Ada Berg")
    expect(desk.page.locator("#edit-assignee")).to_be_focused()
    desk.press("w")
    expect(desk.page.locator("#watch")).to_have_text("Stop watching")
    for key, name in (("a", "assignee"), ("p", "priority"), ("l", "labels"), ("m", "state")):
        desk.press(key)
        # The editor takes the focus by itself once it is ready.
        expect(desk.page.locator(f"#fact-{name}[data-editor] :focus")).to_have_count(1)
        desk.press("Escape")
        expect(desk.page.locator(f"#edit-{name}")).to_be_focused()
    desk.go("/tickets/DEMO-3")
    desk.press("u")
    expect(desk.page.locator("h1")).to_have_text("A rich ticket")


def test_without_a_connection_it_is_said_once_and_nothing_is_lost(ticket, furnished):
    desk, reference = ticket
    desk.page.fill("#comment-body", "Kept all along")
    desk.page.route("**/live?**", lambda route: route.abort())
    expect(desk.page.locator("#offline")).to_contain_text("No connection since")
    expect(desk.toast()).to_have_count(0)
    desk.page.unroute("**/live?**")
    change(furnished, reference, priority="low")
    expect(desk.page.locator("#edit-priority")).to_contain_text("Low")
    expect(desk.page.locator("#offline")).not_to_be_visible()
    expect(desk.page.locator("#comment-body")).to_have_value("Kept all along")
    # htmx itself tells the console of each request that was cut off.
    assert all("htmx:" in one for one in desk.problems), desk.problems
    desk.problems.clear()


def test_whoever_was_logged_out_is_told_once(ticket):
    desk, _ = ticket
    desk.page.context.clear_cookies()
    expect(desk.toast()).to_have_count(1)
    expect(desk.toast()).to_contain_text("You were logged out")
    desk.page.wait_for_timeout(4000)
    expect(desk.toast()).to_have_count(1)
