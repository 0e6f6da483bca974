"""The search page and the palette, without a browser."""

import re

import pytest

from tests.support.cases import cases
from tests.support.story import make_ticket, ok


@pytest.fixture
def gates(cast):
    """A ticket in each project and two pages, all about gates."""
    made = [
        make_ticket(cast.ada, cast.open_project, "Mend the gate", body="It <b>hangs</b> loose"),
        make_ticket(cast.ada, cast.fenced_project, "Paint the fence", body="and the gates"),
    ]
    for title, project in (("Gates we have", cast.open_project), ("Of gates", None)):
        page = {"title": title, "body": "oak", "project_id": project}
        made.append(ok(cast.ada.post("/wiki/pages", page), 201))
    return made


def shown(text):
    """The addresses of the hits on a search page, in order."""
    return re.findall(r'class="stretched" href="([^"]+)"', text)


def options(text):
    """The addresses of the palette's options, in order."""
    return re.findall(r'role="option"[^>]* href="([^"]+)"', text)


def test_hits_are_shown_with_what_matches_marked(ada, gates):
    text = ada.get("/search?q=gate").text
    assert set(shown(text)) == {
        "/tickets/OPEN-1",
        "/tickets/FENCED-1",
        "/projects/OPEN/wiki/gates-we-have",
        "/wiki/of-gates",
    }
    assert "Mend the <mark>gate</mark>" in text
    assert "and the <mark>gates</mark>" in text


def test_nothing_that_was_written_or_asked_is_markup(ada, cast, gates):
    make_ticket(cast.ada, cast.open_project, "<mark>gate</mark><script>", body="<img src=x> gate")
    for path in ("/search?q=gate", "/search?q=%3Cscript%3Ealert(1)", '/search?q="><i>x'):
        text = ada.get(path).text
        assert "<script>" not in text
        assert "<img" not in text
        assert "<i>" not in text
        assert "<b>" not in text
    found = ada.get("/palette?q=gate", htmx=True).text
    assert "&lt;mark&gt;<mark>gate</mark>" in found


def test_filters_narrow_and_what_makes_no_sense_is_left_out(ada, cast, gates):
    assert len(shown(ada.get("/search?q=gate&type=ticket").text)) == 2
    assert len(shown(ada.get("/search?q=gate&type=wiki_page").text)) == 2
    in_project = f"/search?q=gate&project_id={cast.open_project}"
    assert len(shown(ada.get(in_project).text)) == 2
    assert len(shown(ada.get(f"{in_project}&type=ticket").text)) == 1
    for odd in ("type=note", "project_id=OPEN", "project_id=' OR 1=1", "sort=asc"):
        assert len(shown(ada.get(f"/search?q=gate&{odd}").text)) == 4


def test_the_form_keeps_what_was_asked(ada, cast, gates):
    text = ada.get(f'/search?q=%22a "&type=ticket&project_id={cast.open_project}').text
    assert 'value="&#34;a &#34;"' in text
    assert 'value="ticket" checked' in text
    assert f'value="{cast.open_project}" selected' in text


@cases("query", ["", "?q=", "?q=%20%09", "?q=&type=ticket"])
def test_without_words_nothing_is_looked_for(ada, gates, query):
    answer = ada.get(f"/search{query}")
    assert answer.status_code == 200
    assert shown(answer.text) == []
    assert "Search tickets, their comments" in answer.text


@cases("q", ["!!!", "'", '"', "-", "(", "a" * 900, "%ff%fe", "\U0001f41e"])
def test_no_question_is_an_error(ada, gates, q):
    for path in ("/search", "/palette"):
        assert ada.get(f"{path}?q={q}", htmx=True).status_code == 200


def test_where_nothing_fits_there_is_a_way_on(ada, cast, gates):
    text = ada.get(f"/search?q=lion+zebra&type=ticket&project_id={cast.open_project}").text
    assert "No results" in text
    assert "Showing results with any" not in text
    assert 'href="/search?q=lion+zebra"' in text
    assert 'href="/tickets/new?title=lion+zebra"' in text
    chosen = ada.get("/tickets/new?title=lion%20zebra").text
    assert 'href="/tickets/new?project=OPEN&amp;title=lion+zebra"' in chosen
    assert 'value="lion zebra"' in ada.get("/tickets/new?project=OPEN&title=lion+zebra").text


