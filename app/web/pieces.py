"""Pieces of pages: made once for what they show, and sent with each page that shows the same.

A template calls ``still`` with all that a part of it shows. The part sees nothing else, and is kept
by all of that: so what was kept is what would be made, whoever asks, and nobody has to say when it
is no more. Only time passes unasked: a filter that tells something by the clock tells until when.

Values are plain ones, rows and dataclasses; of those, what a field says whose name begins with an
underscore does not count, so none may have one.

The pages of ``STILL_PAGES`` are kept whole in the same way, but for what is told anew each time
they are sent: the keys of their forms, of which each reader gets new ones, and how long ago
something was, unless a part of theirs says it. What such a page shows may be made of other values:
then it is kept by those, and they are all that goes into it.
"""

import re
import secrets
import uuid
from collections.abc import Callable, Iterable, Iterator
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
from app.markdown import Laid
from app.web.choices import shows_exact_times
from app.web.packing import Piece, piece

# They show their context and what all pages show; of the request at hand they know nothing.
STILL_PAGES = frozenset({"tickets/show.html", "wiki/show.html"})

# Compressed; what a ticket shows takes some 5 KB, and 8 KB with all of its page.
CAPACITY = 12 * 1024 * 1024
# What keeping one takes besides, and each of its parts.
_OVERHEAD = 500
_OVERHEAD_OF_PART = 150
_FOREVER = 1 << 62

# No text of anyone's can say this: theirs is escaped, or cleaned of comments, and who does not know
# the word could only guess it.
_SLOT = f"<!--{secrets.token_hex(8)} {{}}-->"
_SLOTS = re.compile(_SLOT.format(r"(\d+)"))

# The pieces of the page that is being made, and until when what is being written will be so.
_page: ContextVar["Page | None"] = ContextVar("page", default=None)
_ends: ContextVar[list[int] | None] = ContextVar("ends", default=None)


# What is found out when the page is sent.
Told = Callable[[], str]


class Page:
    """A page that is being made."""

    def __init__(self, *, is_kept: bool) -> None:
        """It has no pieces yet; it may be kept, to be sent again."""
        self.is_kept = is_kept
        self.pieces: list[Piece | Told] = []
        self.has_exact_times = shows_exact_times()

    def parts(self, text: str) -> list[bytes | Piece]:
        """The page that reads so: its parts between the pieces, and these."""
        return as_sent(self._split(text))

    def kept_parts(self, text: str) -> tuple[Piece | Told, ...]:
        """The same to be sent again, all of it packed."""
        return tuple(piece(one) if isinstance(one, str) else one for one in self._split(text))

    def _split(self, text: str) -> Iterator[str | Piece | Told]:
        for at, one in enumerate(_SLOTS.split(text)):
            yield self.pieces[int(one)] if at % 2 else one


def as_sent(parts: Iterable[str | Piece | Told]) -> list[bytes | Piece]:
    """The parts of a page as they go out now."""
    return [
        one if isinstance(one, Piece) else (one if isinstance(one, str) else one()).encode()
        for one in parts
    ]


def _key_of_form() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Kept:
    """The parts of a page or the one of a piece, when they were made, and from when on they would
    be made otherwise, in milliseconds.
    """

    parts: tuple[Piece | Told, ...]
    since: int
    until: int

    @property
    def size(self) -> int:
        """What keeping it takes, in bytes."""
        packed = (len(one.packed) for one in self.parts if isinstance(one, Piece))
        return _OVERHEAD + len(self.parts) * _OVERHEAD_OF_PART + sum(packed)

    def is_so(self) -> bool:
        """Whether it is so now; a clock may be set back."""
        return self.since <= now_ms() < self.until


# Most parts are asked for once. They are written in their page; only those that are asked for again
# are worth being packed and kept.
_ASKED_FOR = Kept((), 0, 0)


