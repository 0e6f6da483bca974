"""The board while others work on it: their moves appear, and one's own work is not lost."""

import os
import random
import time
from collections import Counter

import pytest
from playwright.sync_api import expect

from tests.browser.browser_page import BrowserPage, borrow_page
from tests.support.serving import until

# The requirement is one minute; each run does a part of it.
STORM_SECONDS = float(os.environ.get("STORM_SECONDS", "4"))
PROMISED = 3.0


@pytest.fixture
def second(contexts, seeded):
    """Ada on another screen."""
    yield from borrow_page(contexts, seeded)


def move(seeded, reference: str, state: str) -> None:
    """The bot moves a ticket."""
    body = {"state_id": seeded.ids[state]}
    seeded.call("POST", f"/tickets/{reference}/transition", body, as_bot=True)


@pytest.mark.quiet
def test_a_bots_move_appears_within_three_seconds(wide, seeded):
    reference = seeded.ticket("Moved by the bot", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    for state in ("In review", "To do"):
        move(seeded, reference, state)
        started = time.monotonic()
        expect(wide.card_at(state, reference)).to_have_count(1)
        assert time.monotonic() - started < PROMISED
    expect(wide.card(reference)).to_contain_text("bot-dev-1, just now")
    # Polling does not change the address of the page.
    assert wide.page.url.endswith("/projects/DEMO/board")


def test_quiet_viewers_ask_one_small_question(wide_apart):
    wide = wide_apart
    wide.page.clock.install()
    wide.go("/projects/DEMO/board")
    wide.page.wait_for_load_state("networkidle")
    asked = []
    wide.page.on("response", lambda answer: asked.append((answer.url, answer.status)))
    for _ in range(4):
        wide.page.clock.run_for(1500)
        wide.page.wait_for_load_state("networkidle")
        wide.page.wait_for_timeout(100)
    assert 2 <= len(asked) <= 3, asked
    assert {status for _, status in asked} == {204}
    assert all("/board/live" in url for url, _ in asked)


def test_the_focus_the_scroll_and_a_line_being_written_stay(wide, seeded):
    made = [seeded.ticket(f"Long {number}", state_id=seeded.ids["To do"]) for number in range(15)]
    wide.go("/projects/DEMO/board")
    wide.page.click('.column[data-name="Backlog"] [data-add]')
    wide.page.keyboard.type("Half a sente")
    column = wide.column("To do").locator(".cards")
    column.evaluate("list => { list.scrollTop = 300; }")
    seen = made[5]
    before = wide.card(seen).bounding_box()["y"]
    for number in (14, 13, 12):
        move(seeded, made[number], "In review")
    seeded.ticket("Above all", priority="urgent", state_id=seeded.ids["To do"])
    wide.ask_for_news()
    expect(wide.card_in("To do", "Above all")).to_have_count(1)
    expect(wide.card_in("In review", "Long 14")).to_have_count(1)
    # The cards in view have not moved, though a card was added above them.
    assert abs(wide.card(seen).bounding_box()["y"] - before) < 2 or (
        column.evaluate("list => list.scrollTop") > 0
    )
    expect(wide.page.locator("#quick-title")).to_be_focused()
    wide.page.keyboard.type("nce")
    expect(wide.page.locator("#quick-title")).to_have_value("Half a sentence")


def test_a_focused_card_that_moves_keeps_the_focus(wide, seeded):
    reference = seeded.ticket("Held in view", state_id=seeded.ids["To do"])
    wide.go("/projects/DEMO/board")
    title = wide.card(reference).locator(".card-title")
    title.focus()
    move(seeded, reference, "In review")
    wide.ask_for_news()
    expect(wide.card_at("In review", reference)).to_have_count(1)
    expect(title).to_be_focused()
    seeded.call("DELETE", f"/tickets/{reference}")
    wide.ask_for_news()
    expect(wide.card(reference)).to_have_count(0)
    assert wide.page.evaluate("document.activeElement !== document.body")


def test_a_drag_is_not_disturbed(wide, seeded):
    held = seeded.ticket("Held", state_id=seeded.ids["Backlog"])
    other = seeded.ticket("Other", state_id=seeded.ids["Backlog"])
    wide.go("/projects/DEMO/board")
    start = wide.card(held).bounding_box()
    mouse = wide.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(start["x"] + 300, start["y"] + 60, steps=5)
    expect(wide.page.locator(".ghost")).to_be_visible()
    move(seeded, other, "In review")
    wide.page.wait_for_timeout(3500)
    expect(wide.page.locator(".ghost")).to_be_visible()
    expect(wide.card_at("Backlog", other)).to_have_count(1)
    mouse.up()
    wide.ask_for_news()
    expect(wide.card_at("In review", other)).to_have_count(1)
    expect(wide.card_at("To do", held)).to_have_count(1)


def test_filters_hold_for_what_is_new(wide, seeded):
    wide.go("/projects/DEMO/board?priority=urgent")
    hidden = seeded.ticket("Not for this view", state_id=seeded.ids["To do"])
    shown = seeded.ticket("For this view", priority="urgent", state_id=seeded.ids["To do"])
    wide.ask_for_news()
    expect(wide.card(shown)).to_have_count(1)
    expect(wide.card(hidden)).to_have_count(0)
    seeded.call("PATCH", f"/tickets/{shown}", {"priority": "low"})
    wide.ask_for_news()
    expect(wide.card(shown)).to_have_count(0)


def test_new_columns_wait_for_the_reader(wide, seeded):
    wide.go("/projects/DEMO/board")
    wide.page.click('.column[data-name="Backlog"] [data-add]')
    wide.page.keyboard.type("Still here")
    path = f"/projects/{seeded.ids['project']}/workflow-states"
    made = seeded.call("POST", path, {"name": "Shipped", "category": "done"})
    wide.ask_for_news()
    expect(wide.page.locator("#pill")).to_have_text("The board changed · Refresh")
    wide.page.click("#pill")
    expect(wide.column("Shipped")).to_be_visible()
    expect(wide.page.locator("#quick-title")).to_have_value("Still here")
    expect(wide.page.locator("#pill")).not_to_be_visible()
    seeded.call("DELETE", f"{path}/{made['id']}")


def test_a_lost_connection_is_said_and_taken_back(wide, seeded):
    wide.go("/projects/DEMO/board")
    wide.page.context.set_offline(True)
    wide.ask_for_news()
    expect(wide.page.locator("#offline")).to_contain_text("No connection since")
    wide.page.context.set_offline(False)
    expect(wide.page.locator("#offline")).not_to_be_visible()
    # A request in flight fails, and htmx reports it.
    wide.problems[:] = [one for one in wide.problems if "htmx:sendError" not in one]


def test_whoever_is_logged_out_is_told_once(wide, seeded):
    wide.go("/projects/DEMO/board")
    wide.page.context.clear_cookies()
    wide.ask_for_news()
    expect(wide.toast()).to_contain_text("You were logged out")
    wide.page.wait_for_timeout(3500)
    expect(wide.toast()).to_have_count(1)


# What people and the bot do at the same time, with relative frequencies.
WAYS = {"keys": 2, "bot": 2, "mouse": 1, "write": 2, "field": 1}


def columns_of(wide: BrowserPage) -> dict[str, set[str]]:
    """The cards that a board shows, by column name."""
    found = wide.page.evaluate(
        """() => [...document.querySelectorAll('.column')].map(one => [one.dataset.name,
            [...one.querySelectorAll('.card')].map(card => card.dataset.ref)])"""
    )
    for name, cards in found:
        assert len(cards) == len(set(cards)), (name, cards)
    return {name: set(cards) for name, cards in found}


def truth(seeded) -> dict[str, set[str]]:
    """The cards of each column, as the server knows them."""
    path = f"/projects/{seeded.ids['project']}/tickets?limit=200"
    found: dict[str, set[str]] = {}
    for one in seeded.call("GET", path)["data"]:
        if one["type"] != "epic":
            found.setdefault(one["state"]["name"], set()).add(one["display_id"])
    return found


def on_card(wide: BrowserPage, reference: str, what: str) -> object:
    """Do something with a card in one step: between two steps, another card may take its place."""
    return wide.page.evaluate(
        f"""ref => {{ const card = document.querySelector(`.card[data-ref="${{ref}}"]`);
            return {what}; }}""",
        reference,
    )


def toss(wide: BrowserPage, reference: str, column: str) -> None:
    """Drag a card, or the one that has taken its place, to a column."""
    start = on_card(wide, reference, "card.getBoundingClientRect().toJSON()")
    end = wide.column(column).bounding_box()
    mouse = wide.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(end["x"] + 80, end["y"] + 160, steps=6)
    mouse.up()


def test_two_browsers_and_a_bot_end_in_the_same_state(wide, second, seeded):
    choose = random.Random(20261121)
    names = ["Backlog", "To do", "In progress", "In review", "Done"]
    made = [
        seeded.ticket(f"Tossed {number}", state_id=seeded.ids[choose.choice(names)])
        for number in range(12)
    ]
    for one in (wide, second):
        one.go("/projects/DEMO/board")
    # The second page types into the quick-add line, and drags cards in between.
    second.page.click('.column[data-name="Backlog"] [data-add]')
    line = second.page.locator("#quick-title")
    written = ""
    done: Counter[str] = Counter()
    ends = time.monotonic() + STORM_SECONDS
    while time.monotonic() < ends or len(done) < len(WAYS):
        what = choose.choices(list(WAYS), list(WAYS.values()))[0]
        done[what] += 1
        reference = choose.choice(made)
        if what == "keys":
            on_card(wide, reference, "card.querySelector('.card-title').focus()")
            wide.press(choose.choice(["Shift+ArrowLeft", "Shift+ArrowRight"]))
            expect(wide.card(reference).locator(".card-title")).to_be_focused()
        elif what == "bot":
            move(seeded, reference, choose.choice(names))
        elif what == "field":
            priority = choose.choice(["low", "high", "urgent"])
            seeded.call("PATCH", f"/tickets/{reference}", {"priority": priority}, as_bot=True)
        elif what == "mouse":
            on_card(second, reference, "card.scrollIntoView({ block: 'nearest' })")
            toss(second, reference, choose.choice(names))
            line.focus()
        else:
            expect(line).to_be_focused()
            if len(written) > 400:
                second.page.keyboard.press("Control+A")
                written = ""
            letters = choose.choice(["a ", "bc", "def "])
            second.page.keyboard.type(letters)
            written += letters
            expect(line).to_have_value(written)
        for one in (wide, second):
            one.page.evaluate(
                "document.querySelectorAll('#toasts .toast').forEach(t => t.remove())"
            )

    def same() -> bool:
        now = {name: cards for name, cards in truth(seeded).items() if cards}
        return all(
            {name: cards for name, cards in columns_of(one).items() if cards} == now
            for one in (wide, second)
        )

    until(same)
    for one in (wide, second):
        for name, cards in columns_of(one).items():
            expect(one.column(name).locator(".count")).to_have_text(str(len(cards)))
        expect(one.page.locator("#pill")).not_to_be_visible()
    expect(line).to_have_value(written)
    expect(line).to_be_focused()
