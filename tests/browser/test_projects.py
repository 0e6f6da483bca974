"""The list of projects, one's overview, activity and epics, one's sessions, the log on a phone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.furniture import PASSWORD
from tests.browser.test_by_keyboard import reach


@pytest.fixture(scope="module")
def busy(furnished):
    """So many events that the project's activity has a second page, and a second epic."""
    furnished.ticket("Another epic", type="epic", due_date="2031-05-01")
    for number in range(60):
        furnished.ticket(f"Filler {number}")
    return furnished


def test_a_project_is_made_from_the_list_and_is_there(desk):
    desk.go("/projects")
    desk.page.get_by_role("link", name="New project").click()
    desk.page.locator("#name").fill("Garden of the office")
    expect(desk.page.locator("#key")).to_have_value("GOTO")
    desk.page.locator("#key").fill("DEMO")
    desk.page.get_by_role("button", name="Create project").click()
    expect(desk.page.locator("main")).to_contain_text("in use")
    expect(desk.page.locator("#name")).to_have_value("Garden of the office")
    desk.page.locator("#key").fill("YARD")
    desk.page.get_by_role("button", name="Create project").click()
    expect(desk.page).to_have_url(re.compile("/projects/YARD/"))
    desk.go("/projects")
    card = desk.page.locator(".project-card", has_text="Garden of the office")
    expect(card).to_contain_text("0 backlog")
    card.get_by_role("link").click()
    expect(desk.page).to_have_url(re.compile("/projects/YARD/board$"))


def test_a_project_is_made_and_opened_by_keys(desk):
    desk.go("/projects")
    reach(desk, "New project", "link")
    desk.press("Enter")
    expect(desk.page.locator("#name")).to_be_focused()
    desk.page.keyboard.type("Roof")
    desk.press("Enter")
    expect(desk.page).to_have_url(re.compile("/projects/ROOF/"))
    desk.go("/projects")
    reach(desk, "Roof", "link")
    desk.press("Enter")
    expect(desk.page).to_have_url(re.compile("/projects/ROOF/board$"))


def test_a_project_is_made_without_a_script(plain):
    plain.go("/projects/new")
    plain.page.locator("#name").fill("Cellar")
    plain.page.locator("#key").fill("CELL")
    plain.page.get_by_role("button", name="Create project").click()
    expect(plain.page).to_have_url(re.compile("/projects/CELL/"))


def test_the_overview_leads_to_what_happened_page_by_page(desk, busy):
    desk.go("/projects/DEMO")
    expect(desk.page.locator("main")).to_contain_text("bot-dev-1")
    desk.page.locator("main").get_by_role("link", name=re.compile("All activity|activity")).click()
    expect(desk.page.locator("h1")).to_have_text("Activity")
    expect(desk.page.locator("main")).to_contain_text("Filler 59")
    desk.page.get_by_role("link", name="Older").click()
    expect(desk.page.locator("main")).not_to_contain_text("Filler 59")
    desk.page.go_back()
    expect(desk.page.locator("main")).to_contain_text("Filler 59")
    reach(desk, "Older", "link", most=400)
    desk.press("Enter")
    expect(desk.page.get_by_role("link", name="Newest")).to_be_visible()
    desk.page.get_by_role("link", name="Newest").click()
    expect(desk.page.locator("main")).to_contain_text("Filler 59")


def test_an_epic_opens_by_mouse_and_by_key(desk, busy):
    desk.go("/projects/DEMO/epics")
    # The newest stands open; the other is fetched as it opens.
    other = desk.page.locator(".epic-node", has_text="The epic above")
    expect(other.get_by_text("A rich ticket")).to_have_count(0)
    other.locator("summary").first.click()
    expect(other.get_by_text("A rich ticket")).to_be_visible()
    desk.page.reload()
    other.locator("summary").first.focus()
    desk.press("Enter")
    expect(other.get_by_text("A rich ticket")).to_be_visible()
    desk.page.get_by_role("link", name="90 days").click()
    expect(desk.page).to_have_url(re.compile("days=90"))
    expect(desk.page.get_by_role("link", name="90 days")).to_have_attribute("aria-current", "true")
    desk.page.get_by_text("As a table").last.click()
    expect(desk.page.get_by_role("columnheader", name="In progress")).to_be_visible()


def another_session(furnished):
    login = {"username": "ada", "password": PASSWORD}
    agent = {"User_Agent": "A borrowed laptop"}
    answer = furnished.served.request("POST", "/api/v1/auth/login", login, **agent)
    assert answer.status == 200
    return answer.headers["Set-Cookie"].partition(";")[0]


def is_in(furnished, cookie):
    return furnished.served.request("GET", "/api/v1/auth/me", Cookie=cookie).status == 200


@pytest.mark.parametrize("way", ["mouse", "keys", "no script"])
def test_a_session_that_one_does_not_know_is_ended(desk, plain, furnished, way):
    cookie = another_session(furnished)
    here = plain if way == "no script" else desk
    here.go("/profile/sessions")
    end = here.page.get_by_role("button", name="End the session of A borrowed laptop")
    if way == "keys":
        reach(here, "End the session of A borrowed laptop")
        here.press("Enter")
    else:
        end.click()
    expect(here.page.locator(".notice")).to_contain_text("Ended")
    expect(end).to_have_count(0)
    assert not is_in(furnished, cookie)


def test_the_log_is_read_filtered_and_undone_on_a_phone(phone, furnished):
    reference = furnished.ticket("By phone")
    furnished.call("PATCH", f"/tickets/{reference}", {"priority": "urgent"}, as_bot=True)
    phone.go("/audit")
    phone.page.get_by_label("Ticket", exact=True).fill(reference)
    phone.page.get_by_role("button", name="Apply").tap()
    expect(phone.page.locator(".audit-row")).to_have_count(2)
    assert phone.overflow() <= 0
    phone.page.get_by_role("link", name="Details of ticket.updated").tap()
    phone.page.locator("#dialog").get_by_role("button", name="Undo").tap()
    expect(phone.page.locator("main .badge", has_text="undone")).to_be_visible()
    assert furnished.call("GET", f"/tickets/{reference}")["priority"] == "medium"
