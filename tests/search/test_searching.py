"""What a search finds, in which order, and how it is displayed."""

import pytest

from tests.support.story import invalid, make_ticket, malformed, ok, refused, walk


def test_words_are_anded(ticket, page, titles):
    ticket("Gate", "It hangs in the wind")
    ticket("Fence", "The wind is cold")
    page("Weather", "wind and gate")
    assert titles("wind") == ["Weather", "Fence", "Gate"]
    assert titles("gate wind") == ["Gate", "Weather"]
    assert titles("gate cold") == []


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("The bots were running", "run"),
        ("run", "running"),
        ("connections", "connected"),
        ("Deployments failed", "deployment fail"),
        ("GRÖSSE", "grosse"),
        ("Straße", "strasse"),
        ("café", "cafe"),
        ("cafe\u0301", "café"),
        ("東京都庁", "京都"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("fixed 🐞 today", "🐞"),
        ("see foo.bar_baz()", "foo.bar_baz"),
        ("on 2026-11-20", "2026-11-20"),
        ("user@example.org", "user@example.org"),
    ],
)
def test_forms_of_a_word_are_the_same(ticket, titles, written, asked):
    ticket("Found", f"well, {written}, yes")
    assert titles(asked) == ["Found"]


@pytest.mark.parametrize(
    ("written", "asked"),
    [("organization", "organ x"), ("generate", "general x"), ("x one", "on x"), ("used", "us x")],
)
def test_words_that_only_look_alike_stay_apart(ticket, titles, written, asked):
    ticket("Found", f"{written} x")
    assert titles(asked) == []


def test_the_last_word_may_be_a_beginning(ticket, titles):
    ticket("Authentication")
    assert titles("a") == titles("auth") == titles("authentic") == ["Authentication"]
    assert titles("auth x") == []
    assert titles('"auth" authentication') == []


def test_phrases_and_words_that_must_not_occur(ticket, titles):
    ticket("One", "the quick brown fox")
    ticket("Two", "the brown quick fox")
    assert titles('"quick brown"') == ["One"]
    assert titles("fox -quick") == []
    assert titles('fox -"quick brown"') == ["Two"]
    assert titles('"quick bro') == ["One"]
    assert titles("-quick") == []
    ticket("Three", "something else")
    assert titles("-quick") == ["Three"]


def test_a_display_id_jumps_to_the_top(ticket, titles):
    ticket("First")
    ticket("Second", "see OPEN-1, open-1 and OPEN 1")
    for asked in ("OPEN-1", "open-1", "open 1"):
        assert titles(asked) == ["First", "Second"]


def test_hits_have_what_the_specification_names(search, ticket, page):
    made = ticket(
        "Mend <b>gate</b>", "x " * 300 + "here the gate hangs\n\nand   falls " + "y " * 300
    )
    page("The gate", "A gate")
    hits = {hit["type"]: hit for hit in search("gate")}
    hit = hits["ticket"]
    assert (hit["id"], hit["display_id"]) == (made["id"], made["display_id"])
    assert hit["state"] == made["state"]
    assert hit["priority"] == "medium"
    assert hit["title"] == "Mend <b>gate</b>"
    assert 100 < len(hit["snippet"]) <= 210
    assert "\n" not in hit["snippet"]
    assert [hit["snippet"][start:end] for start, end in hit["highlights"]] == ["gate"]
    assert hits["wiki_page"]["slug"] == "the-gate"
    assert isinstance(hit["score"], float)


def test_highlights_count_code_points(search, ticket):
    ticket("T", "🐞🐞 straße und STRASSE")
    (hit,) = search("strasse")
    marked = [hit["snippet"][start:end] for start, end in hit["highlights"]]
    assert marked == ["straße", "STRASSE"]


