"""The inbox: what others did on one's tickets, until it is read; and the count in the header."""

import re

import pytest
from sqlalchemy import insert

from app.audit.models import AuditEvent
from app.core import clock, ids
from app.database.connect import for_writing
from app.database.session import db
from app.inbox import inbox_page as pages
from app.inbox import service
from app.inbox.mentions import mention_pattern
from tests.support.story import make_ticket, ok, urgent
from tests.web.test_home import say, see_all, text_of

HERE = "/inbox"


@pytest.fixture
def watched(cast, ticket):
    """The ticket, which ada watches; what she did on it is no news to her."""
    ok(cast.ada.post(f"/tickets/{ticket['id']}/watchers", {}))
    return ticket


def newest(page, reference):
    """The newest event that the form of this ticket marks as read."""
    return form_of(page, reference, "read")["event_id"]


def form_of(page, reference, mark):
    """The fields of the form that marks this ticket as read or unread."""
    start = page.text.split(f'action="/inbox/{reference}/{mark}"')[1]
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', start.split("</form>")[0]))


def count(ada):
    """The count in the header."""
    found = re.search(
        r'class="inbox-count"[^>]*>([^<]+)<', ada.get("/header-status", htmx=True).text
    )
    return found[1] if found else ""


def test_what_others_did_is_told_by_ticket(ada, cast, watched):
    assert "You’re all caught up" in ada.get(HERE).text
    say(cast.smith, watched, "One")
    say(cast.ada, watched, "Mine")
    say(cast.bo, watched, "**Two** <b> in `code`\n\n- a [link](https://example.org/)")
    cast.smith.patch(f"/tickets/{watched['id']}", {"priority": "low"})
    text = text_of(ada.get(HERE))
    assert text.count("A &lt;i&gt;ticket&lt;/i&gt;") == 1
    order = [
        "Smith bot lowered the priority to low",
        "Two &lt;b&gt; in code",
        "Smith bot commented",
        "One",
    ]
    assert [text.index(words) for words in order] == sorted(text.index(words) for words in order)
    # Without Markdown syntax, as in search results.
    assert "a link" in text
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
    # A deleted ticket has no news.
    ok(cast.bo.delete(f"/tickets/{held['id']}"), 204)
    assert "Held" not in text_of(ada.get(HERE))
    assert count(ada) == "1"


def test_a_mention_is_replied_to_in_the_inbox(ada, cast, watched):
    reference = watched["display_id"]
    say(cast.smith, watched, "Look")
    assert "/reply" not in ada.get(HERE).text
    say(cast.smith, watched, "@ada, which one?")
    page = ada.get(HERE)
    start = page.text.split(f'action="/tickets/{reference}/reply"')[1]
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', start.split("</form>")[0]))
    say(cast.smith, watched, "Said since")
    replied = ada.post(f"/tickets/{reference}/reply", body="The second.", **sent)
    assert replied.location == HERE
    said = cast.ada.get(f"/tickets/{watched['id']}/comments").json["data"][-1]
    assert said["body"] == "The second."
    # The comments that were shown are read; the later one is not.
    text = text_of(ada.get(HERE))
    assert "Said since" in text
    assert "which one?" not in text
    refused = ada.post(f"/tickets/{reference}/reply", body="Kept", event_id="x", show="all")
    assert refused.status_code == 422
    assert "Kept</textarea>" in refused.text
    assert cast.ada.get(f"/tickets/{watched['id']}/comments").json["data"][-1] == said