def test_where_nothing_has_all_words_any_of_them_are_shown(ada, gates):
    text = ada.get("/search?q=zebra+mend+gate").text
    assert "No result has all words. Showing results with any of them." in text
    assert shown(text)[0] == "/tickets/OPEN-1"
    assert len(shown(text)) == 4
    assert "Showing results with any" not in ada.get("/search?q=mend+gate").text
    palette = ada.get("/palette?q=zebra+gate", htmx=True).text
    assert options(palette) == ["/search?q=zebra+gate"]


def test_pages_of_results_follow_each_other(ada, cast):
    for number in range(65):
        make_ticket(cast.ada, cast.open_project, f"Gate {number}")
    seen, path = [], "/search?q=gate"
    while path:
        text = ada.get(path).text
        seen += shown(text)
        more = re.search(r'href="([^"]+)" rel="next"', text)
        path = more.group(1).replace("&amp;", "&") if more else ""
    assert seen == [f"/tickets/OPEN-{number}" for number in range(65, 0, -1)]


def test_a_cursor_of_another_search_starts_at_the_top(ada, cast, gates):
    assert ada.get("/search?q=gate&cursor=nonsense").location == "/search?q=gate"
    cursor = ok(cast.ada.get("/search?q=gate&match=any&limit=1"))["page"]["next_cursor"]
    assert ada.get(f"/search?q=gat&cursor={cursor}").location == "/search?q=gat"
    assert ada.get(f"/search?q=gate&cursor={cursor}").status_code == 200


def test_htmx_gets_the_results_alone(ada, gates):
    text = ada.get("/search?q=gate", htmx=True).text
    assert text.strip().startswith('<div id="results">')
    assert "<html" not in text
    assert "4 results" in text


def test_the_palette_offers_hits_and_commands(ada, gates):
    text = ada.get("/palette?q=gate", htmx=True).text
    assert set(options(text)[:4]) == set(shown(ada.get("/search?q=gate").text))
    assert options(text)[-1] == "/search?q=gate"
    assert text.count('role="group"') == 2


def test_a_display_id_comes_first_whatever_else_fits(ada, cast, gates):
    make_ticket(cast.ada, cast.open_project, "Like OPEN-1, open-1")
    for typed in ("OPEN-1", "open-1", "open%201"):
        assert options(ada.get(f"/palette?q={typed}", htmx=True).text)[0] == "/tickets/OPEN-1"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("new t", "/tickets/new"),
        ("new ticket in op", "/tickets/new?project=OPEN"),
        ("board in open", "/projects/OPEN/board"),
        ("BOARD OPEN", "/projects/OPEN/board"),
        ("settings fenc", "/projects/FENCED/settings/general"),
        ("theme", "/profile"),
        ("my no", "/sticky-notes"),
    ],
)
def test_commands_are_found_by_their_words(ada, cast, typed, first):
    assert options(ada.get(f"/palette?q={typed}", htmx=True).text)[0] == first


def test_a_command_that_is_meant_comes_before_hits(ada, cast):
    make_ticket(cast.ada, cast.open_project, "New ticket form is slow")
    assert options(ada.get("/palette?q=new+ticket", htmx=True).text)[0] == "/tickets/new"
    assert options(ada.get("/palette?q=ticket+form", htmx=True).text)[0] == "/tickets/OPEN-1"


def test_without_words_the_palette_begins_with_the_project_at_hand(ada, cast):
    text = ada.get("/palette?q=&project=FENCED", htmx=True).text
    assert options(text)[:2] == ["/projects/FENCED/board", "/tickets/new?project=FENCED"]
    assert options(ada.get("/palette", htmx=True).text)[0] == "/tickets/new"


