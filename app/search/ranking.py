"""The order of hits: in how prominent a place the words stand, and then the newest first.

Each tier is a query of its own that the index answers from its newest document on, and stops. So no
query has to look at all its matches, however common its words are; every match can be reached; and
a new document never moves another one, which is what lets pages neither repeat nor skip a row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from app.search.documents import EXACT_LENGTH, MarkKind, beginning, display_mark, exact_mark
from app.search.expressions import (
    All,
    Expression,
    Phrase,
    Prefix,
    Term,
    every,
    some,
    without,
)
from app.search.parsing import Part, Query
from app.search.stemming import stem
from app.search.words import is_unspaced

# Above all document ids.
END = (1 << 63) - 1


class Tier(IntEnum):
    """Why a hit stands where it does; also its score."""

    DISPLAY_ID = 6
    EXACT_TITLE = 5
    ALL_IN_TITLE = 4
    SOME_IN_TITLE = 3
    ALL_IN_LEAD = 2
    ANYWHERE = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one tier is asked for: the documents that fit, of those under a document id.

    What fits a better tier as well, and is asked for there, belongs to that one.
    """

    tier: Tier
    expression: Expression
    below: int


@dataclass(frozen=True, slots=True)
class _Field:
    """Where words are looked for: the marks of stems and of words as they are."""

    stem: str
    word: str


_ANYWHERE = _Field(MarkKind.STEM, "")
_TITLE = _Field(MarkKind.TITLE_STEM, MarkKind.TITLE_WORD)


def tiers(query: Query) -> Iterator[tuple[Tier, Expression, tuple[Expression, ...]]]:
    """The tiers of a query, the best first: what fits, and what of it is in a better one."""
    if query.is_empty:
        return
    unwanted = _unwanted(query)
    if not query.wanted:
        yield Tier.ANYWHERE, without(Term(MarkKind.ALL), unwanted), ()
        return
    shown: list[Expression] = []
    if query.display_id is not None:
        shown.append(Term(display_mark(query.display_id)))
        yield Tier.DISPLAY_ID, shown[0], ()
    matches = _matches(query)
    # Words of a title, or of the lead, stand somewhere; those of a phrase need not be together.
    is_implied = all(len(part.words) == 1 for part in query.wanted)
    in_title = [_in_field(part, _TITLE) for part in query.wanted]
    wanted = {
        Tier.EXACT_TITLE: Term(exact_mark(query.words)),
        Tier.ALL_IN_TITLE: every(in_title),
        Tier.SOME_IN_TITLE: some(in_title) if len(in_title) > 1 else None,
        Tier.ALL_IN_LEAD: every(_in_lead(part) for part in query.wanted),
    }
    for tier, narrower in wanted.items():
        if narrower is not None:
            says_all = is_implied and tier is not Tier.SOME_IN_TITLE
            if tier is Tier.ALL_IN_LEAD and any(part.is_quoted for part in query.wanted):
                # There are only the stems.
                says_all = False
            if tier is Tier.EXACT_TITLE:
                # Of a long title the mark is only the beginning.
                says_all = len(exact_mark(query.words)) < EXACT_LENGTH
            fitting = narrower if says_all else every([matches, narrower])
            yield tier, without(fitting, unwanted), tuple(shown)
            shown.append(narrower)
    # All words in the title are some of them as well.
    shown = [one for one in shown if len(in_title) == 1 or one != wanted[Tier.ALL_IN_TITLE]]
    yield Tier.ANYWHERE, without(matches, unwanted), tuple(shown)


def wanted(query: Query, after: Tier | None = None, below: int = END) -> Iterator[Wanted]:
    """What is asked for: all tiers, or what comes behind document ``below`` of the tier ``after``.

    In the first case what better tiers found is left out of what a tier finds, as an index would
    look for a beginning again for each mention in the query. In the other they are not asked.
    """
    for tier, fitting, better in tiers(query):
        if after is None:
            yield Wanted(tier, fitting, END)
        elif tier <= after:
            yield Wanted(tier, without(fitting, better), below if tier == after else END)


def all_tiers(query: Query) -> Expression | None:
    """What fits whatever its tier, but for a display id; None where there is but one tier."""
    return without(_matches(query), _unwanted(query)) if query.wanted else None


def some_of_all_tiers(query: Query) -> Expression | None:
    """Much of what ``all_tiers`` has, found without looking at all words that begin so."""
    closed = tuple(replace(part, is_open=False) for part in query.wanted)
    return all_tiers(replace(query, wanted=closed))


def _matches(query: Query) -> Expression:
    return every(_in_field(part, _ANYWHERE) for part in query.wanted)


def _unwanted(query: Query) -> list[Expression]:
    return [_in_field(part, _ANYWHERE) for part in query.unwanted]


def _in_lead(part: Part) -> Expression:
    return every(Term(MarkKind.LEAD + stem(word)) for word in part.words)


def _in_field(part: Part, field: _Field) -> Expression:
    if len(part.words) == 1:
        return _word(part.words[0], field, is_open=part.is_open, is_exact=part.is_quoted)
    if field is _ANYWHERE:
        return Phrase(part.words, part.is_open)
    *closed, last = part.words
    ending = _beginning(field, last) if part.is_open else Term(field.word + last)
    return All((*(Term(field.word + word) for word in closed), ending))


def _word(word: str, field: _Field, *, is_open: bool, is_exact: bool) -> Expression:
    as_it_is = field.word + word
    if is_unspaced(word):
        return _beginning(field, word) if len(word) == 1 else Term(as_it_is)
    if is_exact:
        return _beginning(field, word) if is_open else Term(as_it_is)
    stemmed = Term(field.stem + stem(word))
    return some([stemmed, _beginning(field, word, stem(word))]) if is_open else stemmed


def _beginning(field: _Field, letters: str, known_stem: str | None = None) -> Expression:
    mark = beginning(field.word, letters)
    return Prefix(letters, field.word, known_stem) if mark is None else Term(mark)
