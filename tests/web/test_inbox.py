"""The inbox: what others did to one's tickets, until it was read; and the number in the header."""

import re

import pytest

from app.inbox import inbox_page as pages
from app.inbox import service
from tests.support.story import make_ticket, ok
from tests.web.test_home import say, text_of

HERE = "/inbox"


@pytest.fixture
def watched(cast, ticket):
    """The ticket, which ada watches; what she did to it is no news to her."""
    ok(cast.ada.post(f"/tickets/{ticket['id']}/watchers", {}))
    return ticket


def newest(page, reference):
    """The event up to which the form of this ticket marks it read."""
    return re.search(rf'action="/inbox/{reference}/read".*?value="([^"]+)"', page.text)[1]


def count(ada):
    """The number in the header."""
    found = re.search(r'class="inbox-count"[^>]*>([^<]+)<', ada.get("/standing", htmx=True).text)
    return found[1] if found else ""


def test_what_others_did_is_told_by_ticket(ada, cast, watched):
    assert "All read" in ada.get(HERE).text
    say(cast.smith, watched, "One")
    say(cast.ada, watched, "Mine")
    say(cast.bo, watched, "Two <b>")
    cast.smith.patch(f"/tickets/{watched['id']}", {"priority": "low"})
    text = text_of(ada.get(HERE))
    assert text.count("A &lt;i&gt;ticket&lt;/i&gt;") == 1
    order = ["Smith bot changed OPEN-1", "Two &lt;b&gt;", "Smith bot commented on OPEN-1", "One"]
    assert [text.index(words) for words in order] == sorted(text.index(words) for words in order)
    assert "Mine" not in text
    assert count(ada) == "1"


def test_one_hears_of_what_one_holds_and_is_mentioned_on(ada, cast):
    held = make_ticket(cast.bo, cast.open_project, "Held", assignee_user_id=cast.ada.user_id)
    named = make_ticket(cast.bo, cast.open_project, "Named")
    other = make_ticket(cast.bo, cast.open_project, "Other")
    say(cast.smith, named, "@ada, look")
    say(cast.smith, other, "@adam, look")
    text = text_of(ada.get(HERE))
    assert "Held" in text
    assert "Smith bot mentioned you" in text
    assert "Other" not in text
    assert count(ada) == "2"
    # What is gone is no news.
    ok(cast.bo.delete(f"/tickets/{held['id']}"), 204)
    assert "Held" not in text_of(ada.get(HERE))
    assert count(ada) == "1"


def test_a_ticket_is_read_up_to_what_was_shown(ada, cast, watched):
    other = make_ticket(cast.bo, cast.open_project, "Other", assignee_user_id=cast.ada.user_id)
    say(cast.smith, watched, "One")
    shown = newest(ada.get(HERE), "OPEN-1")
    say(cast.smith, watched, "Two")
    answer = ada.post("/inbox/OPEN-1/read", event_id=shown)
    assert answer.location == HERE
    text = text_of(ada.get(HERE))
    assert "One" not in text
    assert "Two" in text
    gone = ada.post("/inbox/OPEN-1/read", event_id=newest(ada.get(HERE), "OPEN-1"), htmx=True)
    # With a script the entry goes, and the header follows.
    assert 'hx-swap-oob="innerHTML:.standing"' in gone.text
    assert "news on 1 ticket<" in gone.text
    text = text_of(ada.get(HERE))
    assert "Two" not in text
    assert other["title"] in text


def test_everything_is_read_up_to_what_was_shown(ada, cast, watched):
    say(cast.smith, watched, "One")
    page = ada.get(HERE)
    say(cast.smith, watched, "Two")
    shown = newest(page, "OPEN-1")
    assert ada.post("/inbox/read", event_id=shown).location == HERE
    text = text_of(ada.get(HERE))
    assert ("One" in text, "Two" in text) == (False, True)
    ada.post("/inbox/read", event_id=newest(ada.get(HERE), "OPEN-1"))
    assert "All read" in ada.get(HERE).text
    assert count(ada) == ""
    # A marker only moves forward; what is no event moves none.
    ada.post("/inbox/read", event_id=shown)
    assert count(ada) == ""
    for wrong in ("", "x", "ffffffff-ffff-7fff-bfff-ffffffffffff"):
        assert ada.post("/inbox/read", event_id=wrong).status_code == 422
    assert ada.post("/inbox/OPEN-99/read", event_id=shown).status_code == 404


def test_pages_go_on_by_key(ada, cast, watched, monkeypatch):
    monkeypatch.setattr(pages, "ROWS", 2)
    for body in ("One", "Two", "Three"):
        say(cast.smith, watched, body)
    first = ada.get(HERE)
    assert ("Three" in first.text, "One" in text_of(first)) == (True, False)
    older = ada.get(re.search(r'href="(/inbox\?cursor=[^"]+)">Older', first.text)[1])
    assert "One" in text_of(older)
    assert "Mark these and older read" in older.text
    assert ada.get("/inbox?cursor=x").location == HERE


def test_much_news_is_counted_so_far(ada, cast, watched, monkeypatch):
    monkeypatch.setattr(service, "COUNTED", 1)
    monkeypatch.setattr(pages, "SHOWN", 2)
    for body in ("One", "Two", "Three"):
        say(cast.smith, watched, body)
    assert count(ada) == "99+"
    assert "and 1 more before" in text_of(ada.get(HERE))


def test_old_news_is_lost_from_sight(ada, cast, watched, monkeypatch):
    say(cast.smith, watched, "@ada?")
    later = service.now_ms() + (service.DAYS + 1) * service.DAY_MS
    monkeypatch.setattr(service, "now_ms", lambda: later)
    assert "All read" in ada.get(HERE).text
    assert count(ada) == ""


def test_the_header_tells_whether_a_bot_is_at_work(ada, cast, monkeypatch):
    assert "at-work" in ada.get("/standing").text
    later = service.now_ms() + service.AT_WORK_MS + 1000
    monkeypatch.setattr(service, "now_ms", lambda: later)
    assert "at-work" not in ada.get("/standing").text


def test_the_header_costs_a_page_nothing_and_itself_little(ada, cast, watched):
    say(cast.smith, watched, "@ada")
    assert 'hx-get="/standing"' in ada.get("/projects").text
    with ada.statements() as seen:
        ada.get("/standing", htmx=True)
    assert len(seen) <= 5, seen