def test_open_tickets_come_before_done_ones_unless_one_is_named(ada, cast):
    states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
    done = next(one["id"] for one in states if one["category"] == "done")
    for number in range(12):
        more = {"state_id": done} if number > 2 else {}
        make_ticket(cast.ada, cast.open_project, f"Hinge {number}", **more)
    found = options(ada.get("/palette?q=hinge", htmx=True).text)
    assert found[:3] == [f"/tickets/OPEN-{number}" for number in (3, 2, 1)]
    assert found[3] == "/tickets/OPEN-12"
    assert len([one for one in found if one.startswith("/tickets/OPEN")]) == 8
    assert options(ada.get("/palette?q=open-9", htmx=True).text)[0] == "/tickets/OPEN-9"
    assert options(ada.get("/palette?q=hinge+9", htmx=True).text)[0] == "/tickets/OPEN-10"


def test_icons_of_a_hit_tell_its_type_and_state(ada, cast, gates):
    text = ada.get("/palette?q=mend", htmx=True).text
    assert 'class="type type-story" role="img" aria-label="Story"' in text
    assert '<span class="state state-backlog" aria-hidden="true"></span>Backlog' in text


def test_on_a_ticket_the_palette_offers_its_actions(ada, gates):
    text = ada.get("/palette?q=&project=OPEN&ticket=OPEN-1", htmx=True).text
    assert options(text)[0] == "/tickets/OPEN-1/fields/state"
    assert 'data-press="copy-link"' in text
    text = ada.get("/palette?q=copy+pro&ticket=OPEN-1", htmx=True).text
    assert re.findall(r'data-press="([^"]+)"', text) == ["copy-prompt-for-an-agent"]
    for wrong in ("", "nonsense", "OPEN-1/../x", "open-1"):
        text = ada.get(f"/palette?q=&ticket={wrong}", htmx=True).text
        assert "data-press" not in text


def test_every_action_stands_on_the_page_of_a_ticket(ada, gates):
    text = ada.get("/tickets/OPEN-1").text
    palette = ada.get("/palette?q=&ticket=OPEN-1", htmx=True).text
    keys = re.findall(r'data-press="([^"]+)"', palette)
    assert len(keys) == 11
    assert [key for key in keys if f'data-key="{key}"' not in text] == []


def test_every_command_leads_somewhere(ada, cast):
    found = set()
    for typed in ("", "open", "new", "wiki", "p", "b", "s"):
        found |= {*options(ada.get(f"/palette?q={typed}&project=OPEN", htmx=True).text)}
    for address in found:
        assert ada.get(address.replace("&amp;", "&")).status_code in (200, 303), address


def test_the_palette_is_part_of_a_page(ada, stranger, cast):
    assert ada.get("/palette?q=gate").location == "/search?q=gate"
    assert stranger.get("/palette?q=gate", htmx=True).status_code == 401
    assert stranger.get("/search?q=gate").location == "/login?next=/search%3Fq%3Dgate"


@pytest.mark.parametrize("path", ["/search?q=gate", "/palette?q=gate"])
def test_more_hits_take_no_more_statements(ada, cast, gates, path):
    with ada.statements() as before:
        assert ada.get(path, htmx=True).status_code == 200
    # A few for the page, and for each of the five tiers those that search the index.
    assert len(before) <= 8 + 5 * 3, "\n\n".join(before)
    for number in range(12):
        make_ticket(cast.ada, cast.open_project, f"Gate {number}")
    with ada.statements() as after:
        assert ada.get(path, htmx=True).status_code == 200
    assert len(after) <= len(before), "\n\n".join(after)


def test_the_id_in_the_tracker_it_came_from_leads_to_a_ticket(app, cast, ada, tmp_path):
    (tmp_path / "moved.jsonl").write_text('{"id": "LAMP-7", "title": "A <lamp>"}')
    arguments = ["import-issues", "--project", "OPEN", "--as", "ada", f"{tmp_path}/moved.jsonl"]
    assert app.test_cli_runner().invoke(args=arguments).exit_code == 0
    for typed in ("LAMP-7", "lamp-7"):
        text = ada.get(f"/search?q={typed}").text
        assert '<a href="/tickets/OPEN-1">OPEN-1 A &lt;lamp&gt;</a>' in text
        assert 'class="panel empty"' not in text
    assert "was imported as" not in ada.get("/search?q=LAMP-77").text
    ok(cast.ada.delete("/tickets/OPEN-1"), 204)
    assert "was imported as" not in ada.get("/search?q=LAMP-7").text