def test_a_snippet_shows_the_cells_of_a_table_and_leaves_other_bars(search, ticket):
    table = "| Step | Who |\n|:---|---:|\n| Mend the gate | | \n| Paint it | @ada |"
    ticket("Table", f"{table}\n\ncat gates | sort")
    (hit,) = search("gate")
    assert hit["snippet"] == "Step · Who Mend the gate Paint it · @ada cat gates | sort"


def test_a_snippet_of_a_long_text_is_plain_text_around_the_match(search, ticket):
    far = "\n\n".join(["Some *other* words, [linked](https://example.com/far)."] * 60)
    near = "## The **lamp** in [the hall](https://example.com/hall) `flickers` at night"
    ticket("Long", f"{far}\n\n{near}\n\n{far}")
    (hit,) = search("flickers")
    assert "The lamp in the hall flickers at night" in hit["snippet"]
    assert hit["snippet"].startswith("…")
    assert hit["snippet"].endswith("…")
    assert not set("*`[#") & set(hit["snippet"])
    assert [hit["snippet"][start:end] for start, end in hit["highlights"]] == ["flickers"]


def test_a_snippet_shows_words_rather_than_an_address(search, ticket):
    ticket("Long", f"[Here](https://example.com/hall) {'x ' * 1000} the hall is far away")
    (hit,) = search("hall")
    assert "the hall is far" in hit["snippet"]


def test_what_a_kind_is_called_is_no_word_of_it(titles, ticket, page):
    page("Deploy", "the body")
    ticket("Gate", "the body")
    for word in ("page", "wiki", "ticket", '"wiki page"'):
        assert titles(word) == []
    assert sorted(titles('body -"page" -"ticket"')) == ["Deploy", "Gate"]
    assert titles("body", type="wiki_page") == ["Deploy"]


def test_filters(titles, ticket, page, cast):
    ticket("Gate ticket")
    page("Gate page", project_id=cast.open_project)
    page("Gate of all")
    make_ticket(cast.ada, cast.fenced_project, "Gate fenced")
    assert set(titles("gate", type="ticket")) == {"Gate ticket", "Gate fenced"}
    assert set(titles("gate", type="wiki_page")) == {"Gate page", "Gate of all"}
    assert set(titles("gate", project_id=cast.open_project)) == {"Gate ticket", "Gate page"}


def test_the_index_follows_every_change(ada, ticket, page, titles):
    made = ticket("Before")
    path = f"/tickets/{made['id']}"
    ok(ada.patch(path, {"title": "After", "body": "inside"}))
    assert titles("before") == []
    assert titles("after") == titles("inside") == ["After"]
    ok(ada.patch(path, {"priority": "high"}))
    assert titles("after") == ["After"]
    ok(ada.delete(path), 204)
    assert titles("after") == []
    kept = page("Page", "words")
    ok(ada.patch(f"/wiki/pages/{kept['id']}", {"body": "others"}))
    assert titles("words") == []
    assert titles("others") == ["Page"]
    ok(ada.delete(f"/wiki/pages/{kept['id']}"), 204)
    assert titles("others") == []


def test_a_change_that_fails_leaves_no_trace(ada, ticket, titles):
    made = ticket("Before")
    invalid(ada.patch(f"/tickets/{made['id']}", {"title": "After", "body": "\x00"}), "body")
    assert titles("after") == []
    assert titles("before") == ["Before"]


def test_notes_are_not_searched(ada, ticket, titles, cast):
    note = ok(ada.post(f"/projects/{cast.open_project}/sticky-notes", {"body": "lantern"}), 201)
    assert titles("lantern") == []
    ok(ada.post(f"/sticky-notes/{note['id']}/convert-to-ticket"), 201)
    assert titles("lantern") == ["lantern"]


def test_what_lies_in_a_deleted_project_is_gone(ada, ticket, page, titles, cast):
    ticket("Gate")
    page("Gate page", project_id=cast.open_project)
    page("Gate of all")
    ok(ada.delete(f"/projects/{cast.open_project}"), 204)
    assert titles("gate") == ["Gate of all"]
    assert titles("gate", project_id=cast.open_project) == []