def test_a_comment_is_told_as_it_is_now(ada, cast, watched):
    gone = say(cast.bo, watched, "Secret one, @ada?")
    ok(cast.bo.delete(f"/comments/{gone['id']}"), 204)
    page = ada.get(HERE)
    assert "Secret" not in page.text
    assert "mentioned you" not in page.text
    assert "/reply" not in page.text
    assert "Bo commented" in text_of(page)
    edited = say(cast.bo, watched, "Secret two, @ada?")
    ok(cast.bo.patch(f"/comments/{edited['id']}", {"body": "Secret three, @ada?"}))
    ok(cast.bo.patch(f"/comments/{edited['id']}", {"body": "The fourth, @ada?"}))
    page = ada.get(HERE)
    assert "Secret" not in page.text
    assert page.text.count("The fourth, @ada?") == 1
    assert "Bo mentioned you" in text_of(page)
    ok(cast.bo.patch(f"/comments/{edited['id']}", {"body": "Never mind"}))
    page = ada.get(HERE)
    assert "Never mind" in page.text
    assert "mentioned you" not in page.text
    assert "/reply" not in page.text


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
    form = form_of(ada.get(HERE), "OPEN-1", "read")
    marked = ada.post("/inbox/OPEN-1/read", htmx=True, **form)
    # With scripts the entry stays, so that it can be marked unread, and the header is updated.
    assert 'action="/inbox/OPEN-1/unread"' in marked.text
    assert 'hx-swap-oob="innerHTML:.header-status"' in marked.text
    assert "1 unread ticket<" in marked.text
    text = text_of(ada.get(HERE))
    assert "Two" not in text
    assert other["title"] in text


def test_what_was_read_is_marked_unread_again(ada, cast, watched):
    say(cast.smith, watched, "One")
    say(cast.smith, watched, "Two")
    form = form_of(ada.get(HERE), "OPEN-1", "read")
    again = ada.post("/inbox/OPEN-1/read", htmx=True, **form)
    assert "You’re all caught up" in ada.get(HERE).text
    back = ada.post("/inbox/OPEN-1/unread", htmx=True, **form_of(again, "OPEN-1", "unread"))
    assert 'action="/inbox/OPEN-1/read"' in back.text
    assert "1 unread ticket<" in back.text
    text = text_of(ada.get(HERE))
    assert ("One" in text, "Two" in text) == (True, True)
    # Two unread comments on one ticket count once.
    assert count(ada) == "1"
    for wrong in ("", "x"):
        assert ada.post("/inbox/OPEN-1/unread", oldest=wrong).status_code == 422


def test_all_shows_what_is_read_too(ada, cast, watched):
    say(cast.smith, watched, "One")
    say(cast.smith, watched, "Two")
    ada.post("/inbox/read", event_id=newest(ada.get(HERE), "OPEN-1"))
    assert "OPEN-1" not in text_of(ada.get(HERE))
    page = ada.get(f"{HERE}?show=all")
    assert "One" in text_of(page)
    # Without scripts the form leads back here; only the newest event becomes unread.
    form = form_of(page, "OPEN-1", "unread")
    assert ada.post("/inbox/OPEN-1/unread", **form).location == f"{HERE}?show=all"
    text = text_of(ada.get(HERE))
    assert ("One" in text, "Two" in text) == (False, True)
    # Marking all as read includes what was set back to unread.
    ada.post("/inbox/read", event_id=newest(ada.get(HERE), "OPEN-1"))
    assert "You’re all caught up" in ada.get(HERE).text
    assert count(ada) == ""


def test_everything_is_read_up_to_what_was_shown(ada, cast, watched):
    say(cast.smith, watched, "One")
    shown = newest(ada.get(HERE), "OPEN-1")
    say(cast.smith, watched, "Two")
    assert ada.post("/inbox/read", event_id=shown).location == HERE
    text = text_of(ada.get(HERE))
    assert ("One" in text, "Two" in text) == (False, True)
    ada.post("/inbox/read", event_id=newest(ada.get(HERE), "OPEN-1"))
    assert "You’re all caught up" in ada.get(HERE).text
    assert count(ada) == ""
    # A marker only moves forward, and only to an event.
    ada.post("/inbox/read", event_id=shown)
    assert count(ada) == ""
    for wrong in ("", "x", "ffffffff-ffff-7fff-bfff-ffffffffffff"):
        assert ada.post("/inbox/read", event_id=wrong).status_code == 422
    assert ada.post("/inbox/OPEN-99/read", event_id=shown).status_code == 404


