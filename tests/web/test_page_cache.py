"""Cached pages never show anything out of date."""

import gzip
import re
from functools import partial
from uuid import UUID

import pytest
from markupsafe import Markup, escape

from app.core.actor import ANONYMOUS
from app.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from app.http import current
from app.http.current import current_g
from app.web import filters, page_cache
from app.web.compression import segment
from app.web.render import cached_page
from tests.support.cases import cases
from tests.web.templates_of_tests import COMPRESSED, NOON, without_keys


@cases("path", ["/tickets/OPEN-1", "/projects/OPEN/wiki/set-up", "/projects/OPEN/board", "/help"])
def test_pages_are_the_same_compressed_and_plain(ada, ticket, guide, path):
    for _ in range(3):
        compressed = ada.get(path, **COMPRESSED)
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert compressed.headers["Content-Length"] == str(len(compressed.data))
    plain = ada.get(path)
    assert plain.headers["Content-Length"] == str(len(plain.data))
    assert page_cache._MARK.partition(" ")[0] not in plain.text
    assert ada.client.head(path, headers={"Accept": "text/html"}).data == b""
    assert without_keys(gzip.decompress(compressed.data).decode()) == without_keys(plain.text)


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


def test_a_cached_page_says_what_an_uncached_one_would(app, ada, cast, ticket, guide, monkeypatch):
    cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": "Another, *once*."})
    for path in ("/tickets/OPEN-1", "/tickets/OPEN-2", "/projects/OPEN/wiki/set-up"):
        assert ada.get(path).status_code == 200
        cached = ada.get(path).text
        with monkeypatch.context() as patched:
            patched.setitem(app.config, "DEBUG", True)
            assert without_keys(ada.get(path).text) == without_keys(cached), path


def test_a_page_is_rendered_once_but_for_the_keys_of_its_forms(env, shown):
    made = []
    env.globals["note"] = made.append
    env.write(
        "page.html",
        "{% set _ = note(name) %}<i>{{ name }}</i>|{{ ui.once() }}|{{ form_key() }}",
    )
    keys = set()
    for _ in range(5):
        part, once, key = shown("page.html", name="<a>").split("|")
        assert part == "<i>&lt;a&gt;</i>"
        keys |= {key, *re.findall(r'value="([^"]+)"', once)}
    assert len(keys) == 10
    assert all(UUID(key).version == 4 for key in keys)
    assert shown("page.html", name="b").startswith("<i>b</i>|")
    assert made == ["<a>", "b"]


def test_a_page_that_must_not_be_cached_is_rendered_anew(env, shown):
    made = []

    def note():
        made.append("")
        page_cache.do_not_cache()
        return ""

    env.globals["note"] = note
    env.write("page.html", "{{ note() }}{{ text }}")
    assert [shown("page.html", text="a") for _ in range(3)] == ["a"] * 3
    assert len(made) == 3


def test_what_a_page_is_made_of_is_its_key(app, env):
    env.write("page.html", "{{ a }}{{ b }}")
    given = []

    def context(**values):
        given.append(values)
        return values

    with app.test_request_context():
        current_g().actor = ANONYMOUS
        for values in ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1, "b": 2}):
            made = partial(context, **values)
            shown = cached_page("page.html", values, made).get_data(as_text=True)
            assert shown == f"{values['a']}{values['b']}"
    assert given == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]


@pytest.mark.parametrize("text", ["", "ä", "<p>One.</p>" * 9_000])
def test_a_page_of_segments_and_late_values_is_one_gzip_stream(text):
    late = [lambda: "", lambda: "two minutes ago", lambda: "x" * 70_000]
    parts = [part for one in late for part in (segment(text.encode()), one)]
    page = page_cache.CachedPage((*parts, segment(b"end")))
    plain = "".join(text + one() for one in late) + "end"
    assert page.html().decode() == plain
    assert gzip.decompress(page.gzip()).decode() == plain


def test_safe_html_is_another_page_than_the_same_text(env, shown):
    env.write("page.html", "{{ one.text }}")
    for _ in range(3):
        assert shown("page.html", one={"text": Markup("<b>")}) == "<b>"
        assert shown("page.html", one={"text": "<b>"}) == "&lt;b&gt;"


def test_a_page_is_cached_by_plain_values_alone(env, shown):
    env.write("page.html", "{{ form }}")
    with pytest.raises(TypeError, match="not JSON serializable"):
        shown("page.html", form=object())


