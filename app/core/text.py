"""The rules of text fields, shared by all verbs.

Bodies are kept exactly as sent; titles and names are stripped; NUL is refused everywhere.
"""

import re
from collections.abc import Iterable
from typing import Any

from app.core.errors import InvalidField

NAME_LENGTH = 200
BODY_LENGTH = 65_536
DESCRIPTION_LENGTH = 16_384

_WHOLE = re.compile(r"[0-9]{1,9}")
COLOR_PATTERN = re.compile(r"#[0-9A-Fa-f]{6}")


def checked(value: str, field: str, longest: int) -> str:
    """The text as sent, if it holds no NUL and is not too long; raises InvalidField."""
    if "\x00" in value:
        raise InvalidField(field, "nul_character")
    if len(value) > longest:
        raise InvalidField(field, "too_long", f"{field} has at most {longest} characters.")
    return value


def line(value: str, field: str, longest: int = NAME_LENGTH) -> str:
    """A title or name: stripped, not blank, at most ``longest`` characters; raises InvalidField."""
    stripped = checked(value, field, len(value)).strip()
    if not stripped:
        raise InvalidField(field, "blank", f"{field} must not be blank.")
    return checked(stripped, field, longest)


def body(value: str, field: str = "body", longest: int = BODY_LENGTH) -> str:
    """A body that may be empty; raises InvalidField."""
    return checked(value, field, longest)


def filled_body(value: str, field: str = "body", longest: int = BODY_LENGTH) -> str:
    """A body that must say something; raises InvalidField."""
    if not checked(value, field, longest).strip():
        raise InvalidField(field, "blank", f"{field} must not be blank.")
    return value


def matching(value: str, field: str, pattern: re.Pattern[str], hint: str) -> str:
    """Text of a fixed pattern; raises InvalidField with reason ``pattern``."""
    if not pattern.fullmatch(value):
        raise InvalidField(field, "pattern", hint)
    return value


def color(value: str, field: str = "color") -> str:
    """A color such as ``#64748b``; raises InvalidField."""
    return matching(value, field, COLOR_PATTERN, f"{field} looks like #64748b.")


def whole(value: str) -> int | None:
    """The number that up to nine ASCII digits say; None for anything else.

    As a 32-bit column holds it; ``int`` alone takes digits of every script, and gives up on many.
    """
    return int(value) if _WHOLE.fullmatch(value) else None


def same_name(value: str) -> str:
    """The form in which two names count as the same: Unicode casefold."""
    return value.casefold()


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """``{field: {from, to}}`` for the fields of ``after`` that differ from ``before``."""
    return {
        field: {"from": before[field], "to": value}
        for field, value in after.items()
        if before[field] != value
    }


def unified(value: str) -> str:
    """The text with a newline for each line break; HTML makes one of CRLF and of CR alone."""
    return value.replace("\r\n", "\n").replace("\r", "\n")


def unique(values: Iterable[str]) -> list[str]:
    """The values in their order, each once."""
    return list(dict.fromkeys(values))


def named(count: int, what: str) -> str:
    """What is counted, given as a plural such as ``pages made``, as it is called: ``page made``."""
    noun, blank, rest = what.partition(" ")
    return f"{noun.removesuffix('s') if count == 1 else noun}{blank}{rest}"
