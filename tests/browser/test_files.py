"""Files on a ticket: pasted, chosen, viewed in full size, deleted; all also without scripts."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings_in_both
from tests.browser.browser_page import WIDE
from tests.files.hostile import animation, picture

# Puts a file into the clipboard of a paste, as a screenshot program does.
PASTE = """([target, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "image.png", { type: "image/png" }));
  const options = { clipboardData: data, bubbles: true, cancelable: true };
  const paste = new ClipboardEvent("paste", options);
  document.getElementById(target).dispatchEvent(paste);
}"""


def keep(page, name):
    """Save a picture of the page in the directory PICTURES, if it is set."""
    folder = os.environ.get("PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.fixture(name="ticket")
def _ticket(wide, seeded):
    reference = seeded.ticket("With pictures", body="It looks like this:")
    wide.go(f"/tickets/{reference}")
    return reference


def test_files_from_the_clipboard_to_the_gallery_and_away(wide, ticket, seeded):
    page = wide.page
    area = page.locator("#comment-body")
    area.fill("Look: ")
    area.press("End")
    page.evaluate(PASTE, ["comment-body", list(picture("PNG", (600, 400)))])
    expect(area).to_have_value(re.compile(r"^Look: !\[image\.png\]\(/files/[0-9a-f-]{36}\)$"))
    files = page.locator(".file-list .file")
    expect(files).to_have_count(1)
    page.get_by_role("button", name="Comment", exact=True).click()
    shown = page.locator("#thread .markdown img")
    expect(shown).to_have_count(1)
    shown.scroll_into_view_if_needed()
    expect(shown).to_have_js_property("naturalWidth", 600)
    with page.expect_file_chooser() as chooser:
        page.locator("[data-pick]").press("Enter")
    chooser.value.set_files(
        [
            {"name": "moves.gif", "mimeType": "image/gif", "buffer": animation("GIF")},
            {"name": "a page.html", "mimeType": "text/html", "buffer": b"<script>1</script>"},
        ]
    )
    expect(files).to_have_count(3)
    expect(page.locator("[data-pick]")).to_be_focused()
    keep(page, "wide")
    assert not findings_in_both(page)
    gallery = page.locator("dialog.gallery")
    page.locator("[data-image]").last.click()
    expect(gallery.locator("p")).to_contain_text("of 2")
    first = gallery.locator("img").get_attribute("src")
    keep(page, "gallery")
    wide.press("ArrowRight")
    expect(gallery.locator("img")).not_to_have_attribute("src", first or "")
    wide.press("ArrowLeft")
    expect(gallery.locator("img")).to_have_attribute("src", first or "")
    wide.press("Escape")
    expect(gallery).to_have_count(0)
    page.get_by_label("Delete a page.html").click()
    page.get_by_role("button", name="Delete file").click()
    expect(files).to_have_count(2)
    with page.expect_file_chooser() as chooser:
        page.locator("[data-pick]").click()
    chooser.value.set_files([{"name": "none.txt", "mimeType": "text/plain", "buffer": b""}])
    expect(wide.toast()).to_contain_text("none.txt: The file is empty.")
    page.emulate_media(color_scheme="dark")
    keep(page, "dark")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    assert wide.overflow() <= 0
    keep(page, "phone")
    page.set_viewport_size(WIDE)


def test_a_file_for_what_is_not_saved_yet_is_not_dropped_in_silence(wide, seeded):
    wide.go("/tickets/new?project=DEMO")
    wide.page.evaluate(PASTE, ["body", list(picture("PNG", (60, 40)))])
    expect(wide.page.locator(".toast.error")).to_contain_text("Save this first, then add files.")


def test_files_without_scripts(plain, seeded):
    reference = seeded.ticket("Without scripts")
    page = plain.page
    plain.go(f"/tickets/{reference}")
    page.get_by_role("link", name="Add files").click()
    words = {"name": "words.txt", "mimeType": "text/plain", "buffer": b"Words"}
    page.get_by_label("File", exact=True).set_input_files([words])
    page.get_by_role("button", name="Add file").click()
    expect(page.locator(".file-list .file")).to_have_count(1)
    keep(page, "plain")
    page.get_by_label("Delete words.txt").click()
    page.get_by_role("button", name="Delete file").click()
    expect(page.locator(".file-list")).to_have_count(0)
