"""The page of a rewind: preview, steps, and kept values."""

import html
import re

import pytest

from app.core.clock import iso
from app.rewind import messages, pages
from tests.support.story import events

PAGE = {"Accept": "text/html"}


@pytest.fixture
def page(world):
    """GET or POST a page as Ada; return its text."""

    def call(path, form=None, status=200, caller=None):
        client = (caller or world.cast.ada).client
        method = client.get if form is None else client.post
        options = {} if form is None else {"data": form}
        answer = method(path, headers=PAGE, **options)
        assert answer.status_code == status, answer.get_data(as_text=True)
        return answer.get_data(as_text=True)

    return call


def words(text):
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def fields(text, action="/rewind"):
    """Return the hidden fields of the form with this action."""
    form = re.search(rf'<form[^>]* method="post" action="{action}".*?</form>', text, re.S)[0]
    return dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))


def test_a_preview_counts_and_lists_by_ticket_and_writes_nothing(world, page):
    path = f"/tickets/{world.ticket}"
    world.smith("PATCH", path, title="By the bot", priority="low")
    world.bo("PATCH", path, title="By Bo")
    world.make(world.cast.smith, "Spam")
    before = len(events(world.app))
    shown = words(page("/rewind?bot=smith&since=1h"))
    assert "1 ticket deleted" in shown
    assert "1 field reverted" in shown
    assert "OPEN-1 By Bo 1 to revert, 1 kept" in shown
    assert "Title : By Bo. Before: A ticket. Changed by Bo on " in shown
    used = world.make(world.cast.smith, "Used")
    world.bo("POST", f"/tickets/{used}/comments", body="Mine")
    shown = words(page("/rewind?bot=smith&since=1h"))
    assert "Ticket : exists. Before: does not exist. Changed by Bo on " in shown
    before += 2
    assert len(events(world.app)) == before


def test_steps_go_on_where_the_one_before_ended(world, page, monkeypatch):
    monkeypatch.setattr(pages, "STEP_EVENTS", 1)
    monkeypatch.setattr("app.rewind.service.BATCH", 2)
    for number in range(5):
        world.make(world.cast.smith, f"Spam {number}")
    form = fields(page("/rewind?bot=smith&since=1h"))
    seen = []
    while True:
        answer = world.cast.ada.client.post("/rewind/step", data=form).get_json()
        seen.append((answer["events"], answer["back"], answer["kept"]))
        if answer["beyond"] is None:
            break
        form["beyond"] = answer["beyond"]
    assert seen == [(2, 2, 0), (2, 2, 0), (1, 1, 0)]
    assert "Nothing left to revert." in page(f"/rewind?bot=smith&since={iso(world.since)}")


def test_without_scripts_the_form_itself_rewinds(world, page, monkeypatch):
    monkeypatch.setattr(pages, "STEP_EVENTS", 1)
    monkeypatch.setattr("app.rewind.service.BATCH", 2)
    for number in range(3):
        world.make(world.cast.smith, f"Spam {number}")
    form = fields(page("/rewind?bot=smith&since=1h"))
    first = page("/rewind", form)
    assert "2 reverted, 0 kept. More changes are left." in words(first)
    assert "Continue" in first
    last = page("/rewind", fields(first))
    assert "1 reverted, 0 kept." in words(last)
    assert "Nothing left to revert." in last


def test_what_stands_is_put_back_one_by_one(world, page):
    world.smith("PATCH", f"/tickets/{world.ticket}", title="By the bot")
    world.bo("PATCH", f"/tickets/{world.ticket}", title="By Bo")
    form = fields(page("/rewind?bot=smith&since=1h"), "/rewind/value")
    page("/rewind/value", form, 303)
    assert world.now()["title"] == "A ticket"
    page("/rewind/value", {**form, "name": "priority"}, 404)
    page("/rewind/value", {"bot": "smith"}, 422)


def test_the_form_says_what_is_wrong(world, page):
    assert "Last 4 hours" in page("/rewind?bot=smith")
    for query, problem in (
        ("since=soon", messages.NO_TIME),
        ("since=1h&until=2h", "The end must be later than the start."),
        ("since=1h&until=1970-01-01", "The end must be later than the start."),
    ):
        assert problem in page(f"/rewind?bot=smith&{query}", status=422)
        answer = world.cast.ada.client.post(f"/rewind/step?bot=smith&{query}")
        assert (answer.status_code, answer.get_json()["problem"]) == (422, problem)
    for odd in ("999999d", "0001-01-01T00:00%2B23:00", "1970-01-01"):
        page(f"/rewind?bot=smith&since={odd}&until=9999-12-31T23:59-23:00")
    page("/rewind?bot=nobody&since=1h", status=404)
    page("/rewind?bot=smith&since=1h&project=NONE", status=404)
    assert "No changes in this time range." in page("/rewind?bot=smith&since=1h")


def test_an_own_import_is_rewound_and_that_of_others_is_nothing(world, page):
    answer = world.cast.bo.post(f"{world.project}/tickets", {"title": "Imported"})
    address = f"/rewind?request={answer.headers['X-Request-Id']}"
    assert "No changes in this time range." in page(address)
    form = fields(page(address, caller=world.cast.bo))
    assert "1 ticket deleted" in words(page(address, caller=world.cast.bo))
    world.cast.bo.client.post("/rewind/step", data=form)
    assert world.cast.bo.get(f"/tickets/{answer.json['id']}").status_code == 410
    many = "&".join(f"request={event.id}" for event in events(world.app) * 30)
    page(f"/rewind?{many}", status=200)


def test_more_than_a_page_of_what_stands(world, page, monkeypatch):
    monkeypatch.setattr(pages, "MAX_LISTED", 2)
    for title in ("One", "Two", "Three"):
        ticket = world.make(world.cast.ada, title)
        world.smith("PATCH", f"/tickets/{ticket}", title=f"{title} by the bot")
        world.bo("PATCH", f"/tickets/{ticket}", title=f"{title} by Bo")
    shown = page("/rewind?bot=smith&since=1h")
    assert "3 values are kept. The first 2:" in words(shown)
    more = html.unescape(re.search(r'href="([^"]+)#kept">Show more', shown)[1])
    last = page(more)
    assert "One by Bo. Before: One" in words(last)
    assert "Two by Bo" not in words(last)
    assert "Show more" not in last
    assert "Back to the preview" in last
    page(f"{more}x", status=400)


def test_an_own_request_is_rewound_from_the_audit_log(world, page):
    answer = world.cast.bo.post(f"{world.project}/tickets", {"title": "Imported"})
    address = f"/audit?span=all&request_id={answer.headers['X-Request-Id']}"
    link = f'href="/rewind?request={answer.headers["X-Request-Id"]}"'
    assert link in page(address, caller=world.cast.bo)
    assert "Rewind" not in words(page(address))
