"""What counts as a link in a body."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.markdown import parse
from tests.support.sizes import every
from tests.support.timing import processor_seconds


@pytest.mark.parametrize(
    ("body", "slugs", "tickets"),
    [
        ("[[one]] [[two|Two!]] [[one]]", ("one", "two"), ()),
        ("[[ticket:OPS-12]] [[ticket:OPS-12|it]]", (), ("OPS-12",)),
        ("[[Not A Slug]] [[a--b]] [[-a]] [[]] [[a\nb]] [a]", (), ()),
        ("[[ticket:ops-1]] [[ticket:OPS]]", (), ()),
        ("`[[one]]` ``[[two]] ` [[three]]`` [[four]]", ("four",), ()),
        ("a ` lone backtick [[one]]", ("one",), ()),
        ("`a\n[[one]]\nb`\n\n[[two]]", ("two",), ()),
        ("`open\n\n[[one]] closed`", ("one",), ()),
        ("```\n[[one]]\n```\n[[two]]", ("two",), ()),
        ("~~~~ text\n[[one]]\n~~~\n[[two]]\n~~~~~\n[[three]]", ("three",), ()),
        ("```\n[[one]]", (), ()),
        ("``` `x` ```\n[[one]]", ("one",), ()),
        (r"\[[one]] \\", (), ()),
        ("[[[one]]]", ("one",), ()),
        ("01900000-0000-7000-8000-000000000000 [[01900000-0000-7000-8000-000000000000]]", (), ()),
        ("[[" + "a" * 128 + "]] [[" + "b" * 129 + "]]", ("a" * 128,), ()),
    ],
)
def test_links(body: str, slugs: tuple[str, ...], tickets: tuple[str, ...]) -> None:
    found = parse(body)
    assert (found.slugs, found.tickets) == (slugs, tickets)


@given(st.text(alphabet="[]|`~\n a-b1\\ticke:OPS", max_size=300))
def test_any_text_is_read(body: str) -> None:
    assert parse(body) == parse(body)


@given(st.text(alphabet="[]|`\n ab", max_size=200))
def test_a_fence_hides_everything(body: str) -> None:
    assert parse(f"~~~\n{body.replace('~', '')}\n~~~").slugs == ()


PIECES = ("[", "[[", "[[a|", "`", "` ``", "[[a]]", "~~~\n", "```a\n", "`[[a]]` ", "\n", "[[a|b")


@pytest.mark.parametrize("piece", every(2, PIECES))
def test_a_megabyte_is_read_at_once(piece: str) -> None:
    body = (piece * (1_048_576 // len(piece)))[:1_048_576]
    assert processor_seconds(lambda _: parse(body), 2) < 2