@pytest.fixture
def set_clock_behind(database, monkeypatch):
    """Make the process look like one whose clock is behind by an hour, on PostgreSQL.

    The monotonic clock can stand still while a machine is suspended.
    """

    def run():
        if database.kind == "postgresql":
            ahead_ns = clock._shared.ahead_ns - clock.HOUR_MS * 1_000_000
            monkeypatch.setattr(clock, "_shared", clock._SharedTime(ahead_ns))
            monkeypatch.setattr(ids, "_last_ms", 0)

    return run


def test_news_of_a_process_that_was_suspended_is_told_after_all_was_read(
    ada, cast, watched, set_clock_behind
):
    say(cast.smith, watched, "First")
    ada.post("/inbox/read", event_id=newest(ada.get(HERE), "OPEN-1"))
    set_clock_behind()
    say(cast.bo, watched, "Second")
    assert "Second" in text_of(ada.get(HERE))


@pytest.mark.parametrize("is_behind", [False, True], ids=["in time", "behind"])
@pytest.mark.parametrize("marking", ["/inbox/read", "/inbox/OPEN-1/read"])
def test_what_commits_late_is_told_after_all_was_read(
    ada, app, database, cast, watched, marking, is_behind, set_clock_behind
):
    if database.kind != "postgresql":
        # It has one writer at a time.
        return
    say(cast.smith, watched, "First")
    if is_behind:
        set_clock_behind()
    with app.app_context(), db.engine.connect() as slow, for_writing(slow).begin():
        slow.execute(insert(AuditEvent).values(urgent(watched)))
        say(cast.bo, watched, "Second")
        page = ada.get(HERE)
        text = text_of(page)
        assert "First" in text
        ada.post(marking, event_id=newest(page, "OPEN-1"))
    text = text_of(ada.get(HERE))
    assert "Second" in text
    assert "urgent" in text
    assert "First" not in text


def test_pages_go_on_by_key(ada, cast, watched, monkeypatch):
    monkeypatch.setattr(pages, "TICKETS", 1)
    other = make_ticket(cast.bo, cast.open_project, "Other", assignee_user_id=cast.ada.user_id)
    say(cast.smith, watched, "One")
    first = ada.get(HERE)
    assert ("One" in text_of(first), other["title"] in text_of(first)) == (True, False)
    older = ada.get(re.search(r'href="(/inbox\?cursor=[^"]+)">Older', first.text)[1])
    assert ("One" in text_of(older), other["title"] in text_of(older)) == (False, True)
    assert "Mark these and older as read" in older.text
    assert "Older</a>" not in older.text
    assert ada.get("/inbox?cursor=x").location == HERE


def test_much_news_is_counted_so_far(ada, cast, watched, monkeypatch):
    monkeypatch.setattr(service, "MAX_COUNT", 1)
    monkeypatch.setattr(service, "EVENTS_PER_TICKET", 2)
    for body in ("One", "Two", "Three"):
        say(cast.smith, watched, body)
    assert count(ada) == "99+"
    text = text_of(ada.get(HERE))
    assert "and 1 earlier" in text
    assert ("One" in text, "Two" in text) == (False, True)


def test_old_news_is_lost_from_sight(ada, cast, watched, monkeypatch):
    say(cast.smith, watched, "@ada?")
    later = service.now_ms() + (service.DAYS + 1) * service.DAY_MS
    monkeypatch.setattr(service, "now_ms", lambda: later)
    assert "You’re all caught up" in ada.get(HERE).text
    assert count(ada) == ""


def test_the_header_tells_whether_a_bot_is_at_work(ada, cast, monkeypatch):
    assert "at-work" in ada.get("/header-status").text
    later = service.now_ms() + service.AT_WORK_MS + 1000
    monkeypatch.setattr(service, "now_ms", lambda: later)
    assert "at-work" not in ada.get("/header-status").text


def test_the_header_costs_a_page_nothing_and_itself_little(ada, cast, watched):
    say(cast.smith, watched, "@ada")
    assert 'hx-get="/header-status"' in ada.get("/projects").text
    with ada.statements() as seen:
        ada.get("/header-status", htmx=True)
    assert len(seen) <= 5, seen


