"""Pieces of pages: made once for what they show, and sent with each page that shows the same.

A template calls ``still`` with all that a part of it shows. The part sees nothing else, and is kept
by all of that: so what was kept is what would be made, whoever asks, and nobody has to say when it
is no more. Only time passes unasked: a filter that tells something by the clock tells until when.

Values are plain ones, rows and dataclasses; of those, what a field says whose name begins with an
underscore does not count, so none may have one.
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from flask import Flask
from jinja2 import Template
from markupsafe import Markup

from app.core.cache import Cache
from app.core.clock import now_ms
from app.web.choices import shows_exact_times
from app.web.packing import Piece, piece

# Compressed; what a ticket shows takes some 5 KB.
CAPACITY = 6 * 1024 * 1024
# What keeping one takes besides.
_OVERHEAD = 500
_FOREVER = 1 << 62

# No text of anyone's can say this: theirs is escaped, or cleaned of comments, and who does not know
# the word could only guess it.
_SLOT = f"<!--{secrets.token_hex(8)} {{}}-->"
_SLOTS = re.compile(_SLOT.format(r"(\d+)"))

# The pieces of the page that is being made, and until when what is being written will be so.
_page: ContextVar["Page | None"] = ContextVar("page", default=None)
_ends: ContextVar[list[int] | None] = ContextVar("ends", default=None)


class Page:
    """A page that is being made."""

    def __init__(self) -> None:
        """It has no pieces yet."""
        self.pieces: list[Piece] = []
        self.has_exact_times = shows_exact_times()

    def parts(self, text: str) -> list[bytes | Piece]:
        """The page that reads so: its parts between the pieces, and these."""
        parts = _SLOTS.split(text)
        return [self.pieces[int(one)] if at % 2 else one.encode() for at, one in enumerate(parts)]


@dataclass(frozen=True, slots=True)
class Kept:
    """A piece, when it was made, and from when on it would be made otherwise, in milliseconds."""

    piece: Piece
    since: int
    until: int


# Most parts are asked for once. They are written in their page; only those that are asked for again
# are worth being packed and kept.
_ASKED_FOR = Kept(piece(""), 0, 0)


def install(app: Flask) -> None:
    """Give every template ``still`` and ``place``."""
    kept: Cache[Kept] = Cache(CAPACITY)
    env = app.jinja_env

    def still(template: str, **shown: Any) -> Markup:
        """The part of a page that this template makes of these values alone."""
        key = _key(template, shown)
        found = kept.get(key)
        # A clock may be set back.
        is_so = found is not None and found.since <= now_ms() < found.until
        # Whoever works on a template sees what they changed.
        if found is not None and is_so and not app.debug:
            lasts_until(found.until)
            return place(found.piece)
        text, lasting = _written(env.get_template(template), shown)
        if found is None:
            kept.put(key, _ASKED_FOR, _OVERHEAD)
            return text
        found = Kept(piece(text), *lasting)
        kept.put(key, found, len(found.piece.packed) + _OVERHEAD)
        return place(found.piece)

    env.globals["still"] = still
    env.globals["place"] = place


def lasts_until(moment: int) -> None:
    """What is being written tells something by the clock, which is so before this moment."""
    ends = _ends.get()
    if ends is not None:
        ends.append(moment)


def place(one: Piece) -> Markup:
    """Where a page has this piece; the piece itself in what is no page."""
    page = _page.get()
    if page is None:
        return Markup(one.plain.decode())  # noqa: S704 - templates made it
    page.pieces.append(one)
    return Markup(_SLOT.format(len(page.pieces) - 1))  # noqa: S704 - a number


@contextmanager
def placing() -> Iterator[Page]:
    """Make a page meanwhile: its pieces are put in later."""
    page = Page()
    token = _page.set(page)
    try:
        yield page
    finally:
        _page.reset(token)


def _written(template: Template, shown: dict[str, Any]) -> tuple[Markup, tuple[int, int]]:
    """What a template makes of values, since when and until when."""
    since, ends = now_ms(), [_FOREVER]
    page, before = _page.set(None), _ends.set(ends)
    try:
        text = Markup(template.render(shown))  # noqa: S704 - a template made it
    finally:
        _ends.reset(before)
        _page.reset(page)
    until = min(ends)
    lasts_until(until)
    return text, (since, until)


def _key(template: str, shown: dict[str, Any]) -> bytes:
    page = _page.get()
    exact = page.has_exact_times if page is not None else shows_exact_times()
    option = orjson.OPT_PASSTHROUGH_SUBCLASS
    said = orjson.dumps([template, exact, shown], default=_told, option=option)
    return sha256(said).digest()


def _told(value: Any) -> list[Any]:
    """A text that is safe as it is, or a row; all else that is not plain must not be in a piece."""
    if isinstance(value, Markup):
        return ["safe", str.__str__(value)]
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"a piece cannot be kept by a {type(value).__name__}")
