"""Marks: what stands in a text for a part that was read already.

A mark is a number between two characters that no text can contain: ``clean`` takes them out of what
people and bots send. Whatever a later step does with the text around it, a mark stays whole.
"""

import re
from dataclasses import dataclass

from app.core.text import unified

OPEN = "\ufdd0"
CLOSE = "\ufdd1"
# A line break inside a paragraph: paragraphs are one line until they are written out.
LINE = "\ufdd2"
MARK = re.compile(f"{OPEN}([0-9]+){CLOSE}")

_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufdd0-\ufdef\ufffe\uffff]+")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class PlainText:
    """Characters that mean only themselves."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A code span."""

    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code; ``language`` as typed behind the fence."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """A line break that is shown."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link with a judged address; ``shown`` is text with marks."""

    href: str
    title: str
    shown: str


@dataclass(frozen=True, slots=True)
class PageLink:
    """``[[slug]]`` or ``[[slug|shown]]``."""

    slug: str
    shown: str


@dataclass(frozen=True, slots=True)
class TicketLink:
    """``[[ticket:OPS-12]]``, which shows the title, or ``OPS-12`` alone (``is_bare``).

    Behind a bar it has words of its own, ``shown``, and shows nothing else.
    """

    display_id: str
    shown: str
    is_bare: bool = False
    has_words: bool = False


Token = PlainText | Code | Block | Break | Link | PageLink | TicketLink


def clean(text: str) -> str:
    """The text without control characters and the like; line ends are newlines."""
    text = unified(text)
    return _SURROGATES.sub("\ufffd", _UNWANTED.sub("", text))


def mark(tokens: list[Token], token: Token) -> str:
    """Keep a token and return the mark that stands for it."""
    tokens.append(token)
    return f"{OPEN}{len(tokens) - 1}{CLOSE}"
