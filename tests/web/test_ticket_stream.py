"""The stream of a ticket on its page: lines, runs of lines, filters, word diffs."""

import re
from dataclasses import replace
from io import BytesIO

import pytest

from app.core import clock
from app.tickets import page_queries
from tests.support.cases import cases
from tests.web.stream_on_page import REF, events, stream


def test_a_line_says_from_what_to_what_in_words(ada, cast, path):
    cast.ada.patch(path, {"assignee_user_id": cast.bo.user_id})
    cast.smith.patch(path, {"assignee_user_id": cast.smith.user_id, "due_date": "2031-02-03"})
    cast.ada.patch(path, {"assignee_user_id": None, "title": "Another <b>title</b>"})
    text = stream(ada.get(REF))
    assert "changed the assignee from Bo to Smith" in text
    assert "set the due date to 3 Feb 2031" in text
    assert "removed the assignee Smith" in text
    assert "Another &lt;b&gt;title&lt;/b&gt;" in text
    # History shows names, never ids.
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-7", text)


def test_a_comment_that_comes_while_the_page_is_read_is_on_it(ada, cast, path, monkeypatch):
    read = page_queries.subject
    cast.bo.post(f"{path}/comments", {"body": "Meanwhile."})
    monkeypatch.setattr(
        page_queries, "subject", lambda *given: replace(read(*given), has_comments=False)
    )
    # The page already knows the comment's event, so it would not arrive as news.
    assert "Meanwhile." in stream(ada.get(REF))


def test_changes_by_one_actor_within_minutes_are_one_line(ada, cast, path):
    for fields in ({"priority": "low"}, {"due_date": "2031-02-03"}, {"body": "New."}):
        cast.smith.patch(path, fields)
    page = ada.get(REF)
    assert "Smith bot changed priority, due date, description · 3 changes" in stream(page)
    assert page.text.count('class="run"') == 1
    ada.post(f"{REF}/files", file=(BytesIO(b"one"), "one.txt"))
    ada.post(f"{REF}/files", file=(BytesIO(b"two"), "two.txt"))
    cast.ada.post(f"{path}/links", {"url": "https://example.org/1"})
    assert "Ada changed files, links · 3 changes" in stream(ada.get(REF))
    # A change by somebody else ends the run.
    cast.bo.patch(path, {"title": "Between"})
    cast.smith.patch(path, {"priority": "high"})
    assert ada.get(REF).text.count('class="run"') == 2


def test_changes_far_apart_stay_lines_of_their_own(ada, cast, path, monkeypatch):
    # Ids do not go back in time: reset the last one, so that later tests get current ids.
    monkeypatch.setattr("app.core.ids._last_ms", 0)
    start = clock.now_ms()
    for minutes in (0, 6, 12):
        moment = start + minutes * clock.MINUTE_MS
        monkeypatch.setattr("app.core.ids.now_ms", lambda moment=moment: moment)
        cast.smith.patch(path, {"priority": "low" if minutes != 6 else "high"})
    assert 'class="run"' not in ada.get(REF).text


@cases(
    "show, there, away",
    [
        ("comments", ["Said.", "By the bot."], ["created this ticket", "priority"]),
        ("changes", ["created this ticket", "priority"], ["Said.", "By the bot."]),
        ("bots", ["By the bot.", "priority"], ["Said.", "created this ticket"]),
        ("nonsense", ["Said.", "By the bot.", "created this ticket", "priority"], []),
    ],
)
def test_the_stream_is_filtered_by_its_address(ada, cast, path, show, there, away):
    cast.smith.post(f"{path}/comments", {"body": "By the bot."})
    cast.smith.patch(path, {"priority": "low"})
    for page in (ada.get(f"{REF}?show={show}"), ada.get(f"{REF}?show={show}", htmx=True)):
        text = stream(page)
        assert [one for one in there if one not in text] == []
        assert [one for one in away if one in text] == []


def test_what_a_tool_did_leads_to_its_call(ada, cast, path):
    answer = call_tool(cast, "update_ticket", {"ticket_id": "OPEN-1", "priority": "urgent"})
    assert not answer["isError"], answer
    page = ada.get(REF).text
    (link,) = set(re.findall(r'href="(/audit/tools\?request_id=[^"]+)"', page))
    assert "update_ticket" in ada.get(link.replace("&amp;", "&")).text


def call_tool(cast, name, arguments):
    """Call a tool as smith over MCP."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    headers = {"Accept": "application/json, text/event-stream"}
    address = f"//mcp/bot/{cast.smith.token}/mcp"
    answer = cast.nobody.call("POST", address, json=body, headers=headers)
    return answer.json["result"]


def test_a_changed_description_is_compared_word_by_word(ada, cast, path):
    cast.ada.patch(path, {"body": "The quick fox jumps."})
    cast.smith.patch(path, {"body": "The slow fox jumps."})
    event = events(cast, "ticket.updated")[0]["id"]
    assert f"{REF}/changes/{event}" in ada.get(REF).text
    for htmx in (True, False):
        page = ada.get(f"{REF}/changes/{event}", htmx=htmx).text
        assert "<del>quick</del>" in page
        assert "<ins>slow</ins>" in page
        assert ("<html" in page) != htmx


@pytest.mark.parametrize("event", ["none", "00000000-0000-7000-8000-000000000009"])
def test_there_is_no_change_where_none_was(ada, ticket, cast, event):
    assert ada.get(f"{REF}/changes/{event}").status_code == 404
    other = events(cast, "ticket.relation_added")[0]["id"]
    assert ada.get(f"{REF}/changes/{other}").status_code == 404


def test_an_edited_comment_shows_what_it_said(ada, cast, path):
    made = cast.ada.post(f"{path}/comments", {"body": "First words."}).json["id"]
    for body in ("Second words.", "Third words."):
        cast.ada.patch(f"/comments/{made}", {"body": body})
    assert "edited 2 times" in ada.get(REF).text
    page = ada.get(f"/comments/{made}/history").text
    assert page.index("<ins>Third</ins>") < page.index("<ins>Second</ins>")


def test_a_deleted_comment_leaves_a_line_with_the_way_back(ada, cast, path):
    made = cast.ada.post(f"{path}/comments", {"body": "Regretted."}).json["id"]
    cast.bo.delete(f"/comments/{made}")
    page = ada.get(REF)
    assert "A comment by Ada was deleted by Bo" in stream(page)
    assert "Regretted." not in stream(page)
    event = events(cast, "comment.deleted")[0]["id"]
    assert ada.post(f"/audit/events/{event}/undo", back=REF).location == REF
    assert "Regretted." in stream(ada.get(REF))
