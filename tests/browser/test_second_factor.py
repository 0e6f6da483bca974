"""Two-factor authentication from its setup to the login with it, and a mail, in both themes."""

import base64
import time
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader, select_autoescape
from playwright.sync_api import expect

from app.accounts import totp
from app.mail.writing import Letter, Line, Section
from tests.browser.axe import findings
from tests.browser.seed import PASSWORD

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


@pytest.fixture(name="judged")
def _judged(wide_apart):
    """Judge the page as it is, in both themes."""

    def run():
        for scheme in ("light", "dark"):
            wide_apart.page.emulate_media(color_scheme=scheme)
            assert findings(wide_apart.page) == []
            assert wide_apart.overflow() <= 0

    return run


def test_a_mail_is_readable_in_both_themes(wide_apart, judged):
    lines = (
        Line("Bo commented", "10:12", "It stays dark."),
        Line("Bo assigned it to you", "11:00"),
    )
    letter = Letter(
        subject="News",
        heading="Updates on a ticket",
        paragraphs=("What happened while you were away.",),
        button=("Open the inbox", "https://docket.example.org/inbox"),
        sections=(Section("DEMO-2 Lamp", "https://docket.example.org/tickets/DEMO-2", lines, 3),),
        reason="You watch this ticket.",
        unsubscribe="https://docket.example.org/x",
    )
    templates = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=select_autoescape())
    html = templates.get_template("mail/letter.html").render(
        letter=letter, app_name="Docket", base_url="https://docket.example.org"
    )
    wide_apart.page.goto("about:blank")
    wide_apart.page.set_viewport_size({"width": 390, "height": 844})
    wide_apart.page.set_content(html)
    judged()
    ground = "getComputedStyle(document.body).backgroundColor"
    assert wide_apart.page.evaluate(ground) == "rgb(23, 28, 28)"


def test_from_the_set_up_to_the_login(wide_apart, judged):
    page = wide_apart.page
    wide_apart.go("/profile/two-factor")
    page.fill("#current_password", PASSWORD)
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    judged()
    secret = base64.b32decode(page.locator("#secret").input_value().replace(" ", ""))
    step = int(time.time() * 1000) // totp.STEP_MS
    page.fill("#code", totp.code_at(secret, step))
    page.get_by_role("button", name="Turn on", exact=True).click()
    expect(page.get_by_text("recovery codes").first).to_be_visible()
    judged()
    page.context.clear_cookies()
    wide_apart.go("/login")
    page.fill("#username", "ada")
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.locator("#code")).to_be_focused()
    page.set_viewport_size({"width": 390, "height": 844})
    judged()
    page.fill("#code", totp.code_at(secret, step + 1))
    wide_apart.press("Enter")
    expect(page.locator("#code")).to_have_count(0)
    wide_apart.go("/profile")
