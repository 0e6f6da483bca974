"""Marks: placeholders in a text for parts that were already read.

A mark is a number between two characters that no text contains, as ``clean`` removes them from
input. Whatever later steps do with the text around it, a mark stays whole.
"""

import re
from dataclasses import dataclass

from app.core.text import normalize_newlines

OPEN = "\ufdd0"
CLOSE = "\ufdd1"
# A line break inside a paragraph, which is one line until it is written as HTML.
LINE = "\ufdd2"
MARK = re.compile(f"{OPEN}([0-9]+){CLOSE}")

_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufdd0-\ufdef\ufffe\uffff]+")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class PlainText:
    """Text without any syntax in it."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A code block; ``language`` as typed after the fence."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """A hard line break."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link with a judged address; ``shown`` is text with marks."""

    href: str
    title: str
    shown: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A file of ours that is shown in its place, if it is an image; ``words`` say what it shows."""

    address: str
    words: str


@dataclass(frozen=True, slots=True)
class PageLink:
    """``[[slug]]``, which shows the title, or ``[[slug|shown]]`` (``has_words``)."""

    slug: str
    shown: str
    has_words: bool = False


@dataclass(frozen=True, slots=True)
class TicketLink:
    """``[[ticket:OPS-12]]``, which shows the title, or a bare ``OPS-12`` (``is_bare``).

    With ``has_words``, ``shown`` is the text after a bar and replaces the title.
    """

    display_id: str
    shown: str
    is_bare: bool = False
    has_words: bool = False


@dataclass(frozen=True, slots=True)
class UserMention:
    """``@name``, which may be nobody's; ``username`` in lower case."""

    username: str
    shown: str


Token = PlainText | Code | Block | Break | Link | Picture | PageLink | TicketLink | UserMention


def clean(text: str) -> str:
    """The text without control characters; line ends are newlines."""
    text = normalize_newlines(text)
    return _SURROGATES.sub("\ufffd", _UNWANTED.sub("", text))


def mark(tokens: list[Token], token: Token) -> str:
    """Add a token and return its mark."""
    tokens.append(token)
    return f"{OPEN}{len(tokens) - 1}{CLOSE}"
