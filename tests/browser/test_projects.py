"""The list of projects; the overview, activity and epics of one; sessions; the log on a phone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.seed import PASSWORD
from tests.browser.test_keyboard_only import reach


@pytest.fixture(scope="module")
def busy(seeded):
    """A project with a second epic, and with enough events for a second page of activity."""
    seeded.ticket("Another epic", type="epic", due_date="2031-05-01")
    for number in range(60):
        seeded.ticket(f"Filler {number}")
    return seeded


def test_a_project_is_made_from_the_list_and_is_there(wide):
    wide.go("/projects")
    wide.page.get_by_role("link", name="New project").click()
    wide.page.locator("#name").fill("Garden of the office")
    expect(wide.page.locator("#key")).to_have_value("GOTO")
    wide.page.locator("#key").fill("DEMO")
    wide.page.get_by_role("button", name="Create project").click()
    expect(wide.page.locator("main")).to_contain_text("The key DEMO is already taken.")
    expect(wide.page.locator("#name")).to_have_value("Garden of the office")
    wide.page.locator("#key").fill("YARD")
    wide.page.get_by_role("button", name="Create project").click()
    expect(wide.page).to_have_url(re.compile("/projects/YARD/"))
    wide.go("/projects")
    card = wide.page.locator(".project-card", has_text="Garden of the office")
    expect(card).to_contain_text("0 backlog")
    card.get_by_role("link").click()
    expect(wide.page).to_have_url(re.compile("/projects/YARD/board$"))


def test_a_project_is_made_and_opened_by_keys(wide):
    wide.go("/projects")
    reach(wide, "New project", "link")
    wide.press("Enter")
    expect(wide.page.locator("#name")).to_be_focused()
    wide.page.keyboard.type("Roof")
    wide.press("Enter")
    expect(wide.page).to_have_url(re.compile("/projects/ROOF/"))
    wide.go("/projects")
    reach(wide, "Roof", "link")
    wide.press("Enter")
    expect(wide.page).to_have_url(re.compile("/projects/ROOF/board$"))


def test_a_project_is_made_without_a_script(plain):
    plain.go("/projects/new")
    plain.page.locator("#name").fill("Cellar")
    plain.page.locator("#key").fill("CELL")
    plain.page.get_by_role("button", name="Create project").click()
    expect(plain.page).to_have_url(re.compile("/projects/CELL/"))


def test_the_overview_leads_to_what_happened_page_by_page(wide, busy):
    wide.go("/projects/DEMO")
    expect(wide.page.locator("main")).to_contain_text("bot-dev-1")
    wide.page.locator("main").get_by_role("link", name=re.compile("All activity|activity")).click()
    expect(wide.page.locator("h1")).to_have_text("Activity")
    expect(wide.page.locator("main")).to_contain_text("Filler 59")
    wide.page.get_by_role("link", name="Older").click()
    expect(wide.page.locator("main")).not_to_contain_text("Filler 59")
    wide.page.go_back()
    expect(wide.page.locator("main")).to_contain_text("Filler 59")
    wide.page.get_by_role("link", name="Older").focus()
    wide.press("Enter")
    expect(wide.page.get_by_role("link", name="Newest")).to_be_visible()
    wide.page.get_by_role("link", name="Newest").click()
    expect(wide.page.locator("main")).to_contain_text("Filler 59")


def test_an_epic_opens_by_mouse_and_by_key(wide, busy):
    wide.go("/projects/DEMO/epics")
    # The newest epic is open; the other one is loaded when it opens.
    other = wide.page.locator(".epic-node", has_text="The epic above")
    expect(other.get_by_text("A rich ticket")).to_have_count(0)
    other.locator("summary").first.click()
    expect(other.get_by_text("A rich ticket")).to_be_visible()
    wide.page.reload()
    other.locator("summary").first.focus()
    wide.press("Enter")
    expect(other.get_by_text("A rich ticket")).to_be_visible()
    wide.page.get_by_role("link", name="90 days").click()
    expect(wide.page).to_have_url(re.compile("days=90"))
    expect(wide.page.get_by_role("link", name="90 days")).to_have_attribute("aria-current", "true")
    wide.page.get_by_text("As a table").last.click()
    expect(wide.page.get_by_role("columnheader", name="In progress")).to_be_visible()


def another_session(seeded):
    login = {"username": "ada", "password": PASSWORD}
    agent = {"User_Agent": "A borrowed laptop"}
    answer = seeded.served.request("POST", "/api/v1/auth/login", login, **agent)
    assert answer.status == 200
    return answer.headers["Set-Cookie"].partition(";")[0]


def is_in(seeded, cookie):
    return seeded.served.request("GET", "/api/v1/auth/me", Cookie=cookie).status == 200


@pytest.mark.parametrize("way", ["mouse", "keys", "no script"])
def test_a_session_that_one_does_not_know_is_ended(wide, plain, seeded, way):
    cookie = another_session(seeded)
    here = plain if way == "no script" else wide
    here.go("/profile/sessions")
    end = here.page.get_by_role("button", name="Log out A borrowed laptop")
    if way == "keys":
        reach(here, "Log out A borrowed laptop")
        here.press("Enter")
    else:
        end.click()
    expect(here.page.locator(".notice")).to_contain_text("Session ended.")
    expect(end).to_have_count(0)
    assert not is_in(seeded, cookie)


def test_the_log_is_read_filtered_and_undone_on_a_phone(phone, seeded):
    reference = seeded.ticket("By phone")
    seeded.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"}, as_bot=True)
    phone.go("/audit")
    phone.page.locator(".audit-filter summary", has_text="Ticket").tap()
    phone.page.get_by_label("Ticket", exact=True).fill(reference)
    phone.press("Enter")
    expect(phone.page.locator(".audit-row")).to_have_count(2)
    assert phone.overflow() <= 0
    phone.page.get_by_role("link", name="Details of ticket.updated").tap()
    phone.page.locator("#dialog").get_by_role("button", name="Undo").tap()
    expect(phone.page.locator("main .badge", has_text="undone")).to_be_visible()
    assert seeded.call("GET", f"/tickets/{reference}")["priority"] == "medium"
