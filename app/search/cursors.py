"""The cursor of a search: where its page ended, and of which search it is.

It holds what every cursor holds (database/pagination.py), the hash of the filters, and the tier of
the last row, which may have changed.
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import Any

import orjson

from app.core.errors import InvalidField
from app.core.ids import UUID_PATTERN
from app.database.pagination import CURSOR_LENGTH
from app.search.ranking import Tier

KIND = "search"
_LATEST = 1 << 53


@dataclass(frozen=True, slots=True)
class SearchCursor:
    """The last row of a page."""

    id: str
    created_at: int
    tier: Tier
    filter_hash: str


def filter_hash(**filters: str | None) -> str:
    """The first 16 hex digits of the sha256 of the filters that are set, as sorted JSON."""
    given = {name: value for name, value in filters.items() if value is not None}
    canonical = json.dumps(given, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def encode(cursor: SearchCursor) -> str:
    """The opaque form: base64url of compact JSON, unpadded."""
    content = {
        "kind": KIND,
        "id": cursor.id,
        "created_at": cursor.created_at,
        "tier": int(cursor.tier),
        "filter_hash": cursor.filter_hash,
    }
    return base64.urlsafe_b64encode(orjson.dumps(content)).rstrip(b"=").decode()


def decode(sent: str, expected_hash: str) -> SearchCursor:
    """Read a cursor back.

    Raises InvalidField (400) unless it is exactly one of ours, and with the reason
    ``cursor_filter_mismatch`` where it is one of another search.
    """
    try:
        if len(sent) > CURSOR_LENGTH:
            raise ValueError("too long")
        raw = sent.encode("ascii")
        padded = raw + b"=" * (-len(raw) % 4)
        cursor = _verified(orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True)))
        if encode(cursor) != sent:
            raise ValueError("not the canonical form")
    except (ValueError, UnicodeError, binascii.Error, KeyError, TypeError) as error:
        raise InvalidField("cursor", "malformed", "The cursor is not valid.", status=400) from error
    if cursor.filter_hash != expected_hash:
        raise InvalidField(
            "cursor",
            "cursor_filter_mismatch",
            "The cursor belongs to a search with other filters.",
            status=400,
        )
    return cursor


def _verified(found: Any) -> SearchCursor:
    if found["kind"] != KIND:
        raise ValueError("a cursor of another list")
    identifier, moment, tier, digest = (
        found[key] for key in ("id", "created_at", "tier", "filter_hash")
    )
    if not isinstance(identifier, str) or not UUID_PATTERN.fullmatch(identifier):
        raise ValueError("not an id")
    if type(moment) is not int or not 0 <= moment < _LATEST or type(tier) is not int:
        raise ValueError("not a time or a tier")
    if not isinstance(digest, str):
        raise TypeError("not a hash")
    return SearchCursor(identifier, moment, Tier(tier), digest)
