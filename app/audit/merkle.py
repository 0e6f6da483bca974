"""Merkle trees (RFC 6962, section 2.1) over canonical JSON (RFC 8785)."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import orjson
import rfc8785

# The largest integer that RFC 8785 can represent.
_MAX_INTEGER = 2**53 - 1


def canonical(value: Any) -> bytes:
    """The canonical bytes of a JSON value; integers beyond the limit become text."""
    if _is_plain(value):
        # orjson writes the same bytes in a tenth of the time.
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        return rfc8785.dumps(_within_bounds(value))


def _is_plain(value: Any) -> bool:
    """Whether orjson writes it as RFC 8785 requires; it may not for floats and non-ASCII names."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_MAX_INTEGER <= value <= _MAX_INTEGER)
    if kind is dict:
        return all(name.isascii() and _is_plain(inner) for name, inner in value.items())
    return kind is list and all(_is_plain(inner) for inner in value)


def _within_bounds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _within_bounds(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_within_bounds(inner) for inner in value]
    is_large = isinstance(value, int) and abs(value) > _MAX_INTEGER
    return str(value) if is_large else value


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def leaf(content: bytes) -> bytes:
    return sha256(b"\x00" + content).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def _above(level: Sequence[bytes]) -> list[bytes]:
    """The next level; the last node of an odd level moves up unchanged (RFC 6962)."""
    paired = [_node(level[place], level[place + 1]) for place in range(0, len(level) - 1, 2)]
    return [*paired, level[-1]] if len(level) % 2 else paired


def root(leaves: Sequence[bytes]) -> bytes:
    """The root hash of a tree; for an empty tree, the hash of no bytes."""
    if not leaves:
        return sha256(b"").digest()
    level = list(leaves)
    while len(level) > 1:
        level = _above(level)
    return level[0]


def path(leaves: Sequence[bytes], index: int) -> list[tuple[str, bytes]]:
    """The siblings on the path from a leaf to the root, each with its side."""
    found: list[tuple[str, bytes]] = []
    level = list(leaves)
    while len(level) > 1:
        sibling = index ^ 1
        if sibling < len(level):
            found.append(("left" if sibling < index else "right", level[sibling]))
        level, index = _above(level), index // 2
    return found
