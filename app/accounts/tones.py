"""The colors of avatars: people take them in turn by order of creation, bots from the other end."""

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from flask import Flask
from sqlalchemy import select

from app.accounts.models import User, UserType
from app.core.errors import Unavailable
from app.database.session import Prepared, reader, reading, writer

# Classes of colors in marks.css.
TONES = 8
# Later users have a color by their id.
MAX_USERS = 10_000

_USERS = Prepared(select(User.id, User.type).order_by(User.created_at, User.id).limit(MAX_USERS))
# By the user's id. No user is ever removed or comes before another one, so it stays true.
_known: dict[str, int] = {}


def tone(user: Mapping[str, Any]) -> str:
    """The CSS class of an avatar's color, the same everywhere for one user."""
    user_id = user["id"]
    if user_id not in _known:
        by_id = zlib.crc32(user_id.encode()) % TONES
        try:
            learn()
        except Unavailable:
            # The page is one that says that the database is unavailable.
            return f"tone-{by_id}"
        _known.setdefault(user_id, by_id)
    return f"tone-{_known[user_id]}"


def learn() -> None:
    """Read the order of all users."""
    if reader.get() or writer.get():
        rows = _USERS.all()
    else:
        with reading():
            rows = _USERS.all()
    counts: Counter[str] = Counter()
    for row in rows:
        turn = counts[row.type] % TONES
        _known[row.id] = turn if row.type == UserType.HUMAN.value else TONES - 1 - turn
        counts[row.type] += 1


def install(app: Flask) -> None:
    app.jinja_env.filters[tone.__name__] = tone
