"""Saving a text while files are uploaded into it: the form waits for them, and is sent once."""

import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings
from tests.browser.test_files import PASTE, keep
from tests.files.hostile import picture
from tests.support.serving import until

UPLOADS = "**/api/v1/**/files"
LINK = r"!\[image\.png\]\(/files/[0-9a-f-]{36}\)"
IMAGE = {"name": "a.png", "mimeType": "image/png", "buffer": picture("PNG", (60, 40))}
REFUSED = '{"error": {"code": "validation_failed", "message": "The disk is full."}}'


@contextmanager
def held_uploads(wide):
    """Hold uploads; yield those that are held."""
    held = []

    def hold(route):
        held.append(route)

    wide.intercept(UPLOADS, hold)
    yield held
    wide.page.unroute(UPLOADS)


@contextmanager
def uploading(wide, area_id):
    """Paste a picture and hold its upload, which is yielded."""
    with held_uploads(wide) as held:
        wide.page.evaluate(PASTE, [area_id, list(IMAGE["buffer"])])
        # Playwright calls the route only while it evaluates something.
        until(lambda: wide.page.evaluate("1") and held)
        expect(wide.page.locator(f"#{area_id}")).to_have_value(re.compile("Uploading image.png…"))
        yield held[0]


def expect_waiting(page, name="image.png"):
    """Check that the page says, and announces, what its form waits for."""
    words = f"Waiting for {name}…"
    note = page.locator("form span", has_text="Waiting")
    expect(note).to_have_text(words)
    expect(note).to_be_visible()
    expect(page.locator("[data-behavior=announcements]")).to_have_text(words)


@pytest.fixture(name="ticket")
def _ticket(wide, seeded):
    reference = seeded.ticket("With pictures", body="It looks like this:")
    wide.go(f"/tickets/{reference}")
    return reference


@pytest.mark.parametrize("by", ["button", "keys"])
def test_a_comment_waits_for_the_picture_in_it(wide, ticket, by):
    page = wide.page
    page.locator("#comment-body").fill("Look: ")
    sent = []
    page.on("request", lambda one: one.url.endswith("/comments") and sent.append(one))
    with uploading(wide, "comment-body") as upload:
        # A second press sends nothing either.
        for _ in range(2):
            if by == "keys":
                page.locator("#comment-body").press("Control+Enter")
            else:
                page.get_by_role("button", name="Comment", exact=True).click()
            expect_waiting(page)
        assert not sent
        page.set_viewport_size({"width": 360, "height": 780})
        keep(page, "waiting")
        assert wide.overflow() <= 0
        page.set_viewport_size({"width": 1440, "height": 900})
        assert not findings(page)
        upload.continue_()
        expect(page.locator("#thread .markdown img")).to_have_count(1)
    expect(page.locator("#comment-body")).to_have_value("")
    expect(page.locator("form span", has_text="Waiting")).to_have_count(0)
    expect(page.locator("#thread")).not_to_contain_text("Uploading")
    assert len(sent) == 1


def test_a_comment_that_waits_still_moves_the_ticket(wide, ticket):
    page = wide.page
    page.locator("#comment-body").fill("Look: ")
    with uploading(wide, "comment-body") as upload:
        page.get_by_text("Comment and move to…").click()
        page.locator("#comment-states").get_by_role("button", name="Done").click()
        expect_waiting(page)
        upload.continue_()
        expect(page.locator("#thread .markdown img")).to_have_count(1)
    expect(page.locator("#edit-state")).to_contain_text("Done")


def test_a_text_waits_for_each_of_several_files(wide, ticket):
    page = wide.page
    page.click("#edit-body")
    with held_uploads(wide) as held:
        with page.expect_file_chooser() as chooser:
            page.locator("[data-attach=value]").click()
        chooser.value.set_files([IMAGE, {**IMAGE, "name": "b.png"}])
        until(lambda: page.evaluate("1") and held)
        page.locator("#value").press("Control+Enter")
        expect_waiting(page, "a.png")
        held[0].continue_()
        expect_waiting(page, "b.png")
        until(lambda: page.evaluate("1") and len(held) == 2)
        held[1].continue_()
        expect(page.locator("#ticket-field-body img")).to_have_count(2)


