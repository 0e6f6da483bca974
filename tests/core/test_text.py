"""The rules of text fields."""

import pytest

from app.core import text
from app.core.errors import InvalidField


def reason(call, *args, **options):
    with pytest.raises(InvalidField) as caught:
        call(*args, **options)
    assert caught.value.status == 422
    return caught.value.details["field"], caught.value.details["reason"]


def test_names_are_stripped_and_say_something():
    assert text.line("  A name\t", "name") == "A name"
    assert text.line("n" * 200, "name") == "n" * 200
    assert text.line(" " * 500 + "n", "name") == "n"
    assert reason(text.line, " \n\t\u3000", "name") == ("name", "blank")
    assert reason(text.line, "n" * 201, "name") == ("name", "too_long")
    assert reason(text.line, "a\x00b", "name") == ("name", "nul_character")


def test_bodies_are_kept_as_sent():
    assert text.body("  kept \r\n") == "  kept \r\n"
    assert text.body("") == ""
    assert len(text.body("😀" * 65_536)) == 65_536
    assert reason(text.body, "x" * 65_537) == ("body", "too_long")
    assert reason(text.filled_body, " \n") == ("body", "blank")


def test_colors_are_six_digits():
    assert text.color("#64748B") == "#64748B"
    for wrong in ("64748b", "#64748", "#64748bb", "#64748g", "#64748b\n", "red", ""):
        assert reason(text.color, wrong) == ("color", "pattern")


def test_names_are_the_same_by_casefold():
    assert text.name_key("STRASSE") == text.name_key("straße")
    assert text.name_key("a") != text.name_key("ä")


def test_changes_name_what_differs():
    before = {"a": 1, "b": None, "c": "x"}
    assert text.changes(before, {"a": 1, "b": 2}) == {"b": {"from": None, "to": 2}}
    assert text.changes(before, {}) == {}


def test_unique_keeps_the_order():
    assert text.unique(["b", "a", "b"]) == ["b", "a"]
