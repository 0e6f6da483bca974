"""Changing a long text without sending all of it: ``append`` and ``edits`` beside ``body``."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.errors import InvalidField
from app.core.text import BODY_LENGTH
from app.tools import messages

WAYS = ("body", "append", "edits")
# Counting overlapping occurrences is slow, so it ends here.
MAX_OCCURRENCES = 100


def changed_body(arguments: Mapping[str, Any], current: str) -> str | None:
    """The new text, by one of three ways; None where none was given. Raises InvalidField."""
    ways = [way for way in WAYS if arguments.get(way) is not None]
    if not ways:
        return None
    if len(ways) > 1:
        raise InvalidField(ways[1], "ambiguous", messages.ONE_OF_BODY_APPEND_EDITS)
    if ways[0] == "append":
        separator = "" if not current or current.endswith("\n") else "\n"
        return f"{current}{separator}{arguments['append']}"
    if ways[0] == "edits":
        return _edited(current, arguments["edits"])
    return str(arguments["body"])


def _edited(text: str, edits: Sequence[Mapping[str, str]]) -> str:
    """Apply the edits; raises InvalidField for a ``find`` that is missing or ambiguous."""
    for number, edit in enumerate(edits):
        count = _occurrences(text, edit["find"])
        if count != 1:
            raise InvalidField(
                "edits",
                "find_not_unique" if count else "find_not_found",
                messages.find_occurs(number + 1, count),
            )
        text = text.replace(edit["find"], edit["replace"])
    return text


def _occurrences(text: str, find: str) -> int:
    """How often ``find`` occurs; overlapping ones (``aa`` in ``aaa``) count up to a hundred."""
    if not find:
        return 0
    count, position = 0, text.find(find)
    while position >= 0 and count < MAX_OCCURRENCES:
        count, position = count + 1, text.find(find, position + 1)
    return max(count, text.count(find))


def windowed(resource: dict[str, Any], offset: int, length: int | None) -> dict[str, Any]:
    """A resource with at most ``length`` characters of its text, from ``offset`` on.

    ``length`` is ``BODY_LENGTH`` unless given. A text that is cut says so, and where to go on.
    """
    body = resource["body"]
    part = body[offset : offset + (BODY_LENGTH if length is None else length)]
    if part == body:
        return resource
    end = offset + len(part)
    return {
        **resource,
        "body": part,
        "body_truncated": end < len(body),
        "body_length": len(body),
        "next_body_offset": end if end < len(body) else None,
    }
