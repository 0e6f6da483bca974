"""Laying out texts takes bounded time, each text and all of a page."""

import pytest

from app.markdown import budget, rendering
from app.markdown.rendering import render
from tests.support.story import make_ticket, ok
from tests.support.timing import processor_seconds

# What takes the library long: lists in lists, quotes in quotes, wide tables.
HOSTILE = {
    "nested lists": "\n".join(" " * (number % 60) * 4 + "- x" for number in range(9_000)),
    "nested quotes": "\n\n".join(">" * (number % 90) + " x" for number in range(3_000)),
    "table": "|".join("a" * 500) + "\n" + "|".join(["-"] * 500) + ("\n" + "|".join("b" * 500)) * 60,
    "emphasis": "*a **b " * 9_000,
    "brackets": "[" * 30_000 + "](x)" * 8_000,
}


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Forgets what was rendered, once before the test and whenever it is called."""

    def forget():
        monkeypatch.setattr(rendering, "_laid_out", type(rendering._laid_out)(rendering.CAPACITY))

    forget()
    return forget


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_has_so_long(text):
    shown = []
    # Beside its time to lay it out there is the time to read it, which grows with its length.
    allowed = budget.TEXT_SECONDS + 1
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
    # Though there is time.
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
