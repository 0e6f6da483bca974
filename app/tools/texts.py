"""Changing a long text without sending all of it: ``append`` and ``edits`` beside ``body``."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.errors import InvalidField
from app.core.text import BODY_LENGTH

WAYS = ("body", "append", "edits")
# Occurrences that overlap; each is looked for by itself.
COUNTED = 100


def changed_body(given: Mapping[str, Any], current: str) -> str | None:
    """The new text, by one of three ways; None where none was given. Raises InvalidField."""
    used = [way for way in WAYS if given.get(way) is not None]
    if not used:
        return None
    if len(used) > 1:
        raise InvalidField(used[1], "ambiguous", "Give one of body, append and edits.")
    if used[0] == "append":
        separator = "" if not current or current.endswith("\n") else "\n"
        return f"{current}{separator}{given['append']}"
    if used[0] == "edits":
        return _edited(current, given["edits"])
    return str(given["body"])


def _edited(current: str, edits: Sequence[Mapping[str, str]]) -> str:
    """Each ``find`` must occur exactly once, so that no edit hits another place than was meant."""
    for number, edit in enumerate(edits):
        count = _occurrences(current, edit["find"])
        if count != 1:
            raise InvalidField(
                "edits",
                "find_not_unique" if count else "find_not_found",
                f"The find of edit {number + 1} occurs {count} times; it must occur exactly once.",
            )
        current = current.replace(edit["find"], edit["replace"])
    return current


def _occurrences(text: str, find: str) -> int:
    """How often it occurs; of those that overlap, as ``aa`` in ``aaa``, the first hundred count."""
    if not find:
        return 0
    count, at = 0, text.find(find)
    while at >= 0 and count < COUNTED:
        count, at = count + 1, text.find(find, at + 1)
    return max(count, text.count(find))


def windowed(shown: dict[str, Any], offset: int, length: int | None) -> dict[str, Any]:
    """A resource whose text is given from ``offset`` on, at most ``length`` characters of it.

    A text over ``BODY_LENGTH`` is cut there unless asked otherwise, and says so.
    """
    whole = shown["body"]
    part = whole[offset : offset + (BODY_LENGTH if length is None else length)]
    if part == whole:
        return shown
    end = offset + len(part)
    return {
        **shown,
        "body": part,
        "body_truncated": end < len(whole),
        "body_length": len(whole),
        "next_body_offset": end if end < len(whole) else None,
    }
