"""The order of hits: by tier (how prominently the words occur), and within a tier newest first.

The index answers one query per tier, starting from its newest document, and stops early. So no
search reads all its matches, however common its words are, and yet every match can be reached. A
new document never moves another one, so pages neither repeat nor skip a row.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

from app.search.documents import EXACT_LENGTH, MarkKind, beginning, display_mark, exact_mark
from app.search.expressions import All, Expression, Phrase, Prefix, Term, every, some, without
from app.search.parsing import Part, Query
from app.search.words import is_unspaced, stem

# Greater than all document ids.
END = (1 << 63) - 1


class Tier(IntEnum):
    """Why a hit has its rank; also its score."""

    DISPLAY_ID = 6
    EXACT_TITLE = 5
    ALL_IN_TITLE = 4
    SOME_IN_TITLE = 3
    ALL_IN_LEAD = 2
    ANYWHERE = 1
    # Some of the words occur only in comments.
    IN_COMMENTS = 0


@dataclass(frozen=True, slots=True)
class TierQuery:
    """The query for one tier: matching documents with ids under ``below``.

    Documents that a better tier's query returns belong to that tier.
    """

    tier: Tier
    expression: Expression
    below: int


@dataclass(frozen=True, slots=True)
class _Field:
    """Where words are looked up: the marks of stems and of exact words."""

    stem: str
    word: str


_ANYWHERE = _Field(MarkKind.STEM, "")
_TITLE = _Field(MarkKind.TITLE_STEM, MarkKind.TITLE_WORD)
_COMMENTS = _Field(MarkKind.COMMENT_STEM, MarkKind.COMMENT_WORD)


def tiers(query: Query) -> list[tuple[Tier, Expression, tuple[Expression, ...]]]:
    """The tiers of a query, best first: their expressions, and the expressions of better tiers."""
    if query.is_empty:
        return []
    unwanted = _unwanted(query)
    if not query.wanted:
        return [(Tier.ANYWHERE, without(Term(MarkKind.ALL), unwanted), ())]
    ranked: list[tuple[Tier, Expression, tuple[Expression, ...]]] = []
    better: list[Expression] = []
    if query.display_id is not None:
        better.append(Term(display_mark(query.display_id)))
        ranked.append((Tier.DISPLAY_ID, better[0], ()))
    matches = _matches(query)
    in_title = [_in_field(part, _TITLE) for part in query.wanted]
    all_in_title = every(in_title)
    in_lead = [Term(MarkKind.LEAD + stem(word)) for part in query.wanted for word in part.words]
    title = exact_mark(query.words)
    # In a title, the words of a phrase need not be adjacent; a lead has only stems.
    phrases = [part for part in query.wanted if len(part.words) > 1]
    quoted = [part for part in query.wanted if part.is_quoted]
    # The tier, its own condition, and whether that implies ``matches``.
    conditions = [
        # The mark of a long title contains only its beginning.
        (Tier.EXACT_TITLE, Term(title), len(title) < EXACT_LENGTH),
        (Tier.ALL_IN_TITLE, all_in_title, not phrases),
        (Tier.SOME_IN_TITLE, some(in_title), False),
        (Tier.ALL_IN_LEAD, every(in_lead), not phrases and not quoted),
    ]
    for tier, condition, implies_match in conditions:
        if tier is Tier.SOME_IN_TITLE and len(in_title) == 1:
            continue
        fitting = condition if implies_match else every([matches, condition])
        ranked.append((tier, without(fitting, unwanted), tuple(better)))
        better.append(condition)
    if len(in_title) > 1:
        # Redundant: documents with all words in the title also have some there.
        better = [condition for condition in better if condition != all_in_title]
    ranked.append((Tier.ANYWHERE, without(matches, unwanted), tuple(better)))
    everything = without(_matches(query, with_comments=True), unwanted)
    ranked.append((Tier.IN_COMMENTS, everything, (*better, matches)))
    return ranked


def tier_queries(query: Query, after: Tier | None = None, below: int = END) -> list[TierQuery]:
    """The queries of all tiers, or those after document ``below`` of tier ``after``.

    On a later page they exclude matches of better tiers, which are not queried again. On the first
    page they do not, because the index would look up a prefix for each mention of it.
    """
    queries = []
    for tier, fitting, better in tiers(query):
        if after is None:
            queries.append(TierQuery(tier, fitting, END))
        elif tier <= after:
            bound = below if tier == after else END
            queries.append(TierQuery(tier, without(fitting, better), bound))
    return queries


def of_words(parts: Iterable[Part], query: Query) -> list[Expression]:
    """For each of these words, the documents with it anywhere, minus those the query excludes."""
    unwanted = _unwanted(query)
    return [
        without(some(_in_field(part, field) for field in (_ANYWHERE, _COMMENTS)), unwanted)
        for part in parts
    ]


def in_titles(parts: Iterable[Part]) -> Expression:
    """The documents with any of these words in the title."""
    return some(_in_field(part, _TITLE) for part in parts)


def in_texts(parts: Iterable[Part]) -> Expression:
    """The documents with any of these words in the title or body."""
    return some(_in_field(part, _ANYWHERE) for part in parts)


def all_tiers(query: Query) -> Expression | None:
    """The documents of any tier but DISPLAY_ID; None for a query that has a single tier."""
    if not query.wanted:
        return None
    return without(_matches(query, with_comments=True), _unwanted(query))


def some_of_all_tiers(query: Query) -> Expression | None:
    """The part of ``all_tiers`` that is found without looking up a prefix."""
    closed = tuple([replace(part, is_open=False) for part in query.wanted])
    return all_tiers(replace(query, wanted=closed))


def _matches(query: Query, *, with_comments: bool = False) -> Expression:
    fields = (_ANYWHERE, _COMMENTS) if with_comments else (_ANYWHERE,)
    return every([some([_in_field(part, field) for field in fields]) for part in query.wanted])


def _unwanted(query: Query) -> list[Expression]:
    return [_in_field(part, field) for part in query.unwanted for field in (_ANYWHERE, _COMMENTS)]


def _in_field(part: Part, field: _Field) -> Expression:
    *closed, last = part.words
    exact = Term(field.word + last)
    if closed:
        if field is not _TITLE:
            return Phrase(tuple(field.word + word for word in part.words), part.is_open)
        ending = _beginning(field, last) if part.is_open else exact
        return All((*(Term(field.word + word) for word in closed), ending))
    if is_unspaced(last):
        return _beginning(field, last) if len(last) == 1 else exact
    if part.is_quoted:
        return _beginning(field, last) if part.is_open else exact
    stemmed = Term(field.stem + stem(last))
    return some([stemmed, _beginning(field, last, stem(last))]) if part.is_open else stemmed


def _beginning(field: _Field, letters: str, known_stem: str | None = None) -> Expression:
    mark = beginning(field.word, letters)
    return Prefix(letters, field.word, known_stem) if mark is None else Term(mark)
