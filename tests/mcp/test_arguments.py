"""How arguments are read: exact coercion, refusals by name, and the names of REST as well."""

import pytest

from app.core.errors import InvalidField, RequestInvalid
from app.mcp.parameters import (
    PAGE,
    body,
    choice,
    day,
    edits,
    flag,
    integer,
    load,
    moment,
    text,
    texts,
)

PARAMETERS = (
    text("name", "A name.", alias="name_id"),
    body("body", "A text."),
    integer("size", "A size."),
    flag("loud", "Loud?"),
    texts("words", "Words."),
    day("day", "A day.", clearable=True),
    moment("moment", "A time."),
    edits("edits", "Edits."),
    choice("color", ("red", "blue"), "A color."),
    texts("clear_fields", "Clear.", choices=("day", "name")),
)


def kinds_of(**sent):
    with pytest.raises(RequestInvalid) as caught:
        load(PARAMETERS, sent)
    return {tuple(one["loc"]): one["type"] for one in caught.value.errors}


@pytest.mark.parametrize(
    ("name", "sent", "read"),
    [
        ("size", 50, 50),
        ("size", "50", 50),
        ("size", "-3", -3),
        ("size", 50.0, 50),
        ("loud", True, True),
        ("loud", "true", True),
        ("loud", "False", False),
        ("words", ["a"], ["a"]),
        ("words", '["a", "b"]', ["a", "b"]),
        ("words", "a", ["a"]),
        ("words", [], []),
        ("edits", '[{"find": "a", "replace": ""}]', [{"find": "a", "replace": ""}]),
        ("edits", {"find": "a", "replace": "b"}, [{"find": "a", "replace": "b"}]),
        ("day", "2026-11-20", "2026-11-20"),
        ("moment", "1970-01-01T00:00:01Z", 1000),
        ("moment", "1970-01-01T01:00:01+01:00", 1000),
        ("body", "", ""),
        ("color", "red", "red"),
    ],
)
def test_what_is_meant_exactly_is_understood(name, sent, read):
    assert load(PARAMETERS, {name: sent}) == {name: read}


@pytest.mark.parametrize(
    ("name", "sent", "kind"),
    [
        ("size", "12px", "invalid_type"),
        ("size", 1.5, "invalid_type"),
        ("size", True, "invalid_type"),
        ("size", "١", "invalid_type"),
        ("size", "--1", "invalid_type"),
        ("loud", "yes", "invalid_type"),
        ("loud", 1, "invalid_type"),
        ("words", [1], "invalid_type"),
        ("words", "[", "invalid_type"),
        ("words", {"a": 1}, "invalid_type"),
        ("edits", [{"find": "a"}], "invalid_type"),
        ("edits", [{"find": "a", "replace": 1}], "invalid_type"),
        ("name", 7, "invalid_type"),
        ("day", "20.11.2026", "invalid_value"),
        ("day", "2026-02-30", "invalid_value"),
        ("day", "20261120", "invalid_value"),
        ("moment", "2026-11-20T00:00:00", "invalid_value"),
        ("moment", "yesterday", "invalid_value"),
        ("color", "green", "invalid_value"),
        ("clear_fields", ["body"], "invalid_value"),
        ("unheard_of", 1, "unknown_field"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(name, sent, kind):
    assert kinds_of(**{name: sent}) == {("arguments", name): kind}


def test_all_problems_are_told_at_once():
    assert kinds_of(size="x", loud="x", other=1) == {
        ("arguments", "size"): "invalid_type",
        ("arguments", "loud"): "invalid_type",
        ("arguments", "other"): "unknown_field",
    }


def test_nothing_stands_for_absent():
    assert load(PARAMETERS, {"name": None, "size": "", "words": None, "color": ""}) == {}


def test_null_or_clear_fields_clear():
    assert load(PARAMETERS, {"day": None}) == {"day": None}
    assert load(PARAMETERS, {"clear_fields": ["day"]}) == {"day": None}
    assert load(PARAMETERS, {"day": ""}) == {}


def test_the_name_of_rest_is_understood_and_not_both():
    assert load(PARAMETERS, {"name_id": "x"}) == {"name": "x"}
    assert kinds_of(name="x", name_id="y") == {("arguments", "name_id"): "unknown_field"}


def test_required_arguments_are_missed():
    needed = (text("q", "Words.", required=True),)
    for sent in ({}, {"q": ""}, {"q": None}):
        with pytest.raises(RequestInvalid) as caught:
            load(needed, sent)
        assert caught.value.errors[0]["type"] == "missing"


def test_a_page_has_1_to_100_rows():
    assert load(PAGE, {}) == {"limit": 50, "cursor": None}
    assert load(PAGE, {"limit": "100"})["limit"] == 100
    for wrong in (0, 101, -1):
        with pytest.raises(InvalidField):
            load(PAGE, {"limit": wrong})


def test_of_many_problems_fifty_are_listed():
    with pytest.raises(RequestInvalid) as refused:
        load([], {f"field{number}": 1 for number in range(400)})
    assert len(refused.value.details["errors"]) == 50
    assert refused.value.details["more"] == 350
