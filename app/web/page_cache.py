"""The cache of whole rendered pages, each under a key of everything that it shows.

The key determines all content, including the reader, the reader's choices and the day. So a cached
page is the page that would be rendered, and nothing has to be invalidated. Late values are not part
of the key: the keys of its forms, and times such as "5 minutes ago". They are filled in when the
page is sent. Views call ``render.cached_page``.

A page may show plain values, rows and dataclasses. The key omits dataclass fields whose names begin
with an underscore, so no dataclass may have one.
"""

import re
import secrets
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from flask import Flask
from markupsafe import Markup

from app.core.cache import Cache
from app.http import current
from app.http.current import current_application
from app.web.compression import Segment, joined, segment

# Bytes. The page of a ticket takes about 30 KB.
CAPACITY = 20 * 1024 * 1024
_OVERHEAD, _SEGMENT_OVERHEAD = 500, 200
_EXTENSION = "docket_page_cache"

LateValue = Callable[[], str]


class LateValues(list[LateValue]):
    """The late values of the page that is being rendered, and whether to cache the page."""

    is_cacheable = True


# No user's text can contain this: it is escaped, or cleaned of comments, and the word is random.
_MARK = f"<!--{secrets.token_hex(8)} {{}}-->"
_MARKS = re.compile(_MARK.format(r"(\d+)"))
# The late values of the page that is being rendered; None outside of cached pages.
_late_values: ContextVar[LateValues | None] = ContextVar("late_values", default=None)


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A page in parts: compressed segments, and the late values between them."""

    parts: tuple[Segment | LateValue, ...]

    @property
    def size(self) -> int:
        """Its estimated memory, in bytes."""
        segments = [part for part in self.parts if isinstance(part, Segment)]
        return _OVERHEAD + sum(len(one.deflated) + _SEGMENT_OVERHEAD for one in segments)

    def html(self) -> bytes:
        """The page with current late values."""
        return b"".join(
            part.plain if isinstance(part, Segment) else part().encode() for part in self.parts
        )

    def gzip(self) -> bytes:
        """The compressed page with current late values."""
        return joined(
            part if isinstance(part, Segment) else segment(part().encode(), compressed=False)
            for part in self.parts
        )


def install(app: Flask) -> None:
    """Give the application its cache, and templates ``form_key``."""
    app.extensions[_EXTENSION] = Cache[CachedPage](CAPACITY)
    app.jinja_env.globals["form_key"] = form_key


def late(value: LateValue) -> str:
    """A mark for a late value on a page that may be cached; elsewhere the value itself.

    The value must need no escaping.
    """
    values = _late_values.get()
    if values is None:
        return value()
    values.append(value)
    return Markup(_MARK.format(len(values) - 1))  # noqa: S704 - a number


def do_not_cache() -> None:
    """Do not cache the page that is being rendered."""
    values = _late_values.get()
    if values is not None:
        values.is_cacheable = False


def form_key() -> str:
    """A key for a form that must act only once; the form gets another key each time it is shown."""
    return late(lambda: str(uuid.uuid4()))


def cached(template: str, shown: dict[str, Any], render: Callable[[], str]) -> CachedPage:
    """The page of this template with these values; ``render`` creates it if it is not cached."""
    pages: Cache[CachedPage] = current_application().extensions[_EXTENSION]
    key = _key(template, shown)
    # In development, a changed template takes effect at once.
    page = None if current_application().debug else pages.get(key)
    if page is None:
        values = LateValues()
        page = _rendered(render, values)
        if values.is_cacheable:
            pages.put(key, page, page.size)
    return page


def _rendered(render: Callable[[], str], values: LateValues) -> CachedPage:
    token = _late_values.set(values)
    try:
        text = render()
    finally:
        _late_values.reset(token)
    # Texts and numbers of late values alternate.
    parts = enumerate(_MARKS.split(text))
    return CachedPage(
        tuple(values[int(one)] if at % 2 else segment(one.encode()) for at, one in parts)
    )


def _key(template: str, shown: dict[str, Any]) -> bytes:
    # A date may be worded differently on another day.
    today = current.today()
    option = orjson.OPT_PASSTHROUGH_SUBCLASS
    return sha256(orjson.dumps([template, today, shown], default=_plain, option=option)).digest()


def _plain(value: Any) -> list[Any]:
    """The key of a value: safe HTML, which must differ from the same text unescaped, or a row."""
    if isinstance(value, Markup):
        return ["safe", str.__str__(value)]
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be part of the key of a page")
