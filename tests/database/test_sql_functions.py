"""The prefix of a text, on both databases."""

import pytest
from sqlalchemy import literal, select

from app.database.session import Prepared, reading, session
from app.database.sql_functions import Beginning


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("", ""),
        ("gate", "gate"),
        ("gates", "gates"),
        ("gateway", "gatew"),
        # A few multibyte characters, and many.
        ("Tür 🚪", "Tür 🚪"),
        ("🚪🚪🚪🚪🚪🚪", "🚪🚪🚪🚪🚪"),
    ],
)
def test_the_first_characters(app, text, beginning):
    statement = select(Beginning(literal(text), 5).label("text"))
    with app.app_context(), reading():
        assert session.scalar(statement) == beginning
        assert Prepared(statement).first().text == beginning
