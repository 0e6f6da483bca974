"""The stream of a ticket: live news, undo, writing without loss, by mouse and keyboard."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings, findings_in_both
from tests.support.serving import until


@pytest.fixture
def ticket(wide, seeded):
    """A plain ticket for this test, opened."""
    reference = seeded.ticket("Of this test")
    wide.go(f"/tickets/{reference}")
    return wide, reference


def change(seeded, reference, **fields):
    seeded.call("PATCH", f"/tickets/{reference}", fields, as_bot=True)


def undo_button(wide, words):
    return wide.page.locator(f".event:has-text('{words}') form.undo button").last


def test_what_a_bot_does_appears_within_seconds_and_disturbs_nothing(ticket, seeded):
    wide, reference = ticket
    wide.page.fill("#comment-body", "Half a thought")
    wide.page.focus("#comment-body")
    change(seeded, reference, priority="urgent", title="Renamed by a bot")
    seeded.call("POST", f"/tickets/{reference}/comments", {"body": "Done."}, as_bot=True)
    expect(wide.page.locator("h1")).to_have_text("Renamed by a bot", timeout=4000)
    expect(wide.page.locator("#edit-priority")).to_contain_text("Urgent")
    expect(wide.page.locator(".comment-text")).to_have_text("Done.")
    expect(wide.page.locator("#comment-body")).to_be_focused()
    expect(wide.page.locator("#comment-body")).to_have_value("Half a thought")
    # Nothing appears twice, however often the page polls.
    wide.page.evaluate(
        "for (let i = 0; i < 3; i++) document.body.dispatchEvent(new Event('app:poll'))"
    )
    wide.page.wait_for_timeout(500)
    assert wide.page.locator(".comment-text").count() == 1
    assert wide.page.locator(".event:has-text('changed the title')").count() == 1


def test_a_field_being_edited_is_left_alone_and_says_what_it_became(ticket, seeded):
    wide, reference = ticket
    before = wide.page.locator("h1").inner_text()
    wide.page.click("#edit-title")
    wide.page.fill("#value", "My title")
    change(seeded, reference, title="Their title")
    wide.ask_for_news()
    note = wide.page.locator("#ticket-field-title .theirs")
    expect(note).to_contain_text("bot-dev-1 changed this to Their title")
    expect(wide.page.locator("#value")).to_have_value("My title")
    # A value that is again the one in the editor is no news.
    change(seeded, reference, title=before)
    wide.ask_for_news()
    expect(note).to_have_count(0)
    change(seeded, reference, title="Their title")
    wide.ask_for_news()
    note.get_by_role("button").click()
    expect(wide.page.locator("h1")).to_have_text("Their title")
    wide.page.click("#edit-body")
    note = wide.page.locator("#ticket-field-body .theirs")
    change(seeded, reference, body="Theirs\n\nof two lines")
    wide.ask_for_news()
    expect(note).to_contain_text("bot-dev-1 changed this")
    change(seeded, reference, body="")
    wide.ask_for_news()
    expect(note).to_have_count(0)


def test_a_field_that_changes_while_its_editor_is_on_its_way_opens(ticket, seeded):
    wide, reference = ticket
    held = []

    def hold(route):
        held.append(route)

    wide.intercept("**/fields/priority", hold)
    wide.page.click("#edit-priority")
    until(lambda: wide.page.evaluate("1") and held)
    change(seeded, reference, priority="urgent", title="Renamed by a bot")
    wide.ask_for_news()
    expect(wide.page.locator("h1")).to_have_text("Renamed by a bot")
    held[0].continue_()
    expect(wide.page.locator("#ticket-field-priority [aria-pressed=true]")).to_contain_text(
        "Urgent"
    )


def test_undo_by_key_takes_a_bots_change_back(ticket, seeded):
    wide, reference = ticket
    change(seeded, reference, priority="low")
    wide.ask_for_news()
    button = undo_button(wide, "lowered the priority to low")
    expect(button).to_be_visible()
    button.focus()
    wide.press("Enter")
    expect(wide.page.locator("#edit-priority")).to_contain_text("Medium")
    expect(wide.toast()).to_contain_text("Undone")
    expect(wide.page.locator("#thread")).to_contain_text("raised the priority to medium")
    assert wide.focused() == "undone"


def test_undo_asks_where_a_person_changed_it_since(ticket, seeded):
    wide, reference = ticket
    change(seeded, reference, priority="low")
    seeded.call("PATCH", f"/tickets/{reference}", {"priority": "high"})
    wide.ask_for_news()
    button = undo_button(wide, "lowered the priority to low")
    button.click()
    dialog = wide.page.locator("#dialog")
    expect(dialog).to_contain_text("Priority (current)")
    expect(dialog).to_contain_text("high")
    wide.press("Escape")
    expect(dialog).not_to_be_visible()
    expect(wide.page.locator("#edit-priority")).to_contain_text("High")
    button.click()
    expect(dialog).to_be_visible()
    wide.page.click("#dialog .button.primary")
    expect(dialog).not_to_be_visible()
    expect(wide.page.locator("#edit-priority")).to_contain_text("Medium")


def test_two_people_change_one_description_and_nothing_is_lost(ticket, seeded):
    wide, reference = ticket
    seeded.call("PATCH", f"/tickets/{reference}", {"body": "One\n\nTwo\n\nThree"})
    wide.page.reload()
    wide.page.click("#edit-body")
    wide.page.fill("#value", "One\n\nTwo\n\nThree, by me")
    change(seeded, reference, body="One, by the bot\n\nTwo\n\nThree")
    wide.page.click("#ticket-field-body button[type=submit]")
    expect(wide.page.locator("#ticket-field-body")).to_contain_text("Your changes are safe")
    expect(wide.page.locator("#value")).to_have_value("One, by the bot\n\nTwo\n\nThree, by me")
    wide.page.click("text=Save both")
    expect(wide.page.locator("#ticket-field-body .markdown")).to_contain_text("Three, by me")
    expect(wide.page.locator("#ticket-field-body .markdown")).to_contain_text("One, by the bot")


def test_names_links_and_numbers_complete_by_key(ticket):
    wide, _ = ticket
    area = wide.page.locator("#comment-body")
    options = wide.page.locator("#comment-body-completions [role=option]")
    area.focus()
    wide.page.keyboard.type("Ask @bot")
    expect(options).to_have_count(1)
    wide.press("Enter")
    expect(area).to_have_value("Ask @bot-dev-1 ")
    wide.page.keyboard.type("about DEMO-")
    expect(options.first).to_be_visible()
    wide.press("Escape")
    expect(options.first).not_to_be_visible()
    wide.page.keyboard.type("2")
    wide.press("End", "Enter")
    expect(area).to_have_value("Ask @bot-dev-1 about DEMO-2\n")
    wide.page.click("#comment-body-see")
    expect(wide.page.locator("#comment-body-preview a")).to_have_text("DEMO-2")
    wide.page.click("#comment-body-write")
    expect(area).to_be_focused()


def test_a_comment_moves_the_ticket_with_one_click(ticket):
    wide, _ = ticket
    wide.page.fill("#comment-body", "That was it.")
    wide.page.click("text=Comment and move to…")
    wide.page.click("#comment-states button:has-text('Done')")
    expect(wide.page.locator("#edit-state")).to_contain_text("Done")
    expect(wide.page.locator(".comment-text")).to_have_text("That was it.")
    expect(wide.page.locator("#comment-body")).to_have_value("")


def test_the_stream_is_filtered_without_losing_a_draft(ticket, seeded):
    wide, reference = ticket
    wide.page.fill("#comment-body", "Kept")
    change(seeded, reference, priority="low")
    wide.page.click("#show-bots")
    expect(wide.page.locator("#thread .event")).to_have_count(1)
    expect(wide.page).to_have_url(f"{wide.base}/tickets/{reference}?show=bots")
    expect(wide.page.locator("#comment-body")).to_have_value("Kept")
    # News follows the filter that is chosen.
    seeded.call("PATCH", f"/tickets/{reference}", {"due_date": "2031-01-01"})
    wide.ask_for_news()
    expect(wide.page.locator("#edit-due_date")).to_contain_text("2031")
    expect(wide.page.locator("#thread .event")).to_have_count(1)


def test_a_run_of_changes_opens_by_key_and_at_its_address(ticket, seeded):
    wide, reference = ticket
    for fields in ({"priority": "low"}, {"due_date": "2031-01-01"}, {"body": "New text"}):
        change(seeded, reference, **fields)
    wide.page.reload()
    run = wide.page.locator(".run > summary")
    expect(run).to_contain_text("changed priority, due date, description")
    run.focus()
    wide.press("Enter")
    fold = wide.page.locator(".run .fold summary")
    fold.focus()
    wide.press("Enter")
    expect(wide.page.locator(".run .diff ins")).to_contain_text("New text")
    assert findings(wide.page) == []
    line = wide.page.locator(".run .event[id]").last.get_attribute("id")
    wide.go("/projects")
    wide.go(f"/tickets/{reference}#{line}")
    expect(wide.page.locator(f"#{line}")).to_be_in_viewport()


def test_a_subtask_is_added_by_key_and_the_line_is_ready_for_the_next(ticket):
    wide, _ = ticket
    wide.page.focus("#child-title")
    wide.page.keyboard.type("First part")
    wide.press("Enter")
    expect(wide.page.locator(".children")).to_contain_text("First part")
    expect(wide.page.locator("#child-title")).to_be_focused()
    expect(wide.page.locator("#child-title")).to_have_value("")


def test_a_deleted_ticket_is_brought_back(ticket, seeded):
    wide, reference = ticket
    seeded.call("DELETE", f"/tickets/{reference}", as_bot=True)
    wide.ask_for_news()
    expect(wide.page.locator("#live")).to_contain_text("was deleted")
    wide.go(f"/tickets/{reference}", 410)
    assert findings(wide.page) == []
    wide.page.click(f"text=Restore {reference}")
    expect(wide.page.locator("h1")).to_have_text("Of this test")


def test_the_id_stays_in_sight(ticket):
    wide, reference = ticket
    wide.page.set_viewport_size({"width": 1280, "height": 400})
    expect(wide.page.locator(".subject")).not_to_be_visible()
    wide.page.mouse.wheel(0, 400)
    expect(wide.page.locator(".subject")).to_contain_text(f"{reference}Of this test")
    expect(wide.page.locator(".subject-state")).to_have_text("Backlog")


def test_copies(ticket):
    wide, reference = ticket
    wide.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wide.page.click(".copies summary")
    wide.page.click("text=Branch name")
    expect(wide.toast()).to_contain_text("Copied")
    copied = wide.page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{reference.lower()}-of-this-test"
    wide.page.click(".side-actions a:has-text('Duplicate')")
    expect(wide.page.locator("#title")).to_have_value("Of this test")


def test_code_of_a_comment_that_just_came_is_copied(ticket, seeded):
    wide, reference = ticket
    wide.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    body = {"body": "Run\n\n```\nmake test\n```\n"}
    seeded.call("POST", f"/tickets/{reference}/comments", body, as_bot=True)
    wide.ask_for_news()
    code = wide.page.locator("#thread .code-box")
    code.hover()
    code.get_by_role("button", name="Copy").click()
    expect(wide.toast()).to_contain_text("Copied")
    assert wide.page.evaluate("navigator.clipboard.readText()") == "make test"


def test_the_review_of_a_bot(wide, seeded):
    reference = seeded.ticket("To review")
    change(seeded, reference, priority="low", assignee_user_id=seeded.ids["bot"])
    wide.go("/bots/bot-dev-1/review")
    call = wide.page.locator(".call", has_text=reference)
    call.locator(".change:has-text('priority') form.undo button").click()
    expect(call.locator(".change:has-text('priority')")).to_contain_text("undone")
    wide.page.click("#good")
    expect(wide.page.locator("main")).to_contain_text("Nothing new")
    change(seeded, reference, due_date="2031-01-01", priority="high")
    wide.page.reload()
    expect(wide.page.locator(".call")).to_have_count(1)


def test_without_a_script_the_stream_reads_and_undoes(plain, seeded):
    reference = seeded.ticket("Plain work")
    change(seeded, reference, body="New text")
    plain.go(f"/tickets/{reference}")
    plain.page.click("#show-changes")
    expect(plain.page.locator(".event")).to_have_count(2)
    plain.page.click(".fold summary")
    plain.page.click("text=Show changes")
    expect(plain.page.locator(".diff ins")).to_have_text("New text")
    plain.page.go_back()
    plain.page.fill("#child-title", "A plain part")
    plain.page.click("#children .add-row button")
    expect(plain.page.locator(".children")).to_contain_text("A plain part")
    plain.page.locator(".event:has-text('edited the description') form.undo button").click()
    expect(plain.page.locator("#ticket-field-body")).to_contain_text("No description yet")
    change(seeded, reference, priority="low")
    seeded.call("PATCH", f"/tickets/{reference}", {"priority": "high"})
    plain.page.reload()
    plain.page.locator(".event:has-text('lowered the priority to low') form.undo button").click()
    expect(plain.page.locator("h1")).to_have_text("Undo anyway?")
    plain.page.click("text=Undo anyway >> nth=-1")
    expect(plain.page.locator("#edit-priority")).to_contain_text("Medium")


def test_without_a_script_epics_and_the_review_read(plain):
    plain.go("/projects/DEMO/epics")
    plain.page.click(".subparts summary")
    plain.page.click("text=Show subtasks")
    expect(plain.page.locator(".part-list")).to_contain_text("An open part")
    plain.go("/bots/bot-dev-1/review")
    plain.page.click("#good")
    expect(plain.page.locator("main")).to_contain_text("Nothing new")


def test_on_a_phone_nothing_is_cut_off(phone, seeded):
    change(seeded, "DEMO-6", title="W" * 200)
    for path in ("/projects/DEMO/epics", "/bots/bot-dev-1/review"):
        phone.go(path)
        for width in (390, 320):
            phone.page.set_viewport_size({"width": width, "height": 844})
            assert phone.overflow() <= 0, (path, width)
    change(seeded, "DEMO-6", title="A plain ticket")


# The pages as they load are tested in test_every_page.py.
def test_what_unfolds_is_accessible(wide, seeded):
    reference = seeded.ticket("Seen by all", body="Old text")
    for fields in ({"priority": "low"}, {"due_date": "2031-01-01"}, {"body": "New text"}):
        change(seeded, reference, **fields)
    comment = seeded.call("POST", f"/tickets/{reference}/comments", {"body": "One"})["id"]
    seeded.call("PATCH", f"/comments/{comment}", {"body": "Two"})
    for path in (
        f"/tickets/{reference}",
        f"/tickets/new?project=DEMO&copy={reference}",
        "/projects/DEMO/epics?days=90",
        "/bots/bot-dev-1/review",
    ):
        wide.go(path)
        for summary in wide.page.locator("main details summary").all():
            if summary.is_visible() and not summary.get_attribute("hx-get"):
                summary.click()
                wide.press("Escape") if "menu" in (
                    summary.locator("..").get_attribute("class") or ""
                ) else None
        assert findings_in_both(wide.page) == []
        assert wide.page.locator("h1").count() == 1


def test_a_related_ticket_is_found_by_words_of_its_title(ticket):
    wide, _ = ticket
    wide.page.click("#relations summary")
    wide.page.focus("#target_ticket_id")
    wide.page.keyboard.type("block")
    option = wide.page.locator("#target_ticket_id-completions [role=option]")
    expect(option).to_have_count(1)
    wide.press("Enter")
    expect(wide.page.locator("#target_ticket_id")).to_have_value("DEMO-5")
    wide.press("Enter")
    expect(wide.page.locator("#relations .relation")).to_contain_text("A blocker")


def test_without_a_connection_it_is_said_once_and_nothing_is_lost(ticket, seeded):
    wide, reference = ticket
    wide.page.fill("#comment-body", "Kept all along")
    wide.intercept("**/live?**", lambda route: route.abort())
    for _ in range(2):
        with wide.page.expect_event("requestfailed"):
            wide.ask_for_news()
    expect(wide.page.locator("#offline")).to_contain_text("No connection since")
    expect(wide.toast()).to_have_count(0)
    wide.page.unroute("**/live?**")
    change(seeded, reference, priority="low")
    wide.ask_for_news()
    expect(wide.page.locator("#edit-priority")).to_contain_text("Low")
    expect(wide.page.locator("#offline")).not_to_be_visible()
    expect(wide.page.locator("#comment-body")).to_have_value("Kept all along")
    # htmx logs each interrupted request to the console.
    assert all("htmx:" in one for one in wide.problems), wide.problems
    wide.problems.clear()


def test_whoever_was_logged_out_is_told_once(ticket):
    wide, _ = ticket
    wide.page.context.clear_cookies()
    wide.ask_for_news()
    expect(wide.toast()).to_have_count(1)
    expect(wide.toast()).to_contain_text("You were logged out")
    wide.page.wait_for_timeout(3500)
    expect(wide.toast()).to_have_count(1)
