"""The ticket page: editing every field in place, comments, relations, watchers, deleting."""

import pytest
from playwright.sync_api import expect

from tests.support.serving import until


@pytest.fixture
def ticket(wide, seeded):
    """A plain ticket for this test, opened."""
    reference = seeded.ticket("Of this test")
    wide.go(f"/tickets/{reference}")
    return wide, reference


def choose(wide, field: str, text: str) -> None:
    """Open a field and choose an option."""
    wide.page.click(f"#edit-{field}")
    wide.page.click(f"#ticket-field-{field} .option:has-text('{text}')")


def test_an_option_is_saved_with_one_click(ticket):
    wide, _ = ticket
    options = {"state": "In review", "assignee": "bot-dev-1", "priority": "Urgent"}
    events = (
        "moved from Backlog to In review",
        "assigned this to bot-dev-1",
        "raised the priority to urgent",
    )
    for (field, option), event in zip(options.items(), events, strict=True):
        choose(wide, field, option)
        expect(wide.page.locator(f"#edit-{field}")).to_contain_text(option)
        expect(wide.page.locator("#thread")).to_contain_text(event)
        expect(wide.page.locator(f"#edit-{field}")).to_be_focused()
    wide.page.reload()
    for field, option in options.items():
        expect(wide.page.locator(f"#edit-{field}")).to_contain_text(option)


def test_labels_due_date_and_parent(ticket, seeded):
    wide, _ = ticket
    wide.page.click("#edit-labels")
    wide.page.check("#ticket-field-labels [type=checkbox] >> nth=0")
    wide.page.check("#ticket-field-labels [type=checkbox] >> nth=1")
    wide.page.click("#ticket-field-labels button[type=submit]")
    expect(wide.page.locator("#edit-labels .label")).to_have_count(2)
    wide.page.click("#edit-due_date")
    wide.page.fill("#value", "2031-05-06")
    wide.press("Enter")
    expect(wide.page.locator("#edit-due_date")).to_contain_text("6 May 2031")
    wide.page.click("#edit-parent")
    wide.page.fill("#value", "demo-1")
    wide.press("Enter")
    expect(wide.page.locator("#edit-parent")).to_contain_text("The epic above")
    wide.page.click("#edit-parent")
    wide.page.click(".picker .option:has-text('No parent')")
    expect(wide.page.locator("#edit-parent")).to_contain_text("None")


def test_what_is_wrong_stands_beside_the_field_and_keeps_the_text(ticket):
    wide, _reference = ticket
    wide.page.click("#edit-parent")
    wide.page.fill("#value", "DEMO-999")
    wide.press("Enter")
    expect(wide.page.locator("#value-problem")).to_contain_text("Ticket DEMO-999 not found")
    expect(wide.page.locator("#value")).to_have_value("DEMO-999")
    wide.page.click("[data-cancel]")
    expect(wide.page.locator(".picker")).to_have_count(0)
    wide.page.click("#edit-title")
    wide.page.fill("#value", "   ")
    wide.press("Enter")
    expect(wide.page.locator("#value-problem")).to_contain_text("must not be blank")
    wide.press("Escape")
    expect(wide.page.locator("h1")).to_have_text("Of this test")


def test_a_field_that_changed_meanwhile_is_not_overwritten(ticket, seeded):
    wide, reference = ticket
    wide.page.click("#edit-priority")
    expect(wide.page.locator("#ticket-field-priority .option")).to_have_count(4)
    seeded.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"}, as_bot=True)
    wide.page.click("#ticket-field-priority .option:has-text('Low')")
    expect(wide.page.locator("#ticket-field-priority")).to_contain_text(
        "Someone changed this to urgent"
    )
    wide.page.click("#ticket-field-priority .option:has-text('Low')")
    expect(wide.page.locator("#edit-priority")).to_contain_text("Low")


def test_another_field_that_changed_meanwhile_does_no_harm(ticket, seeded):
    wide, reference = ticket
    wide.page.click("#edit-title")
    seeded.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"}, as_bot=True)
    wide.page.fill("#value", "Still saved")
    wide.press("Enter")
    expect(wide.page.locator("h1")).to_have_text("Still saved")


def test_a_description_is_shown_as_it_was_written(ticket):
    wide, _ = ticket
    wide.page.click("#edit-body")
    text = "\nOne line\n\n    <b>code</b> & more"
    wide.page.fill("#value", text)
    wide.press("Control+Enter")
    expect(wide.page.locator("#ticket-field-body .markdown")).to_contain_text("<b>code</b> & more")
    wide.page.click("#edit-body")
    assert wide.page.input_value("#value").strip("\n") == text.strip("\n")


