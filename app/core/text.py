"""The rules of text fields, shared by all verbs.

Bodies are kept exactly as sent, titles and names are stripped, and NUL is refused.
"""

import re
from collections.abc import Iterable
from typing import Any

from app.core import messages
from app.core.errors import InvalidField

NAME_LENGTH = 200
BODY_LENGTH = 65_536
DESCRIPTION_LENGTH = 16_384

# Embeddings, overrides and isolates, for a class of characters: they reorder what follows them.
BIDI_CONTROLS = "\u202a-\u202e\u2066-\u2069"
# Format characters that only join letters, as in Persian and some emoji.
JOINERS = frozenset("\u200c\u200d")
_BIDI_CONTROL = re.compile(f"[{BIDI_CONTROLS}]")
_SMALL_INT = re.compile(r"[0-9]{1,9}")
COLOR_PATTERN = re.compile(r"#[0-9A-Fa-f]{6}")


def checked(value: str, field: str, max_length: int) -> str:
    """The text as sent; raises InvalidField if it has a NUL or is too long."""
    if "\x00" in value:
        raise InvalidField(field, "nul_character")
    if len(value) > max_length:
        raise InvalidField(field, "too_long", messages.too_long(field, max_length))
    return value


def line(value: str, field: str, max_length: int = NAME_LENGTH) -> str:
    """A title or name: stripped, not blank, at most ``max_length``; raises InvalidField."""
    stripped = checked(value, field, len(value)).strip()
    if not stripped:
        raise InvalidField(field, "blank", messages.blank(field))
    return checked(stripped, field, max_length)


def body(value: str, field: str = "body", max_length: int = BODY_LENGTH) -> str:
    """A body that may be empty; raises InvalidField."""
    return checked(value, field, max_length)


def filled_body(value: str, field: str = "body", max_length: int = BODY_LENGTH) -> str:
    """A body that must not be blank; raises InvalidField."""
    if not checked(value, field, max_length).strip():
        raise InvalidField(field, "blank", messages.blank(field))
    return value


def matching(value: str, field: str, pattern: re.Pattern[str], hint: str) -> str:
    """A text that matches a pattern; raises InvalidField with reason ``pattern``."""
    if not pattern.fullmatch(value):
        raise InvalidField(field, "pattern", hint)
    return value


def color(value: str, field: str = "color") -> str:
    """A color such as ``#64748b``; raises InvalidField."""
    return matching(value, field, COLOR_PATTERN, messages.not_a_color(field))


def small_int(value: str) -> int | None:
    """The number that up to nine ASCII digits spell; None for anything else.

    It fits into a 32-bit column. ``int`` alone accepts digits of every script.
    """
    return int(value) if _SMALL_INT.fullmatch(value) else None


def name_key(value: str) -> str:
    """The form in which names are compared: Unicode casefold."""
    return value.casefold()


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """``{field: {from, to}}`` for the fields of ``after`` that differ from ``before``."""
    return {
        field: {"from": before[field], "to": value}
        for field, value in after.items()
        if before[field] != value
    }


def normalize_newlines(value: str) -> str:
    """The text with LF as its only line break; HTML reads CRLF and CR as line breaks too."""
    return value.replace("\r\n", "\n").replace("\r", "\n")


def without_bidi_controls(value: str) -> str:
    """The text, which then cannot reorder the rest of the line that it is put into."""
    return _BIDI_CONTROL.sub("", value)


def unique(values: Iterable[str]) -> list[str]:
    """The values without duplicates, in order."""
    return list(dict.fromkeys(values))


def counted(count: int, what: str) -> str:
    """Such as ``1,234 pages`` or ``1 page``."""
    return f"{count:,} {pluralize(count, what)}"


def pluralize(count: int, what: str) -> str:
    """A plural such as ``pages made``, or its singular ``page made`` if ``count`` is 1."""
    noun, blank, rest = what.partition(" ")
    if count == 1:
        noun = f"{noun[:-3]}y" if noun.endswith("ies") else noun.removesuffix("s")
    return f"{noun}{blank}{rest}"
