"""Reactions below a comment: by mouse and keyboard, live, and never moving under the finger."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings_in_both
from tests.support.serving import until


@pytest.fixture
def comment(wide, seeded):
    """A page with one comment, and its reactions."""
    reference = seeded.ticket("Of this test")
    body = {"body": "Shall we?"}
    made = seeded.call("POST", f"/tickets/{reference}/comments", body, as_bot=True)
    wide.go(f"/tickets/{reference}")
    return wide, wide.page.locator(f"#reactions-{made['id']}"), made["id"]


def react(seeded, comment_id, reaction, method="PUT"):
    path = f"/comments/{comment_id}/reactions/{reaction}"
    seeded.call(method, path, None, as_bot=True)


def test_one_press_reacts_and_another_takes_it_back(comment):
    wide, reactions, _ = comment
    shown = reactions.locator("> .reaction")
    reactions.locator("summary").click()
    reactions.get_by_label("Hooray").click()
    expect(shown).to_have_text("\U0001f389 1")
    expect(shown).to_have_attribute("aria-pressed", "true")
    expect(shown).to_be_focused()
    assert not findings_in_both(wide.page)
    shown.click()
    expect(shown).to_have_count(0)
    expect(reactions.locator("summary")).to_be_focused()


def test_reacting_by_key_alone(comment):
    wide, reactions, _ = comment
    reactions.locator("summary").focus()
    wide.press("Enter", "ArrowDown", "ArrowDown", "Enter")
    shown = reactions.locator("> .reaction")
    expect(shown).to_have_attribute("aria-label", "Thumbs down 1: Ada Berg")
    expect(shown).to_be_focused()
    wide.press("Enter")
    expect(shown).to_have_count(0)
    wide.press("Enter")
    expect(reactions.get_by_label("Thumbs up")).to_be_visible()
    wide.press("Escape")
    expect(reactions.get_by_label("Thumbs up")).not_to_be_visible()


def test_what_others_press_appears_and_the_focus_stays(comment, seeded):
    wide, reactions, comment_id = comment
    react(seeded, comment_id, "eyes")
    wide.ask_for_news()
    eyes = reactions.locator("> .reaction")
    expect(eyes).to_have_text("\U0001f440 1")
    eyes.click()
    expect(eyes).to_have_text("\U0001f440 2")
    react(seeded, comment_id, "heart")
    wide.ask_for_news()
    expect(reactions.locator("> .reaction")).to_have_count(2)
    expect(reactions.locator("[value=eyes][aria-pressed]")).to_be_focused()


def test_news_of_an_earlier_moment_do_not_outlive_a_press(comment):
    """Older news arrives while the click is in flight; the response to the click is what counts."""
    wide, reactions, _ = comment
    held = []

    def taken():
        until(lambda: wide.page.evaluate("1") and held)
        return held.pop()

    def hold(route):
        answer = route.fetch()
        if answer.status == 200:
            held.append((route, answer))
        else:
            route.fulfill(response=answer)

    wide.intercept("**/live?*", hold)
    reactions.locator("summary").click()
    reactions.get_by_label("Hooray").click()
    hooray = reactions.locator("[value=hooray][aria-pressed=true]")
    expect(hooray).to_be_focused()
    wide.ask_for_news()
    news = taken()
    wide.intercept("**/reactions", hold)
    hooray.click()
    for route, response in (news, taken()):
        route.fulfill(response=response)
        wide.page.wait_for_timeout(200)
    expect(hooray).to_have_count(0)
    expect(reactions.locator("summary")).to_be_focused()
    wide.page.unroute_all()


def test_on_a_phone_the_choices_fit(comment):
    wide, reactions, _ = comment
    wide.page.set_viewport_size({"width": 320, "height": 640})
    reactions.locator("summary").click()
    box = reactions.locator(".reaction-choices").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
