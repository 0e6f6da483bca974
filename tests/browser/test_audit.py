"""The audit log with mouse, keyboard and finger: menus of filters, rows that unfold."""

import subprocess
import sys

from playwright.sync_api import expect

from tests.support.forking import Forked, ended, fork
from tests.support.serving import ROOT, environment


def row(wide, text):
    return wide.page.locator("#results .row-main", has_text=text)


def opened(wide, name):
    """Open the menu of a filter and return it."""
    wide.page.locator(".audit-filter summary", has_text=name).click()
    return wide.page.locator(".audit-filter[open]")


def flask(served, *command):
    """Run a flask command on a server's instance; return the last word that it prints."""
    instance, log = served.log.with_name("instance"), served.log.with_name("command.log")
    log.unlink(missing_ok=True)
    given = environment(instance, served.port)
    assert ended(fork(Forked("wsgi", command), ROOT, given, log), log) == 0, log.read_text()
    return log.read_text().split()[-1]


def test_a_request_unfolds_by_mouse_down_to_the_proof_of_an_event(wide, served):
    flask(served, "audit", "checkpoint")
    wide.go("/audit?span=all&project=DEMO")
    wide.page.locator(".request summary", has_text="added 5 states").click()
    unfolded = wide.page.locator(".request[open] .request-events > li")
    expect(unfolded).to_have_count(6)
    expect(unfolded.last).to_contain_text("created the project DEMO")
    unfolded.last.get_by_role("link", name="Details of").click()
    expect(wide.page.locator("#dialog")).to_contain_text("project.created")
    with wide.page.expect_download() as download:
        wide.page.locator("#dialog").get_by_role("link", name="Download proof").click()
    assert download.value.suggested_filename.startswith("proof-")
    checked = subprocess.run(
        [sys.executable, ROOT / "docs/check_proof.py", flask(served, "audit", "key")],
        input=download.value.path().read_bytes(),
        capture_output=True,
        check=False,
    )
    assert b'"event_type":"project.created"' in checked.stdout, checked.stderr


def test_filters_are_chosen_by_mouse_and_cleared(wide):
    wide.go("/audit?span=all")
    opened(wide, "Event").get_by_role("link", name="Tickets: created").click()
    wide.page.wait_for_url("**/audit?span=all&event_type=ticket.created")
    expect(row(wide, "created")).not_to_have_count(0)
    expect(row(wide, "comment")).to_have_count(0)
    expect(wide.page.locator(".audit-filter.is-set", has_text="Event")).to_contain_text(
        "Tickets: created"
    )
    wide.page.get_by_role("link", name="Clear filters").click()
    wide.page.wait_for_url("**/audit")


def test_everything_goes_by_keyboard(wide):
    wide.go("/audit?span=all&project=DEMO")
    wide.page.locator(".audit-filter summary", has_text="Event").focus()
    wide.press("Enter")
    expect(wide.page.get_by_label("Find: Event")).to_be_focused()
    wide.page.keyboard.type("states: created")
    expect(wide.page.locator(".audit-filter[open] [data-item]:visible")).to_have_count(1)
    wide.press("Enter")
    wide.page.wait_for_url("**event_type=workflow_state.created")
    wide.page.locator(".request summary").first.focus()
    wide.press("Enter")
    expect(wide.page.locator(".request[open] .request-events > li")).to_have_count(5)


def test_a_ticket_is_found_by_its_title(wide, seeded):
    wide.go("/audit?span=all")
    opened(wide, "Ticket").get_by_label("Ticket").fill("rich")
    wide.page.locator("#ticket-options").get_by_role("link", name="A rich ticket").click()
    wide.page.wait_for_url("**/audit?ticket=DEMO-2&span=all")
    expect(row(wide, "DEMO-2")).not_to_have_count(0)


def test_a_ticket_is_named_by_its_id(wide):
    wide.go("/audit?span=all")
    opened(wide, "Ticket").get_by_label("Ticket").fill("demo-2")
    wide.press("Enter")
    wide.page.wait_for_url("**/audit?span=all&ticket=demo-2")
    expect(row(wide, "DEMO-2")).not_to_have_count(0)


def test_menus_stay_on_a_phone(phone):
    phone.go("/audit?span=all")
    for name in ("Time", "Who", "Event", "Area", "Project", "Ticket"):
        menu = opened(phone, name)
        box = menu.locator(".menu-body").bounding_box()
        assert box["x"] >= 0, name
        assert box["x"] + box["width"] <= 390, name
        assert phone.overflow() == 0, name
        phone.press("Escape")
    phone.page.locator(".request summary").first.tap()
    expect(phone.page.locator(".request[open] .request-events > li")).not_to_have_count(1)
    assert phone.overflow() == 0
