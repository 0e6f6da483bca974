"""The wiki in a browser: writing with completion and preview, without losing text."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings

WIKI = "/projects/DEMO/wiki"


@pytest.fixture(scope="module")
def seeded(seeded):
    """The seeded server, with a few pages."""
    project = seeded.ids["project"]
    body = "".join(f"## Part {number}\n\n{'Words. ' * 120}\n\n" for number in range(1, 6))
    for title, text in (
        (
            "Setup guide",
            f"{body}[[no-such-page]] [[ticket:DEMO-2]]\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        ),
        ("Setup of servers", "See [[setup-guide]]."),
        ("Setup of desks", "See [[setup-guide]]."),
        ("Crowded", "One\n\nTwo\n"),
    ):
        made = seeded.call(
            "POST", "/wiki/pages", {"title": title, "body": text, "project_id": project}
        )
        seeded.ids[title] = made["id"]
    seeded.call(
        "PATCH",
        f"/wiki/pages/{seeded.ids['Crowded']}",
        {"body": "One\n\nTwo and a half\n", "summary": "By a bot"},
        as_bot=True,
    )
    return seeded


def test_a_link_is_completed_by_keys(wide):
    wide.go(f"{WIKI}/new")
    area = wide.page.locator("#body")
    area.fill("")
    area.press_sequentially("See [[setup of")
    options = wide.page.locator(".completions [role=option]")
    expect(options).to_have_count(2)
    wide.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    chosen = options.nth(1).get_attribute("data-insert")
    wide.press("Enter")
    expect(area).to_have_value(f"See [[{chosen}]]")
    expect(wide.page.locator(".completions")).to_be_hidden()
    area.press_sequentially(" and [[ticket:rich")
    expect(options.first).to_contain_text("A rich ticket")
    assert findings(wide.page) == []
    wide.press("Escape")
    expect(wide.page.locator(".completions")).to_be_hidden()
    expect(area).to_be_focused()
    assert area.input_value().endswith("[[ticket:rich")
    area.fill("")


def test_the_preview_follows_the_text(wide):
    wide.go(f"{WIKI}/new")
    wide.page.locator("#body").press_sequentially("Hello preview")
    expect(wide.page.locator("#preview")).to_contain_text("Hello preview")
    expect(wide.page.locator("#body")).to_be_focused()
    wide.page.locator("#body").fill("")


def test_a_mark_goes_around_the_selection(wide):
    wide.go(f"{WIKI}/new")
    area = wide.page.locator("#body")
    area.fill("bold word")
    area.evaluate("area => area.setSelectionRange(0, 4)")
    wide.page.get_by_role("button", name="Bold").click()
    expect(area).to_have_value("**bold** word")
    wide.press("Control+z")
    expect(area).to_have_value("bold word")
    area.fill("")


def test_ctrl_s_saves_and_e_edits(wide):
    wide.go(f"{WIKI}/crowded")
    wide.press("e")
    wide.page.wait_for_url("**/edit")
    expect(wide.page.locator("#body")).to_be_focused()
    wide.press("Control+a")
    wide.page.keyboard.type("One\n\nSaved by a key\n")
    wide.press("Control+s")
    wide.page.wait_for_url(f"**{WIKI}/crowded")
    expect(wide.page.locator(".wiki-main")).to_contain_text("Saved by a key")
    expect(wide.page.locator("h1")).to_be_focused()
    # A page that was not just saved leaves the focus where the browser puts it.
    wide.page.reload()
    assert wide.page.evaluate("document.activeElement === document.body")


def test_leaving_with_unsaved_text_asks(wide):
    wide.go(f"{WIKI}/crowded/edit")
    asked = []

    def answer(dialog):
        asked.append(dialog.type)
        dialog.dismiss()

    wide.page.on("dialog", answer)
    wide.page.locator("#body").press_sequentially("More")
    wide.page.get_by_role("link", name="My work").or_(wide.page.locator(".brand")).first.click()
    wide.page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    assert wide.page.url.endswith("/edit")
    wide.page.get_by_role("link", name="Cancel").click()
    assert asked == ["beforeunload", "confirm"]
    assert wide.page.url.endswith("/edit")
    wide.page.remove_listener("dialog", answer)
    wide.page.on("dialog", lambda dialog: dialog.accept())
    wide.page.get_by_role("link", name="Cancel").click()
    wide.page.wait_for_url(f"**{WIKI}/crowded")


def test_two_people_save_and_nothing_is_lost(wide, seeded):
    page = seeded.call("POST", "/wiki/pages", {"title": "Shared", "body": "One\n\nTwo\n"})
    wide.go("/wiki/shared/edit")
    area = wide.page.locator("#body")
    area.fill("One\n\nTwo by Ada\n")
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another\n\nTwo\n"})
    wide.press("Control+s")
    expect(wide.page.locator("h1")).to_contain_text("Someone saved this page before you")
    expect(wide.page.locator("#body")).to_have_value("One by another\n\nTwo by Ada\n")
    assert findings(wide.page) == []
    wide.page.get_by_role("button", name="Save both").click()
    wide.page.wait_for_url("**/wiki/shared")
    saved = seeded.call("GET", f"/wiki/pages/{page['id']}")["body"]
    assert saved == "One by another\n\nTwo by Ada\n"


def test_a_preview_takes_no_focus(wide, seeded):
    seeded.call("POST", "/wiki/pages", {"title": "Seen", "body": "One\n"})
    wide.go("/wiki/seen/edit")
    area = wide.page.locator("#body")
    area.fill("Two\n")
    area.blur()
    expect(wide.page.locator("#preview")).to_have_text("Two")
    wide.arrived()
    assert wide.page.evaluate("document.activeElement === document.body")


def test_one_is_told_while_writing_that_another_saved(wide, seeded):
    page = seeded.call("POST", "/wiki/pages", {"title": "Told", "body": "One\n\nTwo\n"})
    wide.go("/wiki/told/edit")
    area = wide.page.locator("#body")
    area.fill("One\n\nTwo by Ada\n")
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another\n\nTwo\n"})
    wide.ask_for_news()
    told = wide.page.get_by_role("status").filter(has_text="saved this page")
    expect(told).to_be_in_viewport()
    expect(area).to_be_focused()
    expect(area).to_have_value("One\n\nTwo by Ada\n")
    assert findings(wide.page) == []
    # The message does not take the focus when nothing has it.
    area.blur()
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One by another\n\n2\n"})
    wide.ask_for_news()
    expect(told.locator("a[href*='to=3']")).to_be_visible()
    assert wide.page.evaluate("document.activeElement === document.body")
    with wide.page.context.expect_page() as opened:
        told.get_by_role("link", name="View changes").click()
    expect(opened.value.locator(".diff ins").first).to_have_text(" by another")
    opened.value.close()
    expect(area).to_have_value("One\n\nTwo by Ada\n")
    area.fill("One\n\nTwo\n")


def test_a_draft_of_an_older_revision_comes_back_as_a_conflict(wide, seeded):
    page = seeded.call("POST", "/wiki/pages", {"title": "Drafted", "body": "One\n\nTwo\n"})
    wide.go("/wiki/drafted/edit")
    wide.page.locator("#body").fill("One\n\nTwo in a draft\n")
    wide.page.wait_for_timeout(700)
    seeded.call("PATCH", f"/wiki/pages/{page['id']}", {"body": "One anew\n\nTwo\n"})
    wide.page.on("dialog", lambda dialog: dialog.accept())
    wide.go("/wiki/drafted/edit")
    expect(wide.page.locator("#body")).to_have_value("One\n\nTwo in a draft\n")
    expect(wide.page.locator("#preview")).to_contain_text("Two in a draft")
    expect(wide.page.get_by_text("from before the last change")).to_be_visible()
    wide.press("Control+s")
    expect(wide.page.locator("#body")).to_have_value("One anew\n\nTwo in a draft\n")


def test_code_and_the_addresses_of_headings_are_copied(wide, seeded):
    body = "## Install\n\n```sh\nmake setup\nmake run\n```\n\n### And then\n\nRead.\n"
    seeded.call("POST", "/wiki/pages", {"title": "Copying", "body": body})
    wide.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wide.go("/wiki/copying")
    wide.page.locator(".wiki-main pre").hover()
    wide.page.get_by_role("button", name="Copy", exact=True).click()
    expect(wide.toast()).to_contain_text("Copied")
    assert wide.page.evaluate("navigator.clipboard.readText()") == "make setup\nmake run"
    link = wide.page.locator("h3, h4").filter(has_text="And then").get_by_role("link")
    link.focus()
    expect(link).to_have_css("opacity", "1")
    wide.press("Enter")
    wide.page.wait_for_url("**/wiki/copying#h-and-then")
    assert wide.page.evaluate("navigator.clipboard.readText()") == wide.page.url
    assert findings(wide.page) == []


def test_writing_works_without_a_script(plain):
    plain.go("/wiki/new")
    plain.page.fill("#title", "Plain page")
    plain.page.fill("#body", "Written without a script")
    plain.page.get_by_role("button", name="Create page").click()
    expect(plain.page.locator("h1")).to_have_text("Plain page")
    plain.page.get_by_role("link", name="Edit").click()
    plain.page.fill("#body", "Changed without a script")
    plain.page.get_by_role("button", name="Save page").click()
    expect(plain.page.locator(".wiki-main")).to_contain_text("Changed without")
    plain.page.get_by_role("link", name="History").click()
    plain.page.get_by_role("button", name="Compare selected revisions").click()
    expect(plain.page.locator(".diff del")).to_contain_text("Written")
    plain.page.get_by_role("button", name="Restore r1").click()
    expect(plain.page.locator(".wiki-main")).to_contain_text("Written without")
