"""Pieces of pages, which are made once for what they show."""

import pytest
from markupsafe import Markup, escape

from app.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from app.markdown import Laid, Resolved, Targets, render
from app.web import filters, pieces
from app.web.packing import PiecedPage
from tests.web.pieces_on_page import NOON


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
