"""Documents of the index, and their terms: words in order, and marks for everything else.

A mark is a word after a character that no word contains, so marks and words never collide. Both
databases store the same terms and therefore find the same documents.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, islice

from sqlalchemy import BigInteger, Integer, bindparam, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Id, short_text
from app.database.session import Base, Prepared
from app.search.words import is_unspaced, stem, words

# The last position that PostgreSQL stores, so both databases find phrases up to here.
POSITIONS = 16_383
# The most bytes of distinct indexed words, as PostgreSQL limits the size of a document: about
# twenty thousand words, more than a text of the maximum length has.
WORD_BYTES = 131_072
MAX_CHARACTER_BYTES = 4
LEAD_WORDS = 60
HEADING_WORDS = 200
EXACT_LENGTH = 400
# Prefixes up to this length are marks: expanding them to all their words would be slow.
SHORT = 3

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+)$", re.MULTILINE)


class DocumentKind(StrEnum):
    TICKET = "ticket"
    WIKI_PAGE = "wiki_page"


class MarkKind(StrEnum):
    """The first characters of marks. None is a letter, a digit or a pictograph of ``words``."""

    ALL = "¡"
    KIND = "¢"
    PROJECT = "£"
    DISPLAY_ID = "¥"
    # All words of the title, joined.
    EXACT_TITLE = "°"
    STEM = "§"
    TITLE_STEM = "¶"
    TITLE_WORD = "¤"
    # Headings and the first words. Only stems, because only ranking needs them: words and prefixes
    # would add a fifth to all terms.
    LEAD = "¬"
    # Doubled, to distinguish a word of a comment from one of the text.
    COMMENT_STEM = "§§"
    COMMENT_WORD = "¤¤"
    # A prefix of a word; before TITLE_WORD or COMMENT_WORD, of a word of the title or a comment.
    BEGINNING = "÷"


# Separates title, body and comments, so that no phrase spans two of them.
BOUNDARY = "·"
GLOBAL = f"{MarkKind.PROJECT}global"


@dataclass(frozen=True, slots=True)
class SearchDoc:
    """A ticket or wiki page, as its domain gives it to the index."""

    kind: DocumentKind
    id: str
    # None for a global page.
    project_id: str | None
    title: str
    body: str
    display_id: str | None = None
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a document: words in order, in which phrases are found, and marks.

    Marks are one text, separated by spaces, without duplicates: there are about six hundred.
    """

    words: list[str]
    marks: str


def kind_mark(kind: str) -> str:
    """The mark of all documents of a kind. SQLite would split a word at ``_``."""
    return MarkKind.KIND + kind.replace("_", BOUNDARY)


def project_mark(project_id: str | None) -> str:
    """The mark of all documents in a project, or of global ones."""
    return GLOBAL if project_id is None else MarkKind.PROJECT + project_id.replace("-", "")


def display_mark(display_id: str) -> str:
    """The mark of the ticket with this display id, in any case."""
    return MarkKind.DISPLAY_ID + display_id.lower().replace("-", BOUNDARY)


def exact_mark(title_words: Iterable[str]) -> str:
    """The mark of titles with exactly these words."""
    return (MarkKind.EXACT_TITLE + BOUNDARY.join(title_words))[:EXACT_LENGTH]


def analyzed(doc: SearchDoc) -> Terms:
    title, body = words(doc.title), words(doc.body)
    distinct = {*title, *body}
    indexed = _within_bounds(distinct, [*title, *body])
    is_cut = len(indexed) < len(distinct)
    sequence = [word for word in body if word in indexed] if is_cut else body
    commented, comment_sequence = _of_comments(doc.comments)
    positioned = [*title, BOUNDARY, *sequence, *comment_sequence][:POSITIONS]
    lead = indexed.intersection(_lead(doc.body, body))
    marks = [MarkKind.ALL, kind_mark(doc.kind), project_mark(doc.project_id), exact_mark(title)]
    marks += _word_marks(MarkKind.STEM, "", indexed)
    marks += _word_marks(MarkKind.TITLE_STEM, MarkKind.TITLE_WORD, set(title))
    marks.append(_marked(MarkKind.LEAD, set(map(stem, lead))))
    marks += _word_marks(MarkKind.COMMENT_STEM, MarkKind.COMMENT_WORD, commented)
    if len(positioned) == POSITIONS:
        marks += indexed.difference(positioned)
    terms = Terms(positioned, " ".join(filter(None, marks)))
    return terms if doc.display_id is None else with_display_id(terms, doc.display_id)