def test_no_text_can_name_the_place_of_a_late_value(env, shown):
    env.write("page.html", "{{ text }}{{ form_key() }}")
    marks = "".join(page_cache._MARK.format(number) for number in range(3))
    for _ in range(2):
        assert shown("page.html", text=marks).startswith(str(escape(marks)))


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
    ],
)
def test_how_long_ago_something_was_is_said_when_the_page_is_sent(env, shown, clock, passed, lasts):
    made = []
    env.globals["note"] = made.append
    env.write("page.html", "{% set _ = note(1) %}{{ at | ago }}")
    before = shown("page.html", at=NOON - passed)
    clock(NOON + lasts - 1)
    assert shown("page.html", at=NOON - passed) == before
    assert len(made) == (1 if lasts < DAY_MS // 2 else 2)
    clock(NOON + lasts)
    assert shown("page.html", at=NOON - passed) != before


def test_a_date_is_right_from_the_first_moment_of_a_day(env, shown, clock):
    env.write("page.html", "{{ 'late' if due | is_past else 'in time' }}")
    due = current.today().isoformat()
    assert shown("page.html", due=due) == shown("page.html", due=due) == "in time"
    clock(NOON + DAY_MS // 2 - 1)
    assert shown("page.html", due=due) == "in time"
    clock(NOON + DAY_MS // 2)
    assert shown("page.html", due=due) == "late"


def test_a_clock_that_was_set_back_is_followed(env, shown, clock):
    env.write("page.html", "{{ at | ago }}")
    for _ in range(2):
        assert shown("page.html", at=NOON - 5 * MINUTE_MS) == "5 min ago"
    clock(NOON - 3 * MINUTE_MS)
    assert shown("page.html", at=NOON - 5 * MINUTE_MS) == "2 min ago"


def test_who_wants_exact_times_has_pages_with_them(env, shown, clock):
    env.write("page.html", "{{ at | ago }}")
    for _ in range(3):
        assert shown("page.html", at=NOON) == "just now"
        assert shown("page.html", at=NOON, headers={"Cookie": "times=exact"}).endswith(" UTC")


def test_whoever_works_on_a_template_sees_the_changes(app, env, shown, monkeypatch):
    monkeypatch.setitem(app.config, "DEBUG", True)
    for text in ("before", "after"):
        env.write("page.html", text)
        env.cache.clear()
        assert [shown("page.html") for _ in range(3)] == [text] * 3


def test_a_wiki_page_says_how_long_ago_it_was_edited(ada, cast, guide, monkeypatch):
    def seen():
        return re.search(r"Edited by .*?</time>", ada.get("/projects/OPEN/wiki/set-up").text)[0]

    assert seen().endswith(">just now</time>")
    later = filters.now_ms() + 3 * MINUTE_MS
    monkeypatch.setattr(filters, "now_ms", lambda: later)
    assert seen().endswith(">3 min ago</time>")
    ada.client.set_cookie("times", "exact")
    assert seen().endswith(" UTC</time>")
    ada.client.delete_cookie("times")
    assert seen().endswith(">3 min ago</time>")


@pytest.mark.parametrize("path", ["/tickets/OPEN-1", "/projects/OPEN/wiki/set-up"])
def test_a_cached_page_is_as_its_reader_chose_at_once(ada, cast, ticket, guide, path):
    def seen():
        return [ada.get(path, **COMPRESSED) for _ in range(3)][-1]

    assert b'data-theme="dark"' not in gzip.decompress(seen().data)
    ada.client.set_cookie("theme", "dark")
    assert b'data-theme="dark"' in gzip.decompress(seen().data)
    others = type(ada)(cast.bo.client, ada.app)
    for reader, caller in ((ada, cast.ada), (others, cast.bo)) * 3:
        me = caller.get("/users/me").json["username"]
        told = f'<strong id="signed-in" data-behavior="signed-in">{me}</strong>'
        assert told in reader.get(path).text
    ada.client.delete_cookie("theme")


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


def test_a_wiki_page_follows_what_leads_to_it_and_who_is_named_on_it_at_once(ada, cast, guide):
    def seen():
        return [ada.get("/projects/OPEN/wiki/set-up").text for _ in range(3)][-1]

    def changed(has: str, lacks: str = "\0"):
        text = seen()
        return has in text and lacks not in text

    here = {"project_id": cast.open_project}
    assert not changed("Before it")
    linking = here | {"slug": "before", "title": "Before it", "body": "One says [[set-up]] first."}
    made = cast.ada.post("/wiki/pages", linking)
    assert made.status_code == 201
    assert changed("Before it")
    assert changed("One says")
    cast.ada.patch(f"/wiki/pages/{made.json['id']}", {"body": "Two say [[set-up]] now."})
    assert changed("Two say", "One says")
    cast.ada.delete(f"/wiki/pages/{made.json['id']}")
    assert "Before it" not in seen()

    me = cast.ada.get("/users/me").json["id"]
    cast.ada.patch(f"/users/{me}", {"display_name": "Ada Renamed"})
    assert changed("Edited by Ada Renamed")

    namesake = cast.ada.post("/wiki/pages", {"slug": "set-up", "title": "Everybody's"})
    assert namesake.status_code == 201
    assert changed("Another page with this name in the workspace")
    cast.ada.delete(f"/wiki/pages/{namesake.json['id']}")
    assert "another page of this name" not in seen()
    cast.ada.patch(f"/projects/{cast.open_project}", {"name": "Reopened"})
    assert changed("Reopened")
