"""Receiving a request's body whole, before anybody works on the request."""

import io
from typing import Any

from app.core.errors import Unavailable
from app.threads import Takers

# Read from a body over the limit and thrown away, so that its sender gets to read the answer 413.
DRAINED = 16 * 1024 * 1024
_PIECE = 64 * 1024


class Unread(io.RawIOBase):
    """Stands for a body that was not read."""

    def read(self, _size: int = -1, /) -> bytes:
        """Raise Unavailable."""
        raise Unavailable

    def readinto(self, _buffer: Any, /) -> int:
        """Raise Unavailable."""
        raise Unavailable


def has_body(environ: dict[str, Any]) -> bool:
    """Whether the headers announce one."""
    return _declared_length(environ) != 0


def receive(environ: dict[str, Any], takers: Takers, max_body: int) -> bool:
    """Put the body into memory; False where it ends before its length, as its client left.

    Of a body over ``max_body`` one byte more is kept; the application answers 413 itself
    (app/core/body.py). A chunked one that breaks off looks like one that ended; its JSON then fails
    to parse.
    """
    stream, declared = environ["wsgi.input"], _declared_length(environ)
    body = b""
    if declared != 0:
        with takers.reading():
            body = stream.read(max_body + 1)
            if len(body) > max_body:
                _drain(stream)
    environ["wsgi.input"] = io.BytesIO(body)
    return declared is None or len(body) >= min(declared, max_body + 1)


def _declared_length(environ: dict[str, Any]) -> int | None:
    """The body's length by its headers: None for a chunked one, 0 where there is none."""
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return None
    length = environ.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() else 0


def _drain(stream: Any) -> None:
    """Throw away what still comes, up to a bound."""
    left = DRAINED
    while left > 0:
        piece = stream.read(_PIECE)
        if not piece:
            return
        left -= len(piece)