def _of_comments(comments: Iterable[str]) -> tuple[set[str], list[str]]:
    """The distinct words of comments, and all words in order, each prefixed by its mark."""
    texts = [words(comment) for comment in comments]
    in_order = [word for of_one in texts for word in of_one]
    indexed = _within_bounds(set(in_order), in_order)
    sequence: list[str] = []
    for of_one in texts:
        sequence.append(BOUNDARY)
        sequence += (MarkKind.COMMENT_WORD + word for word in of_one if word in indexed)
    return indexed, sequence


def with_display_id(terms: Terms, display_id: str) -> Terms:
    return Terms(terms.words, f"{terms.marks} {display_mark(display_id)}")


def beginning(mark: str, letters: str) -> str | None:
    """The mark of a prefix of words with ``mark``; None if the prefix is too long for one."""
    return MarkKind.BEGINNING + mark + letters if len(letters) <= SHORT else None


def _word_marks(stem_mark: MarkKind, word_mark: str, found: set[str]) -> Iterator[str]:
    """The marks of words: of their stems, of themselves if ``word_mark``, and of prefixes."""
    # A pair of characters has no stem.
    stemmed = (word for word in found if word.isascii() or not is_unspaced(word))
    yield _marked(stem_mark, set(map(stem, found if all(map(str.isascii, found)) else stemmed)))
    if word_mark:
        yield _marked(word_mark, found)
    # Shorter prefixes come from longer ones, as a text has far fewer prefixes than words.
    prefixes = found
    beginnings: set[str] = set()
    for length in range(SHORT, 0, -1):
        prefixes = {prefix[:length] for prefix in prefixes}
        beginnings |= prefixes
    yield _marked(MarkKind.BEGINNING + word_mark, beginnings)


def _marked(mark: str, found: set[str]) -> str:
    """Each of the words after the mark."""
    return mark + f" {mark}".join(found) if found else ""


def _within_bounds(distinct: set[str], in_order: list[str]) -> set[str]:
    """The first distinct words that together have at most ``WORD_BYTES``."""
    if sum(map(len, distinct)) <= WORD_BYTES // MAX_CHARACTER_BYTES:
        return distinct
    ordered = dict.fromkeys(in_order)
    sizes = accumulate(len(word.encode()) for word in ordered)
    return {word for word, size in zip(ordered, sizes, strict=True) if size <= WORD_BYTES}


def _lead(body: str, body_words: list[str]) -> Iterator[str]:
    """The first words of the body, and the words of its headings."""
    yield from body_words[:LEAD_WORDS]
    headings = "\n".join(islice((match[1] for match in _HEADING.finditer(body)), HEADING_WORDS))
    yield from words(headings[: HEADING_WORDS * LEAD_WORDS])[:HEADING_WORDS]


class SearchDocument(Base):
    """A ticket or page in the index, and the document id under which its terms are stored."""

    __tablename__ = "search_docs"

    # Grows with each new document, so that the newest documents have the largest ids.
    document_id: Mapped[int] = mapped_column(
        "place",
        BigInteger().with_variant(Integer, "sqlite"),
        key="document_id",
        primary_key=True,
        autoincrement=True,
    )
    # The id of the ticket or page.
    id: Mapped[str] = mapped_column(Id, unique=True)
    kind: Mapped[str] = mapped_column(short_text(16))


# If two transactions insert the same document, the second waits here and gets the first one's id.
INSERT = (
    "INSERT INTO search_docs (id, kind) VALUES (:id, :kind) "
    "ON CONFLICT (id) DO UPDATE SET kind = excluded.kind RETURNING place"
)
ASSIGN_ID = Prepared(text(INSERT).bindparams(bindparam("id", type_=Id)).columns(place=BigInteger))
