"""Text that is typed while a form is in flight."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.browser.test_session import DRAFTS
from tests.support.serving import until


@pytest.fixture
def ticket(wide, seeded):
    """A plain ticket for this test, opened."""
    reference = seeded.ticket("Of this test", body="Old text")
    wide.go(f"/tickets/{reference}")
    return wide, reference


@contextmanager
def on_its_way(wide, path):
    """Hold a request to ``path`` until the end of the block; yield a function that waits for it."""
    held = []

    def hold(route):
        held.append(route)

    wide.intercept(path, hold)
    yield lambda: until(lambda: wide.page.evaluate("1") and held)
    held[0].continue_()
    wide.page.unroute(path)


def test_words_after_a_comment_stay_in_the_box(ticket):
    wide, _ = ticket
    area = wide.page.locator("#comment-body")
    area.focus()
    wide.page.keyboard.type("First")
    with on_its_way(wide, "**/comments") as left:
        wide.press("Control+Enter")
        left()
        wide.page.keyboard.type(" and second")
        wide.press("ArrowLeft")
    expect(wide.page.locator(".comment-text")).to_have_text("First")
    expect(area).to_have_value("and second")
    expect(area).to_be_focused()
    wide.page.keyboard.type("!")
    expect(area).to_have_value("and secon!d")
    # They are saved as a draft like any other text.
    wide.page.wait_for_function(f"() => {DRAFTS}.length")
    wide.page.reload()
    expect(area).to_have_value("and secon!d")
    area.focus()
    wide.press("Control+Enter")
    expect(wide.page.locator(".comment-text")).to_have_text(["First", "and secon!d"])
    expect(area).to_have_value("")
    assert wide.page.evaluate(DRAFTS) == []


def test_other_words_in_the_place_of_a_comment_stay(ticket):
    wide, _ = ticket
    area = wide.page.locator("#comment-body")
    area.fill("First")
    with on_its_way(wide, "**/comments") as left:
        wide.press("Control+Enter")
        left()
        area.fill("Second")
    expect(wide.page.locator(".comment-text")).to_have_text("First")
    expect(area).to_have_value("Second")


def test_a_refused_comment_keeps_the_words_after_it(ticket):
    wide, _ = ticket
    area = wide.page.locator("#comment-body")
    area.fill("   ")
    with on_its_way(wide, "**/comments") as left:
        wide.press("Control+Enter")
        left()
        wide.page.keyboard.type("and second")
    expect(area).to_have_attribute("aria-invalid", "true")
    expect(area).to_have_value("   and second")


def test_the_next_subtask_is_typed_while_one_is_added(ticket):
    wide, _ = ticket
    title = wide.page.locator("#child-title")
    title.focus()
    wide.page.keyboard.type("One")
    with on_its_way(wide, "**/children") as left:
        wide.press("Enter")
        left()
        wide.page.keyboard.type("Two")
    expect(wide.page.locator(".children")).to_contain_text("One")
    expect(title).to_have_value("Two")
    expect(title).to_be_focused()
    wide.press("Enter")
    expect(wide.page.locator(".children .child-row")).to_have_count(2)
    expect(title).to_have_value("")


@pytest.mark.parametrize("name", ["title", "body"])
def test_an_editor_that_is_saved_takes_no_more_words(ticket, name):
    wide, _ = ticket
    wide.page.click(f"#edit-{name}")
    field, place = wide.page.locator("#value"), wide.page.locator(f"#ticket-field-{name}")
    field.fill("New text")
    with on_its_way(wide, f"**/fields/{name}") as left:
        wide.press("Control+Enter")
        left()
        expect(field).to_be_focused()
        expect(field).not_to_be_editable()
        expect(place.get_by_text("Saving…")).to_be_visible()
    expect(place.locator("[data-edit]")).to_be_focused()
    expect(place).to_contain_text("New text")
    expect(place.get_by_text("Saving…")).to_have_count(0)


def test_an_editor_without_a_connection_is_written_on_in(ticket):
    wide, _ = ticket
    wide.page.click("#edit-body")
    field = wide.page.locator("#value")
    field.fill("New text")
    wide.intercept("**/fields/body", lambda route: route.abort())
    wide.press("Control+Enter")
    expect(wide.toast()).to_contain_text("No connection")
    wide.page.unroute("**/fields/body")
    expect(field).to_be_focused()
    wide.page.keyboard.type(", longer")
    expect(wide.page.get_by_text("Saving…")).to_have_count(0)
    wide.press("Control+Enter")
    expect(wide.page.locator("#ticket-field-body .markdown")).to_have_text("New text, longer")
    wide.problems.clear()


def test_an_edited_comment_takes_no_more_words(ticket, seeded):
    wide, reference = ticket
    seeded.call("POST", f"/tickets/{reference}/comments", {"body": "One"})
    wide.page.reload()
    wide.page.click("[aria-label='Edit this comment']")
    field = wide.page.locator(".comment textarea")
    field.fill("Two")
    with on_its_way(wide, "**/comments/*/edit") as left:
        wide.press("Control+Enter")
        left()
        expect(field).not_to_be_editable()
    expect(wide.page.locator(".comment-text")).to_have_text("Two")


def test_words_after_a_note_stay_in_the_box(wide):
    wide.go("/projects/DEMO/sticky-notes")
    area = wide.page.locator("#note-body")
    area.focus()
    wide.page.keyboard.type("One")
    with on_its_way(wide, "**/sticky-notes") as left:
        wide.press("Control+Enter")
        left()
        wide.page.keyboard.type("\nTwo")
    expect(wide.page.locator("#notes .note")).to_have_count(1)
    expect(area).to_have_value("Two")
    expect(area).to_be_focused()


def test_a_pasted_text_that_fills_a_field_is_said_to(wide):
    wide.go("/tickets/new?project=DEMO")
    text, title = wide.page.get_by_label("Description"), wide.page.get_by_label("Title")
    for length, held, is_full in ((199, 199, False), (201, 200, True)):
        text.fill("x" * length)
        for keys in ("Control+A", "Control+X"):
            text.press(keys)
        title.fill("replaced")
        for keys in ("Control+A", "Control+V"):
            title.press(keys)
        expect(title).to_have_value("x" * held)
        expect(wide.page.locator(".toast")).to_have_count(int(is_full))
    expect(wide.toast()).to_contain_text("Only 200 characters fit here.")


def test_a_refusal_that_comes_later_leaves_the_focus_where_it_is(ticket):
    wide, _ = ticket
    wide.page.click("#links summary")
    wide.page.fill("#link-url", "nowhere")
    with on_its_way(wide, "**/links") as left:
        wide.press("Enter")
        left()
        wide.page.focus("#comment-body")
        wide.page.keyboard.type("Meanwhile")
    expect(wide.page.locator("#url-problem")).to_be_visible()
    expect(wide.page.locator("#comment-body")).to_be_focused()
    # Else it goes to what is wrong.
    wide.page.focus("#link-title")
    wide.press("Enter")
    expect(wide.page.locator("#link-url")).to_be_focused()
