"""Pieces of pages, which are made once for what they show."""

import gzip
import re
from collections.abc import Iterator
from uuid import UUID

import pytest
from jinja2 import ChoiceLoader, DictLoader, meta, nodes, pass_context
from markupsafe import Markup, escape

from app.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from app.markdown import Laid, Resolved, Targets, render
from app.web import filters, pieces
from app.web.packing import PiecedPage

PACKED = {"Accept-Encoding": "gzip"}
NOON = 1_800_000_000_000 // DAY_MS * DAY_MS + DAY_MS // 2
# What a template may ask for though a piece does not give it: these parts are shown alone too, and
# then with more, or a form is in them that was refused.
MORE = {
    *("again", "by", "out_of_band"),
    *("relation_form", "watcher_form", "users"),
    *("standing", "shown"),
}
# Of what they include these show the title or the text, in which no reader is named.
WITHOUT_READER = {"tickets/_head.html", "tickets/_fact.html"}
# What is another each time, or of the request at hand.
NOT_STILL = {"new_key", "request", "session", "g", "config", "get_flashed_messages", "place"}


@pytest.fixture
def clock(monkeypatch):
    """Sets the clock of pages."""

    def set_to(moment):
        monkeypatch.setattr(pieces, "now_ms", lambda: moment)
        monkeypatch.setattr(filters, "now_ms", lambda: moment)

    set_to(NOON)
    return set_to


@pytest.fixture
def env(app, monkeypatch):
    """The templates, with some of our own: ``write(name, source)``."""
    env, own = app.jinja_env, {}
    monkeypatch.setattr(env, "loader", ChoiceLoader([DictLoader(own), env.loader]))
    monkeypatch.setattr(env, "bytecode_cache", None)
    monkeypatch.setattr(env, "write", own.__setitem__, raising=False)
    monkeypatch.setattr(env, "globals", {**env.globals})
    return env


@pytest.fixture
def shown(app, env):
    """What a template makes of values as a part of no page."""

    def ask(template, **values):
        with app.test_request_context(headers=values.pop("headers", {})):
            return str(env.globals["still"](template, **values))

    return ask


def test_a_piece_that_is_asked_for_again_is_kept(env, shown):
    made = []
    env.globals["told"] = made.append
    env.write("piece.html", "{% set _ = told(row.name) %}<b>{{ row.name }}</b>")
    for _ in range(4):
        assert shown("piece.html", row={"name": "<a>"}) == "<b>&lt;a&gt;</b>"
    assert shown("piece.html", row={"name": "b"}) == "<b>b</b>"
    assert made == ["<a>", "<a>", "b"]


def test_a_piece_sees_nothing_but_what_it_is_given(env, shown):
    env.write("piece.html", "{{ me }}{{ prefers }}{{ app_name }}{{ row }}")
    assert shown("piece.html", row=7) == "7"


def test_what_is_safe_is_not_taken_for_what_is_not(env, shown):
    env.write("piece.html", "{{ one.text }}")
    for _ in range(3):
        assert shown("piece.html", one={"text": Markup("<b>")}) == "<b>"
        assert shown("piece.html", one={"text": "<b>"}) == "&lt;b&gt;"


def test_whoever_works_on_a_template_sees_what_they_changed(app, env, shown, monkeypatch):
    monkeypatch.setitem(app.config, "DEBUG", True)
    env.write("piece.html", "before")
    assert [shown("piece.html") for _ in range(3)] == ["before"] * 3
    env.write("piece.html", "after")
    env.cache.clear()
    assert shown("piece.html") == "after"


def test_what_is_no_plain_value_keeps_no_piece(env, shown):
    env.write("piece.html", "{{ form }}")
    with pytest.raises(TypeError, match="not JSON serializable"):
        shown("piece.html", form=object())