def test_comments_are_written_edited_and_deleted(ticket):
    wide, _ = ticket
    wide.page.fill("#comment-body", "First thoughts")
    # Like dragging its corner. The next field must not take over this style: the policy forbids it.
    wide.page.locator("#comment-body").evaluate("field => (field.style.height = '20rem')")
    wide.page.click("#composer button[type=submit]")
    expect(wide.page.locator(".comment-text")).to_have_text("First thoughts")
    wide.page.click("[aria-label='Edit this comment']")
    wide.page.fill("#thread textarea", "Second thoughts")
    wide.press("Control+Enter")
    expect(wide.page.locator(".comment-text")).to_have_text("Second thoughts")
    wide.page.click(".edits summary")
    expect(wide.page.locator(".edits .diff-line.gone")).to_contain_text("First thoughts")
    wide.page.click("[aria-label='Delete this comment']")
    wide.page.click("#dialog .button.danger")
    expect(wide.page.locator("#thread")).to_contain_text(
        "A comment by Ada Berg was deleted by Ada Berg"
    )
    expect(wide.page.locator("#dialog")).not_to_be_visible()


def test_a_comment_sent_twice_at_once_is_one_comment(ticket):
    wide, _ = ticket
    wide.page.fill("#comment-body", "Only once")
    twice = "form => { form.requestSubmit(); form.requestSubmit(); }"
    wide.page.locator("#composer").evaluate(twice)
    expect(wide.page.locator(".comment-text")).to_have_count(1)
    wide.page.reload()
    expect(wide.page.locator(".comment-text")).to_have_count(1)


def test_a_form_that_was_stopped_on_its_way_is_sent_again_later(wide):
    create = wide.page.get_by_role("button", name="Create ticket")
    wide.go("/tickets/new?project=DEMO&title=Stopped")
    # Like the stop button of the browser: the page stays.
    wide.intercept("**/tickets/new", lambda route: route.abort("aborted"), times=1)
    with wide.page.expect_event("requestfailed"):
        create.click(no_wait_after=True)
    # Playwright cannot set the clock of a page that was about to unload.
    create.evaluate("({ form }) => { form.dataset.sent -= 6000; }")
    create.click(no_wait_after=True)
    expect(wide.page.locator("h1")).to_have_text("Stopped")


def test_a_draft_survives_a_reload(ticket):
    wide, reference = ticket
    wide.page.fill("#comment-body", "Not finished")
    kept = f"sessionStorage.getItem('comment:{reference}')"
    until(lambda: wide.page.evaluate(kept))
    wide.page.reload()
    expect(wide.page.locator("#comment-body")).to_have_value("Not finished")
    wide.page.click("text=Discard")
    expect(wide.page.locator("#comment-body")).to_have_value("")


def test_relations_from_either_end(ticket, seeded):
    wide, _reference = ticket
    other = seeded.ticket("The other one")
    wide.page.click("#relations summary")
    wide.page.select_option("#relations #type", "is blocked by")
    wide.page.fill("#target_ticket_id", other.lower())
    wide.page.click("#relations .form button")
    expect(wide.page.locator("#relations h3")).to_have_text("Is blocked by")
    wide.page.click(f"[aria-label='Remove relation to {other}']")
    expect(wide.page.locator("#relations h3")).to_have_count(0)
    wide.page.click("#relations summary")
    wide.page.select_option("#relations #type", "blocks")
    wide.page.fill("#target_ticket_id", other)
    wide.page.click("#relations .form button")
    expect(wide.page.locator("#relations h3")).to_have_text("Blocks")
    expect(wide.page.locator("#thread")).to_contain_text(f"marked this as blocking {other}")
    wide.page.click("#relations summary")
    wide.page.fill("#target_ticket_id", "DEMO-999")
    wide.page.click("#relations .form button")
    expect(wide.page.locator("#relations .problem")).to_contain_text("Ticket not found")


def test_links_by_keyboard(ticket):
    wide, _ = ticket
    wide.page.focus("#links summary")
    wide.press("Enter", "Tab")
    expect(wide.page.locator("#link-url")).to_be_focused()
    wide.page.keyboard.type("https://github.com/docket/app/pull/5")
    wide.press("Enter")
    expect(wide.page.locator("#links li a")).to_have_text("docket/app#5")
    expect(wide.page.locator("#thread")).to_contain_text("added the link docket/app#5")
    wide.page.focus("[aria-label='Remove link docket/app#5']")
    wide.press("Enter")
    expect(wide.page.locator("#links li")).to_have_count(0)


def test_watching(ticket):
    wide, _ = ticket
    wide.page.click("#watch")
    expect(wide.page.locator("#watchers .person")).to_have_text("ABAda Berg")
    wide.page.click("#watchers summary")
    wide.page.select_option("#watchers select", label="bot-dev-1 (bot)")
    wide.page.click("#watchers .form button")
    expect(wide.page.locator("#watchers .person")).to_have_count(2)
    wide.page.click("text=Stop watching")
    expect(wide.page.locator("#watchers .person")).to_have_count(1)


def test_deleting_asks_first(ticket):
    wide, reference = ticket
    wide.page.click("text=Delete ticket")
    expect(wide.page.locator("#dialog-title")).to_have_text(f"Delete {reference}?")
    wide.press("Escape")
    wide.page.click("text=Delete ticket")
    wide.page.click("#dialog .button.danger")
    expect(wide.page.locator("h1")).to_have_text(f"{reference} was deleted")
    wide.page.get_by_role("button", name=f"Restore {reference}").click()
    expect(wide.page.locator("h1")).not_to_contain_text("was deleted")
