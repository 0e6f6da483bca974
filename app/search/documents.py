"""What a document is to the index: its words in order, and marks for everything else about it.

A mark is a word behind a character that no word can hold, so that marks and words never meet. Both
databases store these same terms, which is why they find the same documents.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, islice

from app.search.stemming import stem
from app.search.words import is_unspaced, words

# PostgreSQL counts no positions beyond this one, so phrases are found up to here on both.
POSITIONS = 16_383
# The bytes of different words that are indexed: about twenty thousand words, more than a text of
# the greatest length has. PostgreSQL bounds what one document may hold.
WORD_BYTES = 131_072
# Of any character, in bytes.
LONGEST_CHARACTER = 4
LEAD_WORDS = 60
HEADING_WORDS = 200
EXACT_LENGTH = 400
# The first letters of words, up to so many, are marks: looking for all words with a beginning that
# short would take a database long.
SHORT = 3

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+)$", re.MULTILINE)


class DocumentKind(StrEnum):
    """What can be found."""

    TICKET = "ticket"
    WIKI_PAGE = "wiki_page"


class MarkKind(StrEnum):
    """The characters before marks. None is a letter, a digit or a pictograph of ``words``."""

    ALL = "¡"
    KIND = "¢"
    PROJECT = "£"
    DISPLAY_ID = "¥"
    # The whole title, its words joined.
    EXACT_TITLE = "°"
    STEM = "§"
    TITLE_STEM = "¶"
    TITLE_WORD = "¤"
    # Headings, and how the text begins: stems alone, which are a fifth of all terms less than with
    # words and how they begin, where only the order of hits hangs on it.
    LEAD = "¬"
    # How a word begins, or a word of the title behind its own mark.
    BEGINNING = "÷"


# Between title and body, so that no phrase reaches from one into the other.
BOUNDARY = "·"
GLOBAL = f"{MarkKind.PROJECT}global"


@dataclass(frozen=True, slots=True)
class SearchDoc:
    """A ticket or a wiki page, as its domain hands it to the index."""

    kind: DocumentKind
    id: str
    # None for a global page.
    project_id: str | None
    title: str
    body: str
    display_id: str | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a document: words in order (phrases are found in them), and marks.

    Marks are one text, each in it once with a space between two: there are some six hundred.
    """

    words: list[str]
    marks: str


def kind_mark(kind: str) -> str:
    """The mark of everything of a kind. SQLite would take what stands behind ``_`` for a word."""
    return MarkKind.KIND + kind.replace("_", BOUNDARY)


def project_mark(project_id: str | None) -> str:
    """The mark of everything in a project, or of what is global."""
    return GLOBAL if project_id is None else MarkKind.PROJECT + project_id.replace("-", "")


def display_mark(display_id: str) -> str:
    """The mark of the ticket with this display id."""
    return MarkKind.DISPLAY_ID + display_id.lower().replace("-", BOUNDARY)


def exact_mark(title_words: Iterable[str]) -> str:
    """The mark of titles that consist of these words."""
    return (MarkKind.EXACT_TITLE + BOUNDARY.join(title_words))[:EXACT_LENGTH]


def analyzed(doc: SearchDoc) -> Terms:
    """The terms of a document."""
    title, body = words(doc.title), words(doc.body)
    different = {*title, *body}
    known = _within_bounds(different, [*title, *body])
    sequence = [word for word in body if word in known] if len(known) < len(different) else body
    placed = [*title, BOUNDARY, *sequence][:POSITIONS]
    marks = [MarkKind.ALL, kind_mark(doc.kind), project_mark(doc.project_id), exact_mark(title)]
    marks += _of_words(MarkKind.STEM, "", known)
    marks += _of_words(MarkKind.TITLE_STEM, MarkKind.TITLE_WORD, set(title))
    marks.append(_behind(MarkKind.LEAD, set(map(stem, known.intersection(_lead(doc.body, body))))))
    if len(placed) == POSITIONS:
        marks += known.difference(placed)
    terms = Terms(placed, " ".join(filter(None, marks)))
    return terms if doc.display_id is None else with_display_id(terms, doc.display_id)


def with_display_id(terms: Terms, display_id: str) -> Terms:
    """The terms of the same document with this display id."""
    return Terms(terms.words, f"{terms.marks} {display_mark(display_id)}")


def beginning(mark: str, letters: str) -> str | None:
    """The mark of words behind ``mark`` that begin so; None where they are too many letters."""
    return MarkKind.BEGINNING + mark + letters if len(letters) <= SHORT else None


def _of_words(stem_mark: MarkKind, word_mark: str, found: set[str]) -> Iterator[str]:
    """What words add where they stand: stems, themselves behind a mark, and how they begin."""
    # A pair of characters has no stem.
    stemmed = (one for one in found if one.isascii() or not is_unspaced(one))
    yield _behind(stem_mark, set(map(stem, found if all(map(str.isascii, found)) else stemmed)))
    if word_mark:
        yield _behind(word_mark, found)
    # A text has far fewer beginnings than words.
    beginnings: set[str] = set()
    for length in range(SHORT, 0, -1):
        found = {one[:length] for one in found}
        beginnings |= found
    yield _behind(MarkKind.BEGINNING + word_mark, beginnings)


def _behind(mark: str, found: set[str]) -> str:
    """Each of these behind the mark."""
    return mark + f" {mark}".join(found) if found else ""


def _within_bounds(different: set[str], found: list[str]) -> set[str]:
    """The different words among those found, as far as they may be indexed."""
    if sum(map(len, different)) <= WORD_BYTES // LONGEST_CHARACTER:
        return different
    in_order = dict.fromkeys(found)
    sizes = accumulate(len(word.encode()) for word in in_order)
    return {word for word, size in zip(in_order, sizes, strict=True) if size <= WORD_BYTES}


def _lead(body: str, found: list[str]) -> Iterator[str]:
    yield from found[:LEAD_WORDS]
    headings = "\n".join(islice((match[1] for match in _HEADING.finditer(body)), HEADING_WORDS))
    yield from words(headings[: HEADING_WORDS * LEAD_WORDS])[:HEADING_WORDS]