@pytest.mark.parametrize("how", ["refused", "canceled"])
def test_a_text_without_its_picture_is_not_sent(wide, ticket, how):
    page = wide.page
    area = page.locator("#comment-body")
    area.fill("Look: ")
    with uploading(wide, "comment-body") as upload:
        area.press("Control+Enter")
        expect_waiting(page)
        if how == "refused":
            upload.fulfill(status=422, body=REFUSED, content_type="application/json")
        else:
            page.locator(".upload").get_by_role("button", name="Cancel").click()
        expect(wide.toast().last).to_contain_text(
            "image.png is missing, so nothing was saved. Your text is still here."
        )
    expect(area).to_have_value("Look: ")
    expect(page.locator("form span", has_text="Waiting")).to_have_count(0)
    expect(page.locator("#thread .markdown")).to_have_count(0)
    # The next press sends what is there.
    area.press("Control+Enter")
    expect(page.locator("#thread .markdown")).to_have_text("Look:")


def test_a_picture_arrives_in_an_editor_that_was_opened_again(wide, ticket):
    page = wide.page
    page.click("#edit-body")
    area = page.locator("#value")
    expect(area).to_be_focused()
    with uploading(wide, "value") as upload:
        # The draft is saved half a second after the last key.
        page.wait_for_function("() => Object.values(sessionStorage).join().includes('Uploading')")
        area.press("Escape")
        expect(area).to_have_count(0)
        page.click("#edit-body")
        expect(area).to_have_value(re.compile("Uploading"))
        area.press("Control+Enter")
        expect_waiting(page)
        upload.continue_()
        expect(page.locator("#ticket-field-body img")).to_have_count(1)


def test_a_wiki_page_waits_for_the_picture_in_it(wide, seeded):
    made = seeded.call("POST", "/wiki/pages", {"title": "Pictures", "body": "Look: "})
    page = wide.page
    wide.go(f"/wiki/{made['slug']}/edit")
    area = page.locator("#body")
    area.press("Control+End")
    with uploading(wide, "body") as upload:
        wide.press("Control+s")
        expect_waiting(page)
        page.get_by_role("button", name="Save page").click()
        expect_waiting(page)
        keep(page, "wiki")
        with page.expect_navigation():
            upload.continue_()
    expect(page.locator(".markdown img")).to_have_count(1)
    body = seeded.call("GET", f"/wiki/pages/{made['id']}")["body"]
    assert re.fullmatch(f"Look: {LINK}", body.strip())


def test_a_draft_forgets_an_upload_that_ended_with_its_page(wide, ticket):
    page = wide.page
    page.locator("#comment-body").fill("Look: ")
    with uploading(wide, "comment-body"):
        page.locator("#comment-body").press_sequentially(" and so on")
    wide.go(f"/tickets/{ticket}")
    expect(page.locator("#comment-body")).to_have_value("Look:  and so on")


def test_a_draft_keeps_what_only_looks_like_an_upload(wide, ticket):
    page = wide.page
    text = "The label says [Uploading report.pdf…] forever"
    page.locator("#comment-body").fill(text)
    wide.go(f"/tickets/{ticket}")
    expect(page.locator("#comment-body")).to_have_value(text)
    with uploading(wide, "comment-body"):
        page.locator("#comment-body").press_sequentially("!")
        expect(page.locator("#comment-body")).to_have_value(re.compile("Uploading image.png"))
    for _ in range(2):
        wide.go(f"/tickets/{ticket}")
        expect(page.locator("#comment-body")).to_have_value(f"{text}!")


def test_a_form_that_waits_is_not_sent_while_its_text_goes_on(wide, ticket):
    page = wide.page
    area = page.locator("#comment-body")
    area.fill("Look: ")
    sent = []
    page.on("request", lambda one: one.url.endswith("/comments") and sent.append(one))
    with uploading(wide, "comment-body") as upload:
        area.press("Control+Enter")
        expect_waiting(page)
        area.press("Control+End")
        area.press_sequentially(" and half a sen")
        expect(wide.toast()).to_contain_text("nothing was saved. Save again when you are done.")
        expect(page.locator("form span", has_text="Waiting")).to_have_count(0)
        upload.continue_()
        expect(area).to_have_value(re.compile(f"Look: {LINK} and half a sen"))
    area.press_sequentially("tence")
    assert not sent
    area.press("Control+Enter")
    expect(page.locator("#thread .markdown")).to_contain_text("and half a sentence")
    assert len(sent) == 1


def test_a_file_that_is_added_while_a_form_waits_is_waited_for(wide, ticket):
    page = wide.page
    area = page.locator("#comment-body")
    area.fill("Look: ")
    with held_uploads(wide) as held:
        for count in (1, 2):
            wide.page.evaluate(PASTE, ["comment-body", list(IMAGE["buffer"])])
            until(lambda count=count: page.evaluate("1") and len(held) == count)
            if count == 1:
                area.press("Control+Enter")
                expect_waiting(page)
        for one in held:
            one.continue_()
        expect(page.locator("#thread .markdown img")).to_have_count(2)
