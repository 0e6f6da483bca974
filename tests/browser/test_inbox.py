"""The inbox by keyboard: walk through it, read one, open one; the count in the header follows."""

from contextlib import suppress

from playwright.sync_api import Error, expect

from tests.browser.test_session import DRAFTS
from tests.support.serving import until


def test_the_inbox_by_keyboard(wide, seeded):
    for title in ("First news", "Second news"):
        reference = seeded.ticket(title, assignee_user_id=seeded.ids["ada"])
        body = {"body": "Done, I think."}
        seeded.call("POST", f"/tickets/{reference}/comments", body, as_bot=True)
    wide.go("/projects")
    # DEMO-2 is watched, and the bot wrote there.
    expect(wide.page.locator(".inbox-count")).to_have_text("3")
    expect(wide.page.locator("#to-bots.at-work")).to_be_visible()
    wide.press("g", "i")
    wide.page.wait_for_url("**/inbox")
    wide.press("j")
    assert "Second news" in wide.focused()
    wide.press("e")
    expect(wide.page.locator("#news-DEMO-8 [data-mark=unread]")).to_be_visible()
    expect(wide.page.locator(".inbox-count")).to_have_text("2")
    assert "First news" in wide.focused()
    wide.press("k", "u")
    expect(wide.page.locator("#news-DEMO-8 [data-mark=read]")).to_be_visible()
    expect(wide.page.locator(".inbox-count")).to_have_text("3")
    assert "Second news" in wide.focused()
    wide.press("Tab")
    assert "Mark DEMO-8 as read" in wide.focused()
    wide.press("Enter")
    expect(wide.page.locator("#news-DEMO-8 [data-mark=unread]")).to_be_visible()
    assert "Mark DEMO-8 as unread" in wide.focused()
    # Opening a ticket marks its news as read.
    wide.press("j", "j", "Enter")
    wide.page.wait_for_url("**/tickets/DEMO-7")
    expect(wide.page.locator(".inbox-count")).to_have_text("1")
    wide.page.go_back()
    expect(wide.page.locator(".news")).to_have_count(1)
    wide.page.get_by_role("button", name="Mark all as read").click()
    expect(wide.page.get_by_role("heading", name="You’re all caught up")).to_be_visible()
    expect(wide.page.locator(".inbox-count")).to_have_count(0)
    wide.page.get_by_role("link", name="All", exact=True).click()
    expect(wide.page.locator(".news")).to_have_count(3)


def test_a_number_asked_for_before_a_deed_does_not_come_after_it(wide, seeded):
    for title in ("Old news", "New news"):
        reference = seeded.ticket(title, assignee_user_id=seeded.ids["ada"])
        body = {"body": "Done."}
        seeded.call("POST", f"/tickets/{reference}/comments", body, as_bot=True)
    held = []
    wide.intercept("**/header-status", lambda route: held.append((route, route.fetch())))
    wide.go("/inbox")
    until(lambda: wide.page.evaluate("1") and held)
    before = len(wide.page.locator("[data-mark=read]").all())
    wide.press("j", "e")
    expect(wide.page.locator(".inbox-count")).to_have_text(str(before - 1))
    route, response = held.pop()
    assert f"{before} unread tickets" in response.text()
    with suppress(Error):
        route.fulfill(response=response)
    wide.page.wait_for_timeout(200)
    expect(wide.page.locator(".inbox-count")).to_have_text(str(before - 1))
    wide.page.unroute_all(behavior="ignoreErrors")


def test_a_question_is_unfolded_and_replied_to(wide, seeded):
    reference = seeded.ticket("A question", assignee_user_id=seeded.ids["ada"])
    body = {"body": "Which one?\n\n" + "\n".join(f"- {number}" for number in range(30))}
    seeded.call("POST", f"/tickets/{reference}/comments", body, as_bot=True)
    for user in (None, seeded.ids["ada"]):
        change = {"assignee_user_id": user}
        seeded.call("PATCH", f"/tickets/{reference}", change, as_bot=True)
    wide.go("/")
    need = wide.page.locator(f"#need-{reference}")
    said = need.locator(".question > .markdown")
    folded = said.bounding_box()["height"]
    need.get_by_text("Show all").click()
    assert said.bounding_box()["height"] > 2 * folded
    need.get_by_text("Show less").click()
    assert said.bounding_box()["height"] == folded
    need.get_by_label(f"Reply on {reference}").fill("The second.")
    wide.press("Control+Enter")
    expect(need).to_have_count(0)
    assert seeded.call("GET", f"/tickets/{reference}")["assignee"]["type"] == "bot"


