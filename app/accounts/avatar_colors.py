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

# The number of color classes in marks.css.
COLORS = 8
# Later users get a color derived from their id.
MAX_USERS = 10_000

_USERS = Prepared(select(User.id, User.type).order_by(User.created_at, User.id).limit(MAX_USERS))
# By user id. Users are never removed and later ones sort last, so entries stay valid.
_known: dict[str, int] = {}


def avatar_color(user: Mapping[str, Any]) -> str:
    """The CSS class of an avatar's color, the same everywhere for one user."""
    user_id = user["id"]
    if user_id not in _known:
        by_id = zlib.crc32(user_id.encode()) % COLORS
        try:
            learn()
        except Unavailable:
            # The page reports that the database is unavailable.
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
        place = counts[row.type] % COLORS
        _known[row.id] = place if row.type == UserType.HUMAN.value else COLORS - 1 - place
        counts[row.type] += 1


def install(app: Flask) -> None:
    app.jinja_env.filters[avatar_color.__name__] = avatar_color
