"""The ticket page: every field in place, comments, relations, watchers, deleting."""

import pytest
from playwright.sync_api import expect

from tests.support.serving import until


@pytest.fixture
def ticket(desk, furnished):
    """A plain ticket of this test's own, opened."""
    reference = furnished.ticket("Of this test")
    desk.go(f"/tickets/{reference}")
    return desk, reference


def choose(desk, field: str, text: str) -> None:
    """Open a field and choose an option."""
    desk.page.click(f"#edit-{field}")
    desk.page.click(f"#fact-{field} .option:has-text('{text}')")


@pytest.mark.parametrize(
    ("field", "option", "event"),
    [
        ("state", "In review", "moved this from Backlog to In review"),
        ("assignee", "bot-dev-1", "assigned this to bot-dev-1"),
        ("priority", "Urgent", "changed the priority from medium to urgent"),
    ],
)
def test_an_option_is_saved_with_one_click(ticket, field, option, event):
    desk, _ = ticket
    choose(desk, field, option)
    expect(desk.page.locator(f"#edit-{field}")).to_contain_text(option)
    expect(desk.page.locator("#thread")).to_contain_text(event)
    expect(desk.page.locator(f"#edit-{field}")).to_be_focused()
    desk.page.reload()
    expect(desk.page.locator(f"#edit-{field}")).to_contain_text(option)


def test_labels_due_date_and_parent(ticket, furnished):
    desk, _ = ticket
    desk.page.click("#edit-labels")
    desk.page.check("#fact-labels [type=checkbox] >> nth=0")
    desk.page.check("#fact-labels [type=checkbox] >> nth=1")
    desk.page.click("#fact-labels button[type=submit]")
    expect(desk.page.locator("#edit-labels .label")).to_have_count(2)
    desk.page.click("#edit-due_date")
    desk.page.fill("#value", "2031-05-06")
    desk.press("Enter")
    expect(desk.page.locator("#edit-due_date")).to_contain_text("6 May 2031")
    desk.page.click("#edit-parent")
    desk.page.fill("#value", "demo-1")
    desk.press("Enter")
    expect(desk.page.locator("#edit-parent")).to_contain_text("The epic above")
    desk.page.click("#edit-parent")
    desk.page.fill("#value", "")
    desk.press("Enter")
    expect(desk.page.locator("#edit-parent")).to_contain_text("None")


def test_what_is_wrong_stands_beside_the_field_and_keeps_the_text(ticket):
    desk, _reference = ticket
    desk.page.click("#edit-parent")
    desk.page.fill("#value", "DEMO-999")
    desk.press("Enter")
    expect(desk.page.locator("#value-problem")).to_contain_text("There is no ticket DEMO-999")
    expect(desk.page.locator("#value")).to_have_value("DEMO-999")
    desk.page.click("[data-cancel]")
    desk.page.click("#edit-title")
    desk.page.fill("#value", "   ")
    desk.press("Enter")
    expect(desk.page.locator("#value-problem")).to_contain_text("must not be blank")
    desk.press("Escape")
    expect(desk.page.locator("h1")).to_have_text("Of this test")


def test_a_field_that_changed_meanwhile_is_not_overwritten(ticket, furnished):
    desk, reference = ticket
    desk.page.click("#edit-priority")
    expect(desk.page.locator("#fact-priority .option")).to_have_count(4)
    furnished.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"}, as_bot=True)
    desk.page.click("#fact-priority .option:has-text('Low')")
    expect(desk.page.locator("#fact-priority")).to_contain_text("changed meanwhile to urgent")
    desk.page.click("#fact-priority .option:has-text('Low')")
    expect(desk.page.locator("#edit-priority")).to_contain_text("Low")


def test_another_field_that_changed_meanwhile_does_no_harm(ticket, furnished):
    desk, reference = ticket
    desk.page.click("#edit-title")
    furnished.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"}, as_bot=True)
    desk.page.fill("#value", "Still saved")
    desk.press("Enter")
    expect(desk.page.locator("h1")).to_have_text("Still saved")


def test_a_description_is_shown_as_it_was_written(ticket):
    desk, _ = ticket
    desk.page.click("#edit-body")
    text = "\nOne line\n\n    <b>code</b> & more"
    desk.page.fill("#value", text)
    desk.press("Control+Enter")
    expect(desk.page.locator("#fact-body .markdown")).to_contain_text("<b>code</b> & more")
    desk.page.click("#edit-body")
    assert desk.page.input_value("#value").strip("\n") == text.strip("\n")