def ask_ada(seeded, title, words="Which one, @ada?"):
    """Create a ticket on which the bot asks Ada, without handing it over."""
    reference = seeded.ticket(title)
    seeded.call("POST", f"/tickets/{reference}/comments", {"body": words}, as_bot=True)
    return reference


def answers(seeded, reference):
    return [one["body"] for one in seeded.call("GET", f"/tickets/{reference}/comments")["data"]]


def test_a_mention_is_replied_to_on_a_phone(phone, seeded):
    reference = ask_ada(seeded, "A question in passing")
    phone.go("/")
    need = phone.page.locator(f"#need-{reference}")
    need.get_by_label(f"Reply on {reference}").fill("The second.")
    need.get_by_role("button", name="Reply").tap()
    expect(need).to_have_count(0)
    assert phone.overflow() == 0
    assert answers(seeded, reference)[-1] == "The second."


def test_a_mention_is_replied_to_in_the_inbox(wide, seeded):
    by_key, by_mouse = (ask_ada(seeded, f"A question by {way}") for way in ("key", "mouse"))
    wide.go("/inbox")
    wide.page.locator(f"#open-{by_key}").focus()
    wide.press("r")
    wide.page.keyboard.type("By key")
    wide.press("Control+Enter")
    expect(wide.page.locator(f"#news-{by_key}")).to_have_count(0)
    assert answers(seeded, by_key)[-1] == "By key"
    row = wide.page.locator(f"#news-{by_mouse}")
    row.get_by_text("Reply", exact=False).first.click()
    row.get_by_label(f"Reply on {by_mouse}").fill("By mouse")
    row.get_by_role("button", name="Send").click()
    expect(row).to_have_count(0)
    assert answers(seeded, by_mouse)[-1] == "By mouse"


def test_escape_leaves_a_reply_that_goes_on_in_my_work(wide, seeded):
    reference = ask_ada(seeded, "A question to come back to")
    wide.go("/inbox")
    row = wide.page.locator(f"#news-{reference}")
    area = row.get_by_label(f"Reply on {reference}")
    wide.page.locator(f"#open-{reference}").focus()
    wide.press("r")
    wide.page.keyboard.type("Half an answer")
    wide.press("Escape")
    expect(area).to_be_hidden()
    expect(row.locator("summary")).to_be_focused()
    wide.press("r")
    expect(area).to_have_value("Half an answer")
    wide.page.wait_for_function(f"() => {DRAFTS}.length")
    wide.go("/")
    need = wide.page.locator(f"#need-{reference}")
    expect(need.get_by_label(f"Reply on {reference}")).to_have_value("Half an answer")
    need.get_by_role("button", name="Reply").click()
    expect(need).to_have_count(0)
    assert wide.page.evaluate(DRAFTS) == []


def test_muting_by_a_click(wide, seeded):
    wide.go("/tickets/DEMO-2")
    wide.page.get_by_role("button", name="Mute", exact=True).click()
    expect(wide.page.locator("#watchers")).to_contain_text("Updates don’t appear")
    wide.page.get_by_role("button", name="Unmute").click()
    expect(wide.page.locator("#watchers")).not_to_contain_text("Updates don’t appear")


def test_notifications_are_turned_on_for_a_browser(wide_apart, seeded):
    wide = wide_apart
    wide.page.context.grant_permissions(["notifications"], origin=wide.base)
    wide.page.add_init_script("""
        window.shown = [];
        window.Notification = class {
          static permission = "granted";
          static requestPermission = async () => "granted";
          constructor(title, { body }) { window.shown.push([title, body]); }
        };
        document.hasFocus = () => false;
    """)
    wide.page.clock.install()
    wide.go("/inbox")
    wide.page.get_by_role("button", name="Turn on notifications").click()
    expect(wide.page.get_by_role("button", name="Turn off notifications")).to_be_visible()
    reference = seeded.ticket("Held", assignee_user_id=seeded.ids["ada"])
    seeded.call("POST", f"/tickets/{reference}/comments", {"body": "Done."}, as_bot=True)
    # Every page polls for notifications.
    wide.go("/projects")
    shown = []
    for _ in range(10):
        # The script loads after the page. A request times out after 15 s of the same clock.
        wide.page.clock.run_for(10_000)
        with suppress(AssertionError):
            shown = until(lambda: wide.page.evaluate("window.shown"), seconds=2)
            break
    title, body = shown[0]
    assert title.endswith(f"commented on {reference}")
    assert body == "Held"
    wide.go("/inbox")
    wide.page.get_by_role("button", name="Turn off notifications").click()
    assert wide.page.evaluate("localStorage.getItem('notify')") is None
