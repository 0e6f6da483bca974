"""Cursors: each has one spelling, and only those that a list could have issued are accepted."""

import base64
import json

import pytest

from app.core.errors import InvalidField
from app.database import pagination
from app.database.pagination import Cursor

ID = "01a1fb55-17ce-7000-acde-7746c12ac29c"
GOOD = {"kind": "ticket", "id": ID, "created_at": 5}


def packed(value):
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def test_a_cursor_holds_the_last_id_and_created_at():
    assert pagination.encode(Cursor("ticket", ID, 5)) == packed(GOOD)
    assert pagination.decode(packed(GOOD), "ticket") == Cursor("ticket", ID, 5)


@pytest.mark.parametrize(
    "text",
    [
        packed(GOOD) + "=",
        packed(GOOD) + "==",
        packed(json.dumps(GOOD)),
        packed(dict(reversed(GOOD.items()))),
        packed(GOOD | {"id": ID.upper()}),
        packed(GOOD | {"id": "x"}),
        packed(GOOD | {"id": 7}),
        packed(GOOD | {"created_at": -1}),
        packed(GOOD | {"created_at": 1 << 53}),
        packed(GOOD | {"created_at": 5.0}),
        packed(GOOD | {"created_at": True}),
        packed(GOOD | {"created_at": "5"}),
        packed(GOOD | {"more": 1}),
        packed(GOOD | {"kind": "label"}),
        packed(GOOD | {"kind": None}),
        packed([]),
        packed("null"),
    ],
)
def test_any_other_text_is_refused(text):
    with pytest.raises(InvalidField) as caught:
        pagination.decode(text, "ticket")
    assert (caught.value.status, caught.value.details["field"]) == (400, "cursor")


def test_spare_bits_at_the_end_make_no_second_spelling():
    for moment in range(100, 10_000, 97):
        text = pagination.encode(Cursor("ticket", ID, moment * 10 ** (moment % 3)))
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
            other = text[:-1] + letter
            if other != text:
                with pytest.raises(InvalidField):
                    pagination.decode(other, "ticket")
