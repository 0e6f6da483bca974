"""Weak ETags of tickets and wiki pages, and the comparison with If-Match and If-None-Match."""

import re

from app.core import messages
from app.core.errors import Conflict

_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def etag(updated_at: int, identifier: str) -> str:
    """``W/"<updated_at_unix_ms>-<short id>"``; the short id is the last 8 digits of the id."""
    return f'W/"{updated_at}-{identifier[-8:]}"'


def matches(header: str, current: str) -> bool:
    """Whether a header with tags, or ``*``, matches the current tag; ``W/`` is optional."""
    if header.strip() == "*":
        return True
    tag = current.removeprefix("W/").strip('"')
    return tag in _TAG.findall(header) or header.strip().removeprefix("W/").strip('"') == tag


def check_if_match(header: str | None, current: str) -> None:
    """Raise Conflict ``etag_mismatch`` if the header is given and does not match."""
    if header is not None and not matches(header, current):
        raise Conflict("etag_mismatch", messages.CHANGED_SINCE_READ, etag=current)
