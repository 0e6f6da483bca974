"""Rendering takes bounded time, for each text and for all texts of a page."""

import re
import time

import pytest

from app.core.cache import Cache
from app.markdown import budget, rendering, source
from app.markdown.rendering import render
from tests.support.story import make_ticket, ok
from tests.support.timing import processor_seconds

# Input that is slow in the library: lists in lists, quotes in quotes, wide tables.
HOSTILE = {
    "nested lists": "\n".join(" " * (number % 60) * 4 + "- x" for number in range(9_000)),
    "nested quotes": "\n\n".join(">" * (number % 90) + " x" for number in range(3_000)),
    "table": "|".join("a" * 500) + "\n" + "|".join(["-"] * 500) + ("\n" + "|".join("b" * 500)) * 60,
    "emphasis": "*a **b " * 9_000,
    "brackets": "[" * 30_000 + "](x)" * 8_000,
    "addresses": "http://a " * 7_000,
    "headings": "# \n" * 20_000,
}


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Clear the render caches, once before the test and whenever the result is called."""

    def forget():
        for cache in ("_laid_out", "_linked"):
            monkeypatch.setattr(rendering, cache, Cache(rendering.CAPACITY))

    forget()
    return forget


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_has_so_long(text):
    shown = []
    # Steps that cannot be interrupted take no longer than this.
    allowed = budget.TEXT_SECONDS + 0.4
    taken = processor_seconds(
        lambda number: shown.append(render(f"{number}\n\n{text}"[:65_536])), enough=allowed
    )
    assert taken < allowed
    assert all(text.html for text in shown)


def test_what_takes_too_long_is_shown_as_its_source_and_not_tried_again(monkeypatch):
    monkeypatch.setattr(budget, "TEXT_SECONDS", 1e-9)
    shown = render("# <b>Heading</b>\n\nText")
    assert (shown.failed, shown.is_source, shown.error) == (True, True, "TooSlow")
    assert "# &lt;b&gt;Heading&lt;/b&gt;" in shown.html
    monkeypatch.setattr(budget, "TEXT_SECONDS", 9.0)
    # It fails even with time left.
    assert render("# <b>Heading</b>\n\nText").failed


def test_a_page_of_many_such_texts_is_shown(cast, monkeypatch, forget):
    ticket = make_ticket(cast.ada, cast.open_project)
    monkeypatch.setattr(budget, "REQUEST_SECONDS", 0.05)
    monkeypatch.setattr(budget, "TEXT_SECONDS", 0.02)
    for number in range(20):
        body = f"{number}\n" + HOSTILE["nested lists"][:20_000]
        ok(cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": body}), 201)
    shown = []

    def look(_):
        forget()
        shown.append(cast.ada.get("//tickets/OPEN-1"))

    assert processor_seconds(look, enough=2) < 2
    assert all(page.status_code == 200 for page in shown)
    assert shown[0].text.count('<pre class="source"') >= 5


def test_once_a_page_has_no_time_left_no_text_is_read(cast, monkeypatch, forget):
    ticket = make_ticket(cast.ada, cast.open_project)
    for number in range(20):
        ok(cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": f"Comment {number}"}), 201)
    read = []

    def read_slowly(text, profile):
        read.append(text)
        began = time.thread_time()
        while time.thread_time() < began + 0.02:
            pass
        return source.read_any(text, profile)

    forget()
    with monkeypatch.context() as hurried:
        hurried.setattr(budget, "REQUEST_SECONDS", 0.05)
        hurried.setattr(rendering, "read_any", read_slowly)
        page = cast.ada.get("//tickets/OPEN-1")
    assert page.text.count('<pre class="source"') >= 20
    assert all(f"Comment {number}" in page.text for number in range(20))
    assert len(read) < 5
    # The failure was not cached.
    assert '<pre class="source"' not in cast.ada.get("//tickets/OPEN-1").text


def test_a_paragraph_has_so_many_links(monkeypatch):
    monkeypatch.setattr(budget, "TEXT_SECONDS", 9.0)
    typed = [f"http://a/{number}" for number in range(2_100)]
    shown = render(" ".join(typed))
    assert not shown.failed
    assert shown.html.count("<a ") == 2_000
    assert re.sub("<[^>]*>", "", shown.html).split() == typed
    # The limit applies to each paragraph.
    assert render("\n\n".join(typed)).html.count("<a ") == 2_100


@pytest.mark.one_database
def test_a_name_that_there_is_no_time_to_read_is_a_mention(monkeypatch, forget):
    assert not rendering.mentions("`@ada`", "ada")
    forget()
    monkeypatch.setattr(budget, "TEXT_SECONDS", 0.0)
    assert rendering.mentions("`@ada`", "ada")
