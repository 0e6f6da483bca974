"""If nothing matches all words, search finds what matches any of them."""

import pytest

from app.search import any_word
from tests.support.agent import Agent
from tests.support.story import ok, refused


@pytest.fixture(name="ask")
def _ask(cast):
    """Search as ada; return the titles, and how they match."""

    def run(q, **filters):
        found = ok(cast.ada.get("/search", query_string={"q": q, "match": "any", **filters}))
        return [row["title"] for row in found["data"]], found["matched"]

    return run


def test_most_words_come_first_and_then_those_in_the_title(ticket, ask):
    ticket("Smoke", "nothing else")
    ticket("Fourth", "the printer")
    ticket("Printer", "it hums")
    ticket("First", "the printer is full of smoke")
    ticket("Other", "unrelated")
    found, matched = ask("printer smoke zebra")
    assert found == ["First", "Printer", "Smoke", "Fourth"]
    assert matched == "any"


def test_what_has_all_words_is_shown_alone(ticket, ask):
    ticket("Both", "printer smoke")
    ticket("One", "printer")
    assert ask("printer smoke") == (["Both"], "all")
    assert ask("zebra") == ([], "all")
    assert ask("zebra unicorn") == ([], "all")
    assert ask("printer -smoke") == (["One"], "all")


def test_all_words_are_needed_unless_any_was_asked_for(ticket, cast):
    ticket("One", "printer")
    for match in ("", "&match=all"):
        found = ok(cast.ada.get(f"/search?q=printer+zebra{match}"))
        assert (found["data"], found["matched"]) == ([], "all")
    assert ok(cast.ada.get("/search?q=printer+zebra&match=any"))["matched"] == "any"
    refused(cast.ada.get("/search?q=printer&match=some"), 422, "request.validation_error")
    ticket("Two", "printer")
    cursor_of_any = ok(cast.ada.get("/search?match=any&q=printer&limit=1"))["page"]["next_cursor"]
    other = cast.ada.get(f"/search?q=printer&cursor={cursor_of_any}")
    refused(other, 400, "validation.invalid_field", reason="cursor_filter_mismatch")


def test_what_is_excluded_stays_excluded(ticket, ask):
    ticket("Both", "printer smoke")
    ticket("One", "printer")
    assert ask("printer zebra -smoke") == (["One"], "any")


def test_phrases_and_beginnings_count_as_one_word(ticket, ask):
    ticket("Phrase", "a quick brown fox")
    ticket("Words", "a brown quick fox")
    ticket("Begun", "authentication")
    assert ask('"quick brown" zebra') == (["Phrase"], "any")
    assert ask('"quick brown" auth') == (["Begun", "Phrase"], "any")


def test_comments_are_searched_and_named(ticket, cast):
    made = ticket("Quiet")
    comment = ok(cast.ada.post(f"/tickets/{made['id']}/comments", {"body": "It smokes"}), 201)
    ticket("Smoke", "in the text")
    found = ok(cast.ada.get("/search?match=any&q=zebra+smoke"))
    assert [row["title"] for row in found["data"]] == ["Smoke", "Quiet"]
    assert [row["comment_id"] for row in found["data"]] == [None, comment["id"]]
    assert "smokes" in found["data"][1]["snippet"]


def test_filters_and_allowlists_hold(ticket, page, ask, cast):
    ticket("Seen", "printer")
    page("Page", "printer")
    assert ask("printer zebra", type="wiki_page") == (["Page"], "any")
    assert ask("printer zebra", project_id=cast.open_project) == (["Seen"], "any")
    assert ask("printer zebra", project_id=cast.fenced_project) == ([], "all")
    fenced = ok(cast.fenced.get("/search?match=any&q=printer+zebra"))
    assert [row["title"] for row in fenced["data"]] == ["Page"]


def test_pages_meet_every_row_once(ticket, ask, cast):
    for number in range(7):
        ticket(f"Printer {number}" if number % 2 else f"Other {number}", "printer smoke"[number:])
    everything, _ = ask("printer smoke zebra")
    assert len(everything) > 4
    seen, cursor = [], None
    while cursor is not None or not seen:
        given = {
            "q": "printer smoke zebra",
            "match": "any",
            "limit": 2,
            **({"cursor": cursor} if cursor else {}),
        }
        found = ok(cast.ada.get("/search", query_string=given))
        assert found["matched"] == "any"
        seen += [row["title"] for row in found["data"]]
        cursor = found["page"]["next_cursor"]
    assert seen == everything


