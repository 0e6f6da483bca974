"""A rewind in steps, which is stopped and continued, and the slider of a ticket's history."""

from urllib.parse import parse_qsl

from playwright.sync_api import expect

from app.core.clock import iso, now_ms
from tests.support.serving import until

BEYOND = "01900000-0000-7000-8000-000000000000"
STEPPED = {"events": 200, "back": 190, "kept": 10, "beyond": BEYOND}


def change_as_bot(seeded, title):
    """Let the bot rename a ticket of Ada's; return its reference and the time before."""
    reference, since = seeded.ticket(title), iso(now_ms())
    seeded.call("PATCH", f"/tickets/{reference}", {"title": "By the bot"}, as_bot=True)
    return reference, since


def test_from_the_page_of_a_bot_to_what_it_was(wide, seeded):
    reference, since = change_as_bot(seeded, "By Ada")
    wide.go("/bots/bot-dev-1")
    wide.page.get_by_role("link", name="Rewind").click()
    wide.page.get_by_label("From").fill(since)
    wide.page.get_by_role("button", name="Preview").click()
    expect(wide.page.get_by_text("1 field reverted")).to_be_visible()
    assert seeded.call("GET", f"/tickets/{reference}")["title"] == "By the bot"
    wide.page.get_by_role("button", name="Rewind").click()
    expect(wide.page.get_by_text("Nothing left to revert.")).to_be_visible()
    assert seeded.call("GET", f"/tickets/{reference}")["title"] == "By Ada"
    # The slider has a position for each change of the ticket.
    wide.go(f"/tickets/{reference}")
    wide.page.get_by_role("link", name="History").click()
    expect(wide.page.locator("h1")).to_have_text("By Ada")
    wide.page.locator("#change").focus()
    wide.press("ArrowLeft")
    expect(wide.page.locator("h1")).to_have_text("By the bot")
    expect(wide.page.locator("#change")).to_have_value("2")


def test_it_is_stopped_and_gone_on_with(wide, seeded):
    _, since = change_as_bot(seeded, "Another")
    answers, held, asked = [STEPPED], [], []

    def answer(route):
        asked.append(dict(parse_qsl(route.request.post_data)))
        if answers:
            route.fulfill(json=answers.pop(0))
        else:
            held.append(route)

    wide.go(f"/rewind?bot=bot-dev-1&since={since}")
    wide.intercept("**/rewind/step", answer)
    form = wide.page.locator("form.rewind")
    form.get_by_role("button", name="Rewind").click()
    until(lambda: wide.page.evaluate("1") and len(asked) == 2)
    expect(form).to_contain_text("200 of 200 changes")
    form.get_by_role("button", name="Stop").click()
    expect(form).to_contain_text("Stopping")
    # The running step is completed and counts; no other one begins.
    held.pop().fulfill(json=STEPPED)
    expect(form).to_contain_text("Stopped. 380 reverted, 20 kept.")
    wide.page.wait_for_timeout(300)
    assert [one.get("beyond") for one in asked] == [None, BEYOND]
    form.get_by_role("button", name="Continue").click()
    until(lambda: wide.page.evaluate("1") and len(held) == 1)
    held.pop().abort()
    expect(form).to_contain_text("No connection. 380 reverted, 20 kept.")
    wide.page.unroute_all()
    form.get_by_role("button", name="Continue").click()
    # This request reaches the real server, which finds nothing older, so the page reloads.
    expect(form).not_to_contain_text("380 reverted")
    expect(wide.page.get_by_text("1 field reverted")).to_be_visible()
