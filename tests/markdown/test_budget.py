"""Laying out texts takes bounded time, each text and all of a page."""

import time

import pytest

from app.markdown import budget, rendering
from app.markdown.rendering import render
from tests.support.story import make_ticket, ok

# What takes the library long: lists in lists, quotes in quotes, wide tables.
HOSTILE = {
    "nested lists": "\n".join(" " * (number % 60) * 4 + "- x" for number in range(9_000)),
    "nested quotes": "\n\n".join(">" * (number % 90) + " x" for number in range(3_000)),
    "table": "|".join("a" * 500) + "\n" + "|".join(["-"] * 500) + ("\n" + "|".join("b" * 500)) * 60,
    "emphasis": "*a **b " * 9_000,
    "brackets": "[" * 30_000 + "](x)" * 8_000,
}


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch):
    monkeypatch.setattr(rendering, "_laid_out", type(rendering._laid_out)(rendering.CAPACITY))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_has_so_long(text):
    began = time.thread_time()
    shown = render(text[:65_536])
    # Beside its time to lay it out there is the time to read it, which grows with its length.
    assert time.thread_time() - began < budget.TEXT_SECONDS + 1
    assert shown.html


def test_what_takes_too_long_is_shown_as_its_source_and_not_tried_again(monkeypatch):
    monkeypatch.setattr(budget, "TEXT_SECONDS", 1e-9)
    shown = render("# <b>Heading</b>\n\nText")
    assert (shown.failed, shown.is_source, shown.error) == (True, True, "TooSlow")
    assert "# &lt;b&gt;Heading&lt;/b&gt;" in shown.html
    monkeypatch.setattr(budget, "TEXT_SECONDS", 9.0)
    # Though there is time.
    assert render("# <b>Heading</b>\n\nText").failed


def test_a_page_of_many_such_texts_is_shown(cast, monkeypatch):
    ticket = make_ticket(cast.ada, cast.open_project)
    monkeypatch.setattr(budget, "REQUEST_SECONDS", 0.05)
    monkeypatch.setattr(budget, "TEXT_SECONDS", 0.02)
    for number in range(20):
        body = f"{number}\n" + HOSTILE["nested lists"][:20_000]
        ok(cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": body}), 201)
    began = time.thread_time()
    page = cast.ada.get("//tickets/OPEN-1")
    assert page.status_code == 200
    assert time.thread_time() - began < 2
    assert page.text.count('<pre class="source"') >= 5