def test_a_cursor_is_of_its_search(ticket, cast):
    ticket("One", "printer")
    ticket("Two", "printer")
    cursor = ok(cast.ada.get("/search?match=any&q=printer+zebra&limit=1"))["page"]["next_cursor"]
    other = cast.ada.get(f"/search?match=any&q=printer+lion&cursor={cursor}")
    refused(other, 400, "validation.invalid_field", reason="cursor_filter_mismatch")


@pytest.fixture(name="few")
def _few(monkeypatch):
    monkeypatch.setattr(any_word, "COMMON", 2)


def test_a_common_word_does_not_count_beside_a_rare_one(ticket, ask, few):
    for number in range(4):
        ticket(f"Common {number}", "the printer")
    ticket("Rare", "smoke")
    ticket("Both", "smoke of the")
    assert ask("the smoke zebra") == (["Both", "Rare"], "any")


def test_of_common_words_alone_the_newest_are_compared(ticket, ask, few):
    for number in range(5):
        ticket(f"One {number}", "printer")
    for number in range(4):
        ticket(f"Other {number}", "smoke")
    ticket("Both", "printer smoke")
    found, matched = ask('printer smoke "no such"')
    assert found[0] == "Both"
    assert matched == "any"
    # The newest three documents with each word go back this far.
    assert set(found[1:]) <= {f"Other {number}" for number in range(4)} | {"One 4", "One 3"}


def test_any_number_of_words_is_answered(ticket, ask):
    ticket("Found", "incomprehensibilities")
    words = " ".join(f"w{number}" for number in range(90))
    assert ask(f"{words} incomprehensibilities")[0] == ["Found"]


def test_a_tool_says_so_only_then(ticket, cast):
    agent = Agent(cast.smith)
    ticket("Both", "printer smoke")
    assert agent.lean("search", q="printer zebra")["matched"] == "any"
    assert "matched" not in agent.lean("search", q="printer smoke")
    assert agent.call("search", q="printer smoke")["matched"] == "all"


def titles(answer):
    return [row["title"] for row in answer["data"]]


def test_a_list_of_tickets_falls_back_too_and_keeps_its_filters(ticket, cast):
    agent = Agent(cast.smith)
    ticket("Smoke", "nothing else", priority="high")
    ticket("Printer", "it hums")
    ticket("Unrelated", "neither")
    q = "How do I mend the printer that smokes"
    found = agent.lean("list_tickets", q=q)
    assert (titles(found), found["matched"]) == (["Printer", "Smoke"], "any")
    assert titles(agent.lean("list_tickets", q=q, priority="high")) == ["Smoke"]
    assert titles(agent.lean("list_tickets", q=q, sort="rank", project="OPEN")) == titles(
        agent.call("list_tickets", q=q, sort="rank", project="OPEN")
    )
    assert titles(agent.lean("list_tickets", q=q, project="FENCED")) == []
    counted = agent.lean("list_tickets", q=q, count_by="priority")
    assert counted == {"counts": {"high": 1, "medium": 1}, "matched": "any"}
    assert agent.lean("list_tickets", q=q, limit=0) == {"total": 2, "matched": "any"}


def test_a_list_of_what_has_all_words_says_nothing_of_it(ticket, cast):
    agent = Agent(cast.smith)
    ticket("Both", "printer smoke")
    ticket("One", "printer")
    for q, found in (("printer smoke", ["Both"]), ("zebra", []), ("zebra unicorn", [])):
        answer = agent.lean("list_tickets", q=q)
        assert titles(answer) == found, q
        assert "matched" not in answer, q


def test_pages_of_a_list_stay_with_how_the_first_matched(ticket, cast, ada):
    agent = Agent(cast.smith)
    for number in range(3):
        ticket(f"{number}", "printer")
    both = [ticket(f"both {number}", "printer smoke")["id"] for number in range(3)]

    def second(q):
        first = agent.lean("list_tickets", q=q, limit=2)
        return first["page"]["next_cursor"]

    by_any, by_all = second("printer zebra"), second("printer smoke")
    found = agent.lean("list_tickets", q="printer zebra", limit=2, cursor=by_any)
    assert (titles(found), found["matched"]) == (["both 0", "2"], "any")
    ok(ada.delete(f"/tickets/{both[0]}"), 204)
    assert agent.lean("list_tickets", q="printer smoke", limit=2, cursor=by_all)["data"] == []
