"""The Markdown toolbar of tickets, comments, wiki pages and notes, by mouse and keyboard."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings_in_both


@pytest.fixture
def write(wide, seeded):
    """Write into a field and select a part of it."""

    def written(field, text, chosen=None):
        start = text.index(chosen) if chosen else len(text)
        wide.page.fill(field, text)
        wide.page.evaluate(
            "([field, from, to]) => document.querySelector(field).setSelectionRange(from, to)",
            [field, start, start + len(chosen or "")],
        )
        return wide.page.locator(field)

    return written


@pytest.fixture
def editors(wide, seeded):
    """Open each of the four editors and return its text field."""
    reference = seeded.ticket("Of this test")
    page = {"title": "Of this test", "body": "Text"}
    slug = seeded.call("POST", "/wiki/pages", page)["slug"]

    def opened(kind):
        path, field = {
            "ticket": ("/tickets/new?project=DEMO", "#body"),
            "comment": (f"/tickets/{reference}", "#comment-body"),
            "wiki": (f"/wiki/{slug}/edit", "#body"),
            "note": ("/projects/DEMO/sticky-notes", "#note-body"),
        }[kind]
        wide.go(path)
        return field

    return opened


@pytest.mark.parametrize("kind", ["ticket", "comment", "wiki", "note"])
def test_bold_italic_and_a_link_by_key_in_every_editor(wide, editors, write, kind):
    field = editors(kind)
    area = write(field, "very good", "good")
    wide.press("Control+b")
    expect(area).to_have_value("very **good**")
    wide.press("Control+b")
    expect(area).to_have_value("very good")
    wide.press("Control+i")
    expect(area).to_have_value("very _good_")
    wide.press("Control+z")
    expect(area).to_have_value("very good")
    write(field, "very good", "good")
    wide.press("Control+k")
    expect(area).to_have_value("very [good](url)")
    wide.page.keyboard.type("/wiki")
    expect(area).to_have_value("very [good](/wiki)")
    expect(wide.page.locator("dialog[data-behavior=palette]")).not_to_be_visible()
    # Elsewhere the same keys open the palette.
    area.blur()
    wide.press("Control+k")
    expect(wide.page.locator("dialog[data-behavior=palette]")).to_be_visible()
    wide.press("Escape")
    write(field, "")


def test_lists_tasks_code_and_a_table_by_mouse(wide, editors, write):
    field = editors("comment")
    tools = wide.page.locator('[data-tools][aria-controls="comment-body"]')
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


def test_a_page_is_linked_with_the_list_of_pages(wide, editors, write):
    field = editors("comment")
    area = write(field, "See ")
    wide.page.get_by_role("toolbar").get_by_label("Link to a page").click()
    expect(area).to_have_value("See [[]]")
    wide.page.keyboard.type("of this te")
    expect(wide.page.locator(".completions [role=option]").first).to_contain_text("Of this test")
    wide.press("Enter")
    expect(area).to_have_value("See [[of-this-test]]")
    write(field, "")


def test_the_toolbar_is_one_tab_stop_with_arrow_navigation(wide, editors):
    editors("wiki")
    tools = wide.page.get_by_role("toolbar")
    tools.get_by_label("Bold").focus()
    wide.press("ArrowRight", "ArrowRight")
    expect(tools.get_by_label("Code")).to_be_focused()
    wide.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    expect(tools.get_by_label("Add files")).to_be_focused()
    wide.press("ArrowLeft")
    expect(tools.get_by_label("Link to a page")).to_be_focused()
    wide.press("Tab")
    expect(wide.page.locator("#body")).to_be_focused()
    assert not findings_in_both(wide.page)


def test_the_toolbar_of_notes_has_only_supported_formats(wide, editors):
    editors("note")
    tools = wide.page.get_by_role("toolbar").first
    expect(tools.get_by_role("button")).to_have_count(5)
    expect(tools.get_by_label("Table")).to_have_count(0)


def test_the_preview_hides_the_toolbar(wide, editors, write):
    field = editors("comment")
    write(field, "Text")
    wide.page.click("#comment-body-see")
    expect(wide.page.get_by_role("toolbar")).to_have_count(0)
    wide.page.click("#comment-body-write")
    expect(wide.page.get_by_role("toolbar")).to_be_visible()
    write(field, "")
