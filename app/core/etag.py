"""Weak ETags of tickets and wiki pages, and the comparison with If-Match and If-None-Match."""

import re

from app.core.errors import Conflict

_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def etag(updated_at: int, identifier: str) -> str:
    """``W/"<updated_at_unix_ms>-<short id>"``; the short id is the last 8 digits of the id."""
    return f'W/"{updated_at}-{identifier[-8:]}"'


def matches(header: str, current: str) -> bool:
    """Whether a header of one or several tags, or ``*``, names the current one.

    A missing ``W/`` is overlooked.
    """
    if header.strip() == "*":
        return True
    known = current.removeprefix("W/").strip('"')
    return known in _TAG.findall(header) or header.strip().removeprefix("W/").strip('"') == known


def check_if_match(header: str | None, current: str) -> None:
    """Go on when the header is absent or matches; raises Conflict ``etag_mismatch`` otherwise."""
    if header is not None and not matches(header, current):
        raise Conflict(
            "etag_mismatch", "This was changed in the meantime; read it again.", etag=current
        )