def test_bots_find_what_they_may_see(search, ticket, page, cast):
    ticket("Gate hidden")
    page("Gate page hidden", project_id=cast.open_project)
    page("Gate of all")
    make_ticket(cast.ada, cast.fenced_project, "Gate fenced")

    def seen(who, **filters):
        return {row["title"] for row in search("gate", who, **filters)}

    assert seen(cast.fenced) == {"Gate fenced", "Gate of all"}
    assert seen(cast.fenced, project_id=cast.open_project) == set()
    assert len(seen(cast.scout)) == len(seen(cast.smith)) == len(seen(cast.bo)) == 4
    found = ok(cast.fenced.get("/search?q=gate&limit=1"))
    assert found["page"]["has_more"]
    rest = walk(cast.fenced, "/search?q=gate", 1)
    assert len(rest) == 2
    assert search("OPEN-1", cast.fenced) == []
    refused(cast.nobody.get("/search?q=gate"), 401, "auth.unauthenticated")


def test_pages_neither_skip_nor_repeat(ada, ticket, page, titles):
    for number in range(7):
        ticket(f"Gate {number}")
        ticket(f"Other {number}", "a gate")
        page(f"Page {number}", "gate")
    whole = titles("gate", limit=200)
    assert len(whole) == 21
    for limit in (1, 2, 5, 20):
        assert [row["title"] for row in walk(ada, "/search?q=gate", limit)] == whole


def test_a_row_made_between_two_pages_moves_no_other(ada, ticket, titles):
    for number in range(4):
        ticket(f"Gate {number}")
    first = ok(ada.get("/search?q=gate&limit=2"))
    ticket("Gate new")
    rest = ok(ada.get(f"/search?q=gate&limit=9&cursor={first['page']['next_cursor']}"))
    shown = [row["title"] for row in first["data"] + rest["data"]]
    assert shown == ["Gate 3", "Gate 2", "Gate 1", "Gate 0"]


def test_bad_queries(ada):
    malformed(ada.get("/search"), ["query", "q"], "missing")
    for blank in ("", "%20", "%09%0A"):
        invalid(ada.get(f"/search?q={blank}"), "q")
    invalid(ada.get(f"/search?q={'x' * 501}"), "q", "too_long")
    invalid(ada.get("/search?q=a%00b"), "q", "nul_character")
    malformed(ada.get("/search?q=a&type=note"), ["query", "type"], "invalid_value")
    malformed(ada.get("/search?q=a&project_id=OPEN"), ["query", "project_id"], "invalid_value")
    invalid(ada.get("/search?q=a&limit=0"), "limit")


def test_cursors_belong_to_their_filters(ada, ticket):
    for number in range(3):
        ticket(f"Gate {number}")
    cursor = ok(ada.get("/search?q=gate&limit=1"))["page"]["next_cursor"]
    ok(ada.get(f"/search?q=gate&limit=2&cursor={cursor}"))
    for other in (
        "q=gates",
        "q=gate&type=ticket",
        f"q=gate&project_id={'0' * 8}-0000-7000-8000-{'0' * 12}",
    ):
        refused(
            ada.get(f"/search?{other}&cursor={cursor}"),
            400,
            "validation.invalid_field",
            reason="cursor_filter_mismatch",
        )
    lists = ok(ada.get("/tickets?limit=1"))["page"]["next_cursor"]
    for bad in ("x", lists, cursor[:-2], cursor + "A"):
        refused(
            ada.get(f"/search?q=gate&cursor={bad}"), 400, "validation.invalid_field", field="cursor"
        )


def test_unknown_parameters_are_ignored(ada, ticket):
    ticket("Gate")
    assert len(ok(ada.get("/search?q=gate&sort=asc"))["data"]) == 1
