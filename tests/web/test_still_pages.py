"""Pages whose parts are kept, or that are kept whole: nobody is shown anything but what is so."""

import gzip
import re
from uuid import UUID

import pytest
from jinja2 import pass_context
from markupsafe import Markup

from app.core.actor import ANONYMOUS
from app.core.at_hand import notes
from app.core.clock import MINUTE_MS
from app.web import filters, pieces
from app.web.render import page_of
from tests.web.pieces_on_page import NOON, PACKED, without_keys


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
    assert made == ["<a>", "b"]


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


def test_what_a_kept_page_itself_says_by_the_clock_is_told_when_it_is_sent(env, whole, clock):
    made = []
    env.globals["told"] = made.append
    env.write("page.html", "{% set _ = told(at) %}<p>{{ ui.time(at) }}</p> {{ at | ago }}")
    for passed, said in ((0, "just now"), (7, "7 min ago"), (60 * 24, "yesterday")):
        clock(NOON + passed * MINUTE_MS)
        text = whole("page.html", at=NOON)
        assert text.count(f">{said}</time></p>") == 1
        assert text.endswith(f" {said}")
    assert made == [NOON]


def test_a_wiki_page_says_how_long_ago_it_was_edited(ada, cast, guide, monkeypatch):
    def seen():
        return re.search(r"Edited by .*?</time>", ada.get("/projects/OPEN/wiki/set-up").text)[0]

    assert seen().endswith(">just now</time>")
    later = filters.now_ms() + 3 * MINUTE_MS
    monkeypatch.setattr(filters, "now_ms", lambda: later)
    monkeypatch.setattr(pieces, "now_ms", lambda: later)
    assert seen().endswith(">3 min ago</time>")
    ada.client.set_cookie("times", "exact")
    assert seen().endswith(" UTC</time>")
    ada.client.delete_cookie("times")
    assert seen().endswith(">3 min ago</time>")


def test_a_part_of_a_kept_page_is_kept_alone_once_another_page_shows_it(env, whole):
    made = []
    env.globals["told"] = made.append
    env.write("part.html", "{% set _ = told(name) %}<i>{{ name }}</i>")
    for page in ("one", "another", "third"):
        env.write(f"{page}.html", page + " {{ still('part.html', name=name) }}")
        for _ in range(4):
            assert whole(f"{page}.html", name="a") == f"{page} <i>a</i>"
    # Once with the page that is kept, then to be kept alone.
    assert made == ["a"] * 2


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
    assert changed("another page of this name in the workspace")
    cast.ada.delete(f"/wiki/pages/{namesake.json['id']}")
    assert "another page of this name" not in seen()
    cast.ada.patch(f"/projects/{cast.open_project}", {"name": "Reopened"})
    assert changed("Reopened")


def test_what_a_page_is_made_of_is_all_that_its_context_is_given(app, env):
    """So nothing can be shown that the page is not kept by."""
    env.write("wiki/show.html", "{{ a }}{{ b }}")
    given = []

    def context(**values):
        given.append(values)
        return values

    with app.test_request_context():
        notes().actor = ANONYMOUS
        for values in ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1, "b": 2}):
            shown = page_of("wiki/show.html", context, **values).get_data(as_text=True)
            assert shown == f"{values['a']}{values['b']}"
    assert given == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]
