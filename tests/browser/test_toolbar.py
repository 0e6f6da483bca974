"""The Markdown toolbar of tickets, comments, wiki pages and notes, by mouse and by key."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_accessibility import findings_in_both


@pytest.fixture
def write(desk, furnished):
    """Write into a field, and choose a part of it."""

    def written(field, text, chosen=None):
        start = text.index(chosen) if chosen else len(text)
        desk.page.fill(field, text)
        desk.page.evaluate(
            "([field, from, to]) => document.querySelector(field).setSelectionRange(from, to)",
            [field, start, start + len(chosen or "")],
        )
        return desk.page.locator(field)

    return written


@pytest.fixture
def editors(desk, furnished):
    """Open each of the four editors; its text field."""
    reference = furnished.ticket("Of this test")
    page = {"title": "Of this test", "body": "Text"}
    slug = furnished.call("POST", "/wiki/pages", page)["slug"]

    def opened(kind):
        path, field = {
            "ticket": ("/tickets/new?project=DEMO", "#body"),
            "comment": (f"/tickets/{reference}", "#comment-body"),
            "wiki": (f"/wiki/{slug}/edit", "#body"),
            "note": ("/projects/DEMO/sticky-notes", "#note-body"),
        }[kind]
        desk.go(path)
        return field

    return opened


@pytest.mark.parametrize("kind", ["ticket", "comment", "wiki", "note"])
def test_bold_italic_and_a_link_by_key_in_every_editor(desk, editors, write, kind):
    field = editors(kind)
    area = write(field, "very good", "good")
    desk.press("Control+b")
    expect(area).to_have_value("very **good**")
    desk.press("Control+b")
    expect(area).to_have_value("very good")
    desk.press("Control+i")
    expect(area).to_have_value("very _good_")
    desk.press("Control+z")
    expect(area).to_have_value("very good")
    write(field, "very good", "good")
    desk.press("Control+k")
    expect(area).to_have_value("very [good](url)")
    desk.page.keyboard.type("/wiki")
    expect(area).to_have_value("very [good](/wiki)")
    expect(desk.page.locator("dialog[data-behavior=palette]")).not_to_be_visible()
    # Elsewhere it is the palette.
    area.blur()
    desk.press("Control+k")
    expect(desk.page.locator("dialog[data-behavior=palette]")).to_be_visible()
    desk.press("Escape")
    write(field, "")


def test_lists_tasks_code_and_a_table_by_mouse(desk, editors, write):
    field = editors("comment")
    tools = desk.page.locator('[data-tools][aria-controls="comment-body"]')
    area = write(field, "one\ntwo", "one\ntwo")
    tools.get_by_label("List", exact=True).click()
    expect(area).to_have_value("- one\n- two")
    tools.get_by_label("Task list").click()
    expect(area).to_have_value("- [ ] one\n- [ ] two")
    tools.get_by_label("Task list").click()
    expect(area).to_have_value("one\ntwo")
    tools.get_by_label("Code").click()
    expect(area).to_have_value("```\none\ntwo\n```")
    write(field, "x = 1", "x = 1")
    tools.get_by_label("Code").click()
    expect(area).to_have_value("`x = 1`")
    write(field, "Numbers:")
    tools.get_by_label("Table").click()
    expect(area).to_have_value("Numbers:\n\n| Column | Column |\n| --- | --- |\n|  | |\n")
    write(field, "")


def test_a_page_is_linked_with_the_list_of_pages(desk, editors, write):
    field = editors("comment")
    area = write(field, "See ")
    desk.page.get_by_role("toolbar").get_by_label("Link to a page").click()
    expect(area).to_have_value("See [[]]")
    desk.page.keyboard.type("of this te")
    expect(desk.page.locator(".completions [role=option]").first).to_contain_text("Of this test")
    desk.press("Enter")
    expect(area).to_have_value("See [[of-this-test]]")
    write(field, "")


def test_the_toolbar_is_one_stop_and_arrows_walk_it(desk, editors):
    editors("wiki")
    tools = desk.page.get_by_role("toolbar")
    tools.get_by_label("Bold").focus()
    desk.press("ArrowRight", "ArrowRight")
    expect(tools.get_by_label("Code")).to_be_focused()
    desk.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    expect(tools.get_by_label("Link to a page")).to_be_focused()
    desk.press("Tab")
    expect(desk.page.locator("#body")).to_be_focused()
    assert not findings_in_both(desk.page)


def test_notes_offer_what_notes_show(desk, editors):
    editors("note")
    tools = desk.page.get_by_role("toolbar").first
    expect(tools.get_by_role("button")).to_have_count(5)
    expect(tools.get_by_label("Table")).to_have_count(0)


def test_in_the_preview_there_is_nothing_to_mark(desk, editors, write):
    field = editors("comment")
    write(field, "Text")
    desk.page.click("#comment-body-see")
    expect(desk.page.get_by_role("toolbar")).to_have_count(0)
    desk.page.click("#comment-body-write")
    expect(desk.page.get_by_role("toolbar")).to_be_visible()
    write(field, "")