def test_what_changed_is_said_in_words(ada, cast, watched):
    other = make_ticket(cast.ada, cast.open_project, "Epic", type="epic")
    states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
    label = ok(cast.bo.post(f"/projects/{cast.open_project}/labels", {"name": "ui"}), 201)
    path = f"/tickets/{watched['id']}"
    changes = (
        ({"priority": "urgent"}, "raised the priority to urgent"),
        ({"priority": "high"}, "lowered the priority to high"),
        ({"label_ids": [label["id"]]}, "added the label ui"),
        ({"due_date": "2026-12-24"}, "set the due date to 24 Dec"),
        ({"parent_ticket_id": other["id"]}, f"changed the parent to {other['display_id']}"),
        ({"assignee_user_id": cast.ada.user_id}, "assigned this to you"),
    )
    for change, words in changes:
        cast.bo.patch(path, change)
        assert f"Bo {words}" in text_of(ada.get(HERE))
    cast.bo.post(f"{path}/transition", {"state_id": states[1]["id"]})
    assert "Bo moved from Backlog to To do" in text_of(ada.get(HERE))


def test_a_browser_asks_for_the_newest(ada, cast, watched):
    start = re.search(r'data-latest="([^"]+)"', ada.get(HERE).text)[1]
    assert ada.get(f"/inbox/newest?after={start}").status_code == 204
    cast.smith.patch(f"/tickets/{watched['id']}", {"priority": "low"})
    news = ada.get(f"/inbox/newest?after={start}").json
    assert news["title"] == "Smith lowered the priority of OPEN-1 to low"
    assert news["body"] == watched["title"]
    assert news["address"] == "/tickets/OPEN-1"
    assert ada.get(f"/inbox/newest?after={news['id']}").status_code == 204
    say(cast.smith, watched, "@ada?")
    assert ada.get("/inbox/newest?after=x").json["title"] == "Smith mentioned you on OPEN-1"
    # What was read is no news.
    ada.post("/inbox/read", event_id=newest(ada.get(HERE), "OPEN-1"))
    assert ada.get(f"/inbox/newest?after={start}").status_code == 204


def test_an_excerpt_cuts_no_link_and_keeps_a_picture():
    mention = mention_pattern("ada")
    link = "[the runbook](https://docs.example.org/runbook)"
    words = "word " * 46
    assert pages.excerpt(f"{words}{link} and more to read", mention) == (f"{words}the", True)
    assert pages.excerpt(f"{words[:-60]}{link}", mention) == (f"{words[:-60]}the runbook", False)
    said, is_cut = pages.excerpt(f"{words}{link} {words[:40]}@ada {link} end", mention)
    assert said.startswith("…")
    assert "](" not in said
    assert "@ada the runbook end" in said
    assert not is_cut
    assert pages.excerpt("![](/files/1)", mention) == ("![](/files/1)", False)
    assert pages.excerpt("x" * 300, mention) == ("x" * 240, True)
    assert pages.excerpt("", mention) == ("", False)


def test_a_browser_is_told_what_commits_after_the_page(ada, app, database, cast, watched):
    if database.kind != "postgresql":
        return
    with app.app_context(), db.engine.begin() as slow:
        slow.execute(insert(AuditEvent).values(urgent(watched)))
        make_ticket(cast.bo, cast.open_project, "Nothing to her")
        start = re.search(r'data-latest="([^"]+)"', ada.get(HERE).text)[1]
    assert "urgent" in ada.get(f"/inbox/newest?after={start}").json["title"]


def test_what_bots_did_counts_on_home_if_it_commits_after_the_rest_was_seen(
    ada, app, database, cast, ticket
):
    if database.kind != "postgresql":
        return
    say(cast.smith, ticket, "One")
    with app.app_context(), db.engine.begin() as slow:
        slow.execute(insert(AuditEvent).values(urgent(ticket, cast.smith.user_id)))
        say(cast.smith, ticket, "Two")
        see_all(ada, ada.get("/"))
    text = text_of(ada.get("/"))
    assert "Smith · 1 comment · 1 changed" in text