def install(app: Flask) -> None:
    """Give every template ``still``, ``place`` and ``new_key``; the application ``still_page``."""
    kept: Cache[Kept] = Cache(CAPACITY)
    env = app.jinja_env

    def found_of(key: bytes) -> Kept | None:
        found = kept.get(key)
        # Whoever works on a template sees what they changed.
        return _ASKED_FOR if found is not None and app.debug else found

    def still(template: str, **shown: Any) -> Markup:
        """The part of a page that this template makes of these values alone."""
        key = _key(template, shown)
        found = found_of(key)
        if found is not None and found.is_so():
            lasts_until(found.until)
            return place(found.parts[0])
        text, lasting = _written(env.get_template(template), shown)
        if found is None:
            kept.put(key, _ASKED_FOR, _ASKED_FOR.size)
            return text
        found = Kept((piece(text),), *lasting)
        kept.put(key, found, found.size)
        return place(found.parts[0])

    def still_page(
        template: str, made_of: dict[str, Any], context: Callable[[], dict[str, Any]]
    ) -> list[bytes | Piece]:
        """The parts of the page that shows this context, which is made of these values alone."""
        key = _key(template, made_of)
        found = found_of(key)
        if found is not None and found.is_so():
            return as_sent(found.parts)
        with placing(is_kept=True) as page, _lasting() as lasting:
            text = env.get_template(template).render(context())
        # It is packed to be sent, so that keeping it at once costs nothing but room. Its parts are
        # kept alone when another page asks for them.
        made = Kept(page.kept_parts(text), *lasting())
        if made.is_so():
            kept.put(key, made, made.size)
        return as_sent(made.parts)

    env.globals["still"] = still
    env.globals["place"] = place
    env.globals["new_key"] = new_key
    app.extensions["docket_still_page"] = still_page


def lasts_until(moment: int) -> None:
    """What is being written tells something by the clock, which is so before this moment."""
    ends = _ends.get()
    if ends is not None:
        ends.append(moment)


def place(one: Piece | Told) -> Markup:
    """Where a page has this; the thing itself in what is no page."""
    page = _page.get()
    if page is None:
        text = one.plain.decode() if isinstance(one, Piece) else one()
        return Markup(text)  # noqa: S704 - templates made it, or we did
    page.pieces.append(one)
    return Markup(_SLOT.format(len(page.pieces) - 1))  # noqa: S704 - a number


def new_key() -> Markup:
    """A key for a form that must do something once, another each time the form is shown.

    A template has it where it shows it, and nothing but its place: it cannot look at it, and would
    show another one if it kept it and showed it twice.
    """
    return place(_key_of_form)


def when_sent(tell: Told) -> str:
    """What this tells, found out whenever the page is sent if it is one that is kept.

    The text must need no escaping. What is told now says how long it is so.
    """
    page = _page.get()
    return place(tell) if page is not None and page.is_kept else tell()


@contextmanager
def placing(*, is_kept: bool = False) -> Iterator[Page]:
    """Make a page meanwhile: its pieces are put in later."""
    page = Page(is_kept=is_kept)
    token = _page.set(page)
    try:
        yield page
    finally:
        _page.reset(token)


def _written(template: Template, shown: dict[str, Any]) -> tuple[Markup, tuple[int, int]]:
    """What a template makes of values, since when and until when."""
    page = _page.set(None)
    try:
        with _lasting() as lasting:
            text = Markup(template.render(shown))  # noqa: S704 - a template made it
    finally:
        _page.reset(page)
    since, until = lasting()
    lasts_until(until)
    return text, (since, until)


@contextmanager
def _lasting() -> Iterator[Callable[[], tuple[int, int]]]:
    """Learn since when and until when what is written meanwhile is so."""
    since, ends = now_ms(), [_FOREVER]
    before = _ends.set(ends)
    try:
        yield lambda: (since, min(ends))
    finally:
        _ends.reset(before)


def _key(template: str, shown: dict[str, Any]) -> bytes:
    page = _page.get()
    exact = page.has_exact_times if page is not None else shows_exact_times()
    option = orjson.OPT_PASSTHROUGH_SUBCLASS
    said = orjson.dumps([template, exact, shown], default=_told, option=option)
    return sha256(said).digest()


def _told(value: Any) -> list[Any]:
    """A text that is safe as it is, or a row; all else that is not plain must not be in a piece."""
    if isinstance(value, Laid) and value.made_of:
        return ["laid", value.made_of]
    if isinstance(value, Markup):
        return ["safe", str.__str__(value)]
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"a piece cannot be kept by a {type(value).__name__}")