def test_comments_are_written_edited_and_deleted(ticket):
    desk, _ = ticket
    desk.page.fill("#comment-body", "First thoughts")
    desk.page.click("#composer button[type=submit]")
    expect(desk.page.locator(".comment-text")).to_have_text("First thoughts")
    desk.page.click("[aria-label='Edit this comment']")
    desk.page.fill("#thread textarea", "Second thoughts")
    desk.press("Control+Enter")
    expect(desk.page.locator(".comment-text")).to_have_text("Second thoughts")
    desk.page.click(".edits summary")
    expect(desk.page.locator(".edits .diff-line.gone")).to_contain_text("First thoughts")
    desk.page.click("[aria-label='Delete this comment']")
    desk.page.click("#dialog .button.danger")
    expect(desk.page.locator("#thread")).to_contain_text(
        "A comment by Ada Berg was deleted by Ada Berg"
    )
    expect(desk.page.locator("#dialog")).not_to_be_visible()


def test_a_comment_sent_twice_at_once_is_one_comment(ticket):
    desk, _ = ticket
    desk.page.fill("#comment-body", "Only once")
    twice = "form => { form.requestSubmit(); form.requestSubmit(); }"
    desk.page.locator("#composer").evaluate(twice)
    expect(desk.page.locator(".comment-text")).to_have_count(1)
    desk.page.reload()
    expect(desk.page.locator(".comment-text")).to_have_count(1)


def test_a_form_that_was_stopped_on_its_way_is_sent_again_later(desk):
    create = desk.page.get_by_role("button", name="Create ticket")
    desk.page.clock.install()
    desk.go("/tickets/new?project=DEMO&title=Stopped")
    # As the browser's own button does it: the page stays.
    desk.page.route("**/tickets/new", lambda route: route.abort("aborted"), times=1)
    with desk.page.expect_event("requestfailed"):
        create.click(no_wait_after=True)
    desk.page.clock.fast_forward("00:06")
    create.click(no_wait_after=True)
    expect(desk.page.locator("h1")).to_have_text("Stopped")


def test_a_draft_survives_a_reload(ticket):
    desk, reference = ticket
    desk.page.fill("#comment-body", "Not finished")
    kept = f"sessionStorage.getItem('comment:{reference}')"
    until(lambda: desk.page.evaluate(kept))
    desk.page.reload()
    expect(desk.page.locator("#comment-body")).to_have_value("Not finished")
    desk.page.click("text=Discard")
    expect(desk.page.locator("#comment-body")).to_have_value("")


def test_relations_from_either_end(ticket, furnished):
    desk, _reference = ticket
    other = furnished.ticket("The other one")
    desk.page.click("#relations summary")
    desk.page.select_option("#relations #type", "is blocked by")
    desk.page.fill("#target_ticket_id", other.lower())
    desk.page.click("#relations .form button")
    expect(desk.page.locator("#relations h3")).to_have_text("Is blocked by")
    desk.page.click(f"[aria-label='Remove the relation to {other}']")
    expect(desk.page.locator("#relations h3")).to_have_count(0)
    desk.page.click("#relations summary")
    desk.page.select_option("#relations #type", "blocks")
    desk.page.fill("#target_ticket_id", other)
    desk.page.click("#relations .form button")
    expect(desk.page.locator("#relations h3")).to_have_text("Blocks")
    expect(desk.page.locator("#thread")).to_contain_text(f"noted that this blocks {other}")
    desk.page.click("#relations summary")
    desk.page.fill("#target_ticket_id", "DEMO-999")
    desk.page.click("#relations .form button")
    expect(desk.page.locator("#relations .problem")).to_contain_text("There is no such ticket")


def test_watching(ticket):
    desk, _ = ticket
    desk.page.click("#watch")
    expect(desk.page.locator("#watchers .person")).to_have_text("ABAda Berg")
    desk.page.click("#watchers summary")
    desk.page.select_option("#watchers select", label="bot-dev-1 (bot)")
    desk.page.click("#watchers .form button")
    expect(desk.page.locator("#watchers .person")).to_have_count(2)
    desk.page.click("text=Stop watching")
    expect(desk.page.locator("#watchers .person")).to_have_count(1)


def test_deleting_asks_first(ticket):
    desk, reference = ticket
    desk.page.click("text=Delete ticket")
    expect(desk.page.locator("#dialog-title")).to_have_text(f"Delete {reference}?")
    desk.press("Escape")
    desk.page.click("text=Delete ticket")
    desk.page.click("#dialog .button.danger")
    desk.page.wait_for_url("**/board")
    desk.go(f"/tickets/{reference}", 410)
    expect(desk.page.locator("h1")).to_have_text(f"{reference} was deleted")