@pytest.mark.parametrize(
    ("passed", "lasts"),
    [
        (0, MINUTE_MS),
        (MINUTE_MS - 1, 1),
        (5 * MINUTE_MS + 7, MINUTE_MS - 7),
        (3 * HOUR_MS + 7, HOUR_MS - 7),
        (DAY_MS + 7, DAY_MS - 7),
        (4 * DAY_MS + 7, DAY_MS - 7),
        (31 * DAY_MS - 1, 1),
        # It shows a date, which shows its year from the next year on.
        (40 * DAY_MS, DAY_MS // 2),
    ],
)
def test_a_piece_lasts_until_time_would_change_it(env, shown, clock, passed, lasts):
    made = []
    env.globals["told"] = made.append
    env.write("piece.html", "{% set _ = told(1) %}{{ at | ago }}")
    shown("piece.html", at=NOON - passed)
    before = shown("piece.html", at=NOON - passed)
    clock(NOON + lasts - 1)
    assert shown("piece.html", at=NOON - passed) == before
    assert len(made) == 2
    clock(NOON + lasts)
    after = shown("piece.html", at=NOON - passed)
    assert len(made) == 3
    assert after != before or passed > 31 * DAY_MS


def test_a_date_lasts_until_the_day_is_over(env, shown, clock):
    env.write("piece.html", "{{ 'late' if due | is_past else 'in time' }}")
    due = filters.today()
    assert shown("piece.html", due=due) == shown("piece.html", due=due) == "in time"
    clock(NOON + DAY_MS // 2 - 1)
    assert shown("piece.html", due=due) == "in time"
    clock(NOON + DAY_MS // 2)
    assert shown("piece.html", due=due) == "late"


def test_a_clock_that_was_set_back_keeps_no_piece(env, shown, clock):
    env.write("piece.html", "{{ at | ago }}")
    for _ in range(2):
        assert shown("piece.html", at=NOON - 5 * MINUTE_MS) == "5 min ago"
    clock(NOON - 3 * MINUTE_MS)
    assert shown("piece.html", at=NOON - 5 * MINUTE_MS) == "2 min ago"


def test_who_wants_exact_times_has_pieces_with_them(env, shown, clock):
    env.write("piece.html", "{{ at | ago }}")
    for _ in range(3):
        assert shown("piece.html", at=NOON) == "just now"
        assert shown("piece.html", at=NOON, headers={"Cookie": "times=exact"}).endswith(" UTC")


def test_a_piece_within_a_piece_makes_it_last_no_longer(env, shown, clock):
    env.write("outer.html", "[{{ still('inner.html', at=at) }}]")
    env.write("inner.html", "{{ at | ago }}")
    for _ in range(3):
        assert shown("inner.html", at=NOON) == "just now"
    for _ in range(3):
        assert shown("outer.html", at=NOON) == "[just now]"
    clock(NOON + MINUTE_MS)
    assert shown("outer.html", at=NOON) == "[1 min ago]"


def test_a_page_has_its_pieces_wherever_they_are_shown(app, env, shown):
    env.write("piece.html", "<i>{{ text }}</i>")
    env.write(
        "page.html",
        "{% set late = still('piece.html', text='late') %}{{ still('piece.html', text='early') }}"
        " & {{ text }} {{ late }}{{ late }}",
    )
    for text in ("early", "early", "late", "late"):
        shown("piece.html", text=text)
    text = pieces._SLOT.format(1)
    with app.test_request_context(), pieces.placing() as made:
        page = PiecedPage(made.parts(env.get_template("page.html").render(text=text)), 200)
    whole = f"<i>early</i> & {escape(text)} <i>late</i><i>late</i>"
    assert page.get_data(as_text=True) == whole


def test_a_piece_within_a_piece_is_part_of_it(app, env):
    env.write("outer.html", "[{{ still('inner.html', text=text) }}]")
    env.write("inner.html", "<i>{{ text }}</i>")
    still = env.globals["still"]
    for _ in range(4):
        with app.test_request_context(), pieces.placing() as made:
            text = str(still("outer.html", text="a")) + str(still("inner.html", text="a"))
        page = PiecedPage(made.parts(text), 200)
        assert page.get_data(as_text=True) == "[<i>a</i>]<i>a</i>"
    assert len(made.pieces) == 2


def without_keys(text):
    """A page without what is another each time."""
    head, *rest = text.split('name="idempotency_key" value="')
    return [head, *(one[36:] for one in rest)]


@pytest.mark.parametrize("path", ["/tickets/OPEN-1", "/projects/OPEN/wiki/set-up", "/help"])
def test_pages_are_the_same_packed_and_plain(ada, ticket, guide, path):
    for _ in range(3):
        packed = ada.get(path, **PACKED)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Length"] == str(len(packed.data))
    plain = ada.get(path)
    assert plain.headers["Content-Length"] == str(len(plain.data))
    assert pieces._SLOT.partition(" ")[0] not in plain.text
    assert ada.client.head(path, headers={"Accept": "text/html"}).data == b""
    assert without_keys(gzip.decompress(packed.data).decode()) == without_keys(plain.text)


def test_a_changed_ticket_is_another_page_at_once(ada, cast, ticket, path):
    def seen():
        return [ada.get("/tickets/OPEN-1").text for _ in range(3)][-1]

    assert "Stop watching" in seen()
    me = cast.ada.get("/users/me").json["id"]
    assert cast.ada.delete(f"{path}/watchers/{me}").status_code == 204
    assert "Stop watching" not in seen()
    cast.ada.patch(path, {"title": "Renamed", "body": "Rewritten", "priority": "urgent"})
    for text in ("Renamed", "Rewritten", "Urgent"):
        assert text in seen()
    cast.ada.post(f"{path}/comments", {"body": "Said **again**."})
    assert "<strong>again</strong>" in seen()
    cast.ada.patch(f"/users/{me}", {"display_name": "Ada Renamed"})
    assert "Ada Renamed" in seen()


def test_readers_are_shown_what_they_may_do(ada, cast, ticket):
    others = type(ada)(cast.bo.client, ada.app)
    for reader, caller, may_edit in ((ada, cast.ada, True), (others, cast.bo, False)) * 3:
        text = reader.get("/tickets/OPEN-1").text
        assert ("Edit this comment" in text) is may_edit
        me = caller.get("/users/me").json["id"]
        assert f'name="value" value="{me}">Assign to me' in text


@pytest.mark.parametrize(
    "path", ["/tickets/OPEN-1", "/tickets/OPEN-2", "/projects/OPEN/wiki/set-up"]
)
def test_pieces_say_what_they_would_if_they_saw_all(ada, cast, ticket, guide, env, path):
    """A value that a piece is given in part lacks nothing that is shown of it."""
    cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": "Another, *once*."})
    kept = ada.get(path).text

    @pass_context
    def seeing_all(context, template, **given):
        seen = {**given, **context.get_all()}
        return Markup(env.get_template(template).render(seen))  # noqa: S704 - a template made it

    env.globals["still"] = seeing_all
    assert without_keys(ada.get(path).text) == without_keys(kept)


@pytest.fixture
def whole(app, env):
    """A whole page that a template makes of values, as text."""

    def ask(template, **values):
        with app.test_request_context(headers=values.pop("headers", {})):
            parts = app.extensions["docket_still_page"](template, values)
            return PiecedPage(parts, 200).get_data(as_text=True)

    return ask


def test_a_whole_page_is_kept_but_for_the_keys_of_its_forms(env, whole):
    made = []
    env.globals["told"] = made.append
    env.write("part.html", "<i>{{ name }}</i>")
    env.write(
        "page.html",
        "{% set _ = told(name) %}{{ still('part.html', name=name) }}"
        "|{{ ui.once() }}|{{ new_key() }}",
    )
    keys = set()
    for _ in range(5):
        part, once, key = whole("page.html", name="<a>").split("|")
        assert part == "<i>&lt;a&gt;</i>"
        keys |= {key, *re.findall(r'value="([^"]+)"', once)}
    assert len(keys) == 10
    assert all(UUID(key).version == 4 for key in keys)
    assert whole("page.html", name="b").startswith("<i>b</i>|")
    assert made == ["<a>", "<a>", "b"]


def test_a_whole_page_lasts_until_time_would_change_it(env, whole, clock):
    env.write("part.html", "{{ at | ago }}")
    env.write("page.html", "{{ still('part.html', at=at) }} {{ (at + 1) | ago }}")
    for _ in range(3):
        assert whole("page.html", at=NOON) == "just now just now"
    clock(NOON + MINUTE_MS)
    for _ in range(3):
        assert whole("page.html", at=NOON) == "1 min ago just now"
    exact = whole("page.html", at=NOON, headers={"Cookie": "times=exact"})
    assert exact.count(" UTC") == 2
    clock(NOON + MINUTE_MS + 1)
    assert whole("page.html", at=NOON) == "1 min ago 1 min ago"


def test_a_part_of_a_kept_page_is_kept_alone_once_another_page_shows_it(env, whole):
    made = []
    env.globals["told"] = made.append
    env.write("part.html", "{% set _ = told(name) %}<i>{{ name }}</i>")
    for page in ("one", "another", "third"):
        env.write(f"{page}.html", page + " {{ still('part.html', name=name) }}")
        for _ in range(4):
            assert whole(f"{page}.html", name="a") == f"{page} <i>a</i>"
    # Twice for the page that is kept with it, then to be kept alone.
    assert made == ["a"] * 3


def test_whoever_works_on_a_whole_page_sees_what_they_changed(app, env, whole, monkeypatch):
    monkeypatch.setitem(app.config, "DEBUG", True)
    for text in ("before", "after"):
        env.write("page.html", text)
        env.cache.clear()
        assert [whole("page.html") for _ in range(3)] == [text] * 3


@pytest.mark.parametrize("path", ["/tickets/OPEN-1", "/projects/OPEN/wiki/set-up"])
def test_a_whole_page_is_as_its_reader_chose_at_once(ada, cast, ticket, guide, path):
    def seen():
        return [ada.get(path, **PACKED) for _ in range(3)][-1]

    assert b'data-theme="dark"' not in gzip.decompress(seen().data)
    ada.client.set_cookie("theme", "dark")
    assert b'data-theme="dark"' in gzip.decompress(seen().data)
    others = type(ada)(cast.bo.client, ada.app)
    for reader, caller in ((ada, cast.ada), (others, cast.bo)) * 3:
        me = caller.get("/users/me").json["username"]
        assert f'<strong id="signed-in">{me}</strong>' in reader.get(path).text
    ada.client.delete_cookie("theme")


def test_whole_pages_ask_for_nothing_of_the_request(app):
    for template in pieces.STILL_PAGES:
        asked = asked_of_page(app.jinja_env, template)
        # It is asked by the frame of all pages.
        assert "prefers" in asked
        assert not asked & (NOT_STILL - {"new_key", "place"}), template


def test_the_judge_of_whole_pages_sees_what_stands_above(env):
    env.write("above.html", "{{ request.path }}{% block one %}{% endblock %}")
    env.write("page.html", "{% extends 'above.html' %}{% block one %}{{ given }}{% endblock %}")
    assert asked_of_page(env, "page.html") >= {"request", "given"}


def asked_of_page(env, name: str) -> set[str]:
    """As ``asked_for``, with what it extends, and with the macros of all pages."""
    parsed = env.parse(env.loader.get_source(env, name)[0])
    names = asked_for(env, name)
    for above in parsed.find_all(nodes.Extends):
        names |= asked_of_page(env, above.template.value)
    return names | asked_for(env, "macros/ui.html")


def stills(env, name: str) -> Iterator[tuple[str, set[str]]]:
    """The pieces that a template asks for, and what it gives them."""
    source = env.loader.get_source(env, name)[0]
    for call in env.parse(source).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "still":
            yield call.args[0].value, {one.key for one in call.kwargs}


def asked_for(env, name: str) -> set[str]:
    """What a template asks for, with all that it includes."""
    source = env.loader.get_source(env, name)[0]
    parsed = env.parse(source)
    names = set(meta.find_undeclared_variables(parsed))
    # What all templates have counts as declared.
    names |= {one.name for one in parsed.find_all(nodes.Name) if one.ctx == "load"} & NOT_STILL
    if any(one.attr == "once" for one in parsed.find_all(nodes.Getattr)):
        names.add("new_key")
    set_here = {one.name for one in parsed.find_all(nodes.Name) if one.ctx != "load"}
    for include in parsed.find_all(nodes.Include):
        names |= asked_for(env, include.template.value) - set_here
    return names


def test_pieces_are_given_all_that_they_show(app):
    env = app.jinja_env
    found = [
        (piece, given)
        for name in env.list_templates(extensions=("html",))
        for piece, given in stills(env, name)
    ]
    assert len(found) > 5
    for template, given in found:
        asked = asked_for(env, template)
        assert not asked & NOT_STILL, template
        missing = asked - given - set(env.globals) - MORE
        assert missing <= ({"me"} if template in WITHOUT_READER else set()), template


def test_the_judge_of_pieces_sees_what_is_missing(env):
    env.write("page.html", "{{ still('piece.html', given=1) }}")
    env.write("piece.html", "{% set own = 1 %}{{ given }}{% include 'part.html' %}{{ ui.once() }}")
    env.write("part.html", "{{ own }}{{ forgotten }}")
    assert list(stills(env, "page.html")) == [("piece.html", {"given"})]
    assert asked_for(env, "piece.html") == {"given", "forgotten", "new_key"}


def test_a_wiki_page_follows_what_its_links_lead_to_at_once(ada, cast, guide):
    def seen():
        return [ada.get("/projects/OPEN/wiki/leading").text for _ in range(3)][-1]

    here = {"project_id": cast.open_project}
    body = here | {"slug": "leading", "title": "Leading", "body": "To [[led]] and [[set-up]]."}
    assert cast.ada.post("/wiki/pages", body).status_code == 201
    before = seen()
    made = cast.ada.post("/wiki/pages", here | {"slug": "led", "title": "Led before"})
    assert made.status_code == 201
    assert "Led before" not in before
    assert "Led before" in seen()
    cast.ada.patch(f"/wiki/pages/{made.json['id']}", {"title": "Led now"})
    assert "Led now" in seen()
    assert "Led before" not in seen()


def test_laid_out_texts_are_known_by_what_they_were_made_of(env, shown):
    env.write("piece.html", "{{ one.html }}")
    before = render("A *text*.").html
    assert isinstance(before, Laid)
    assert before.made_of
    for _ in range(3):
        assert shown("piece.html", one={"html": before}) == str(before)
    # What was put together of it says nothing of how.
    more = before + Markup("<hr>")
    assert shown("piece.html", one={"html": more}) == f"{before}<hr>"
    assert render("Another.").html.made_of != before.made_of
    leading = [
        render("[[x]]", resolver=lambda _, to=to: Targets({"x": Resolved("/x", to)}, {})).html
        for to in ("One", "Two")
    ]
    assert leading[0].made_of != leading[1].made_of
