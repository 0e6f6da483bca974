"""Comments are searched, and rank below titles and bodies."""

import pytest

from tests.support.cases import cases
from tests.support.story import make_ticket, ok


def search(caller, q, **query):
    return ok(caller.get("/search", query_string={"q": q, **query}))["data"]


def found(caller, q, **query):
    return [hit.get("display_id") for hit in search(caller, q, **query)]


def say(caller, body, ticket="OPEN-1"):
    return ok(caller.post(f"/tickets/{ticket}/comments", {"body": body}), 201)["id"]


@pytest.fixture
def ada(cast):
    return cast.ada


@pytest.fixture(autouse=True)
def ticket(cast, ada):
    return make_ticket(ada, cast.open_project, title="Lamp", body="It is dark")


def test_a_comment_ranks_below_bodies_and_is_named(cast, ada):
    make_ticket(ada, cast.open_project, title="Other", body="A flicker of light")
    make_ticket(ada, cast.open_project, title="Flicker")
    comment = say(ada, "I saw it **flicker** in the [hall](https://example.com/x).")
    say(ada, "Nothing")
    hits = search(ada, "flicker")
    assert [hit["display_id"] for hit in hits] == ["OPEN-3", "OPEN-2", "OPEN-1"]
    assert [hit["comment_id"] for hit in hits] == [None, None, comment]
    assert [hit["score"] for hit in hits] == [5.0, 2.0, 0.0]
    assert hits[2]["snippet"] == "I saw it flicker in the hall."
    start, end = hits[2]["highlights"][0]
    assert hits[2]["snippet"][start:end] == "flicker"


@cases("q", ["flickers", "flick", "f", "flickering hall", '"long hall"', "lamp hall", '"long hal'])
def test_words_stems_beginnings_and_phrases(ada, q):
    say(ada, "It flickers in the long hall")
    assert found(ada, q) == ["OPEN-1"]


@pytest.mark.parametrize("q", ['"hall long"', '"first second"', "flickers -hall", "cellar"])
def test_what_no_comment_has_is_not_found(ada, q):
    say(ada, "It flickers in the long hall, first")
    say(ada, "second")
    assert found(ada, q) == []


def test_an_edit_a_deletion_and_a_restoration_are_followed(ada, cast):
    comment = say(ada, "candle")
    ok(ada.patch(f"/comments/{comment}", {"body": "lantern"}))
    assert (found(ada, "candle"), found(ada, "lantern")) == ([], ["OPEN-1"])
    ok(ada.delete(f"/comments/{comment}"), 204)
    assert found(ada, "lantern") == []
    say(ada, "torch")
    ok(ada.delete("/tickets/OPEN-1"), 204)
    assert found(ada, "torch") == []


def test_a_change_of_the_ticket_keeps_its_comments(ada):
    say(ada, "candle")
    ok(ada.patch("/tickets/OPEN-1", {"title": "Lights"}))
    assert found(ada, "candle") == ["OPEN-1"]


def test_lists_find_comments_too_and_bots_only_see_theirs(ada, cast):
    say(ada, "candle")
    listed = ok(ada.get("/tickets", query_string={"q": "candle"}))["data"]
    assert [one["display_id"] for one in listed] == ["OPEN-1"]
    assert found(cast.fenced, "candle") == []


def test_the_newest_hundred_comments_are_indexed(ada):
    say(ada, "oldest")
    for number in range(100):
        say(ada, f"word{number}")
    assert found(ada, "oldest") == []
    assert found(ada, "word0") == found(ada, "word99") == ["OPEN-1"]


def test_pages_of_hits_go_on_into_comments(ada, cast):
    make_ticket(ada, cast.open_project, title="Candle")
    make_ticket(ada, cast.open_project, body="candle")
    make_ticket(ada, cast.open_project)
    say(ada, "candle")
    say(ada, "candle", "OPEN-4")
    seen, cursor = [], None
    while True:
        query = {"q": "candle", "limit": 1} | ({"cursor": cursor} if cursor else {})
        page = ok(ada.get("/search", query_string=query))
        seen += [hit["display_id"] for hit in page["data"]]
        cursor = page["page"]["next_cursor"]
        if cursor is None:
            break
    assert seen == ["OPEN-2", "OPEN-3", "OPEN-4", "OPEN-1"]


def test_what_an_import_added_is_not_indexed(ada, cast):
    body = "A text\n\n---\n\nImported from github-7, created by zed"
    make_ticket(ada, cast.open_project, body=body)
    assert found(ada, "zed") == found(ada, "github") == []
    assert search(ada, "text")[0]["snippet"] == "A text"


def test_reindexing_keeps_comments(app, ada):
    say(ada, "candle")
    result = app.test_cli_runner().invoke(args=["reindex"])
    assert result.exit_code == 0
    assert found(ada, "candle") == ["OPEN-1"]


def test_the_page_leads_to_the_comment(cast, ada):
    comment = say(ada, "candle")
    shown = ada.client.get("/search?q=candle").get_data(as_text=True)
    assert f'href="/tickets/OPEN-1#comment-{comment}"' in shown
    assert "In a comment" in shown
