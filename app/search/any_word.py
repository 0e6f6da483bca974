"""Documents with any of a query's words, if none has all of them.

Documents with the most words come first. A word that many documents have is costly and says little,
so it does not count if another word is rarer. If all words are that common, only the newest
documents are compared.
"""

from collections.abc import Callable
from dataclasses import dataclass

from app.search import index
from app.search.expressions import Expression
from app.search.parsing import Part, Query
from app.search.ranking import Tier, in_texts, in_titles, of_words

# The most words that are searched for: the longest, which tend to be the rarest.
WORDS = 12
# The most documents of a word that counts.
COMMON = 500


@dataclass(frozen=True, slots=True, order=True)
class AnyMatch:
    """A document and how well it matches; the better one is greater."""

    # How many of the words it has.
    words: int
    tier: Tier
    document_id: int


@dataclass(frozen=True, slots=True)
class AnyMatches:
    """The documents that match any of ``parts``, best first."""

    parts: tuple[Part, ...]
    matches: list[AnyMatch]


def find(query: Query, narrow: Callable[[Expression], Expression]) -> AnyMatches:
    """All matches of the words that count; ``narrow`` restricts them to a scope."""
    longest = sorted(query.wanted, key=lambda part: -sum(map(len, part.words)))[:WORDS]
    found = index.newest([narrow(one) for one in of_words(longest, query)], COMMON + 1)
    by_part = dict(zip(longest, found, strict=True))
    counting = {part: ids for part, ids in by_part.items() if ids and len(ids) <= COMMON}
    oldest = 0
    if not counting:
        counting = {part: ids for part, ids in by_part.items() if ids}
        # For older documents, not all words are known.
        oldest = max((ids[-1] for ids in counting.values()), default=0)
    words: dict[int, int] = {}
    for ids in counting.values():
        for document_id in ids:
            if document_id >= oldest:
                words[document_id] = words.get(document_id, 0) + 1
    if not words:
        return AnyMatches((), [])
    parts = tuple(counting)
    titles, texts = index.newest([narrow(in_titles(parts)), narrow(in_texts(parts))], len(words))
    tiers = dict.fromkeys(texts, Tier.ANYWHERE) | dict.fromkeys(titles, Tier.SOME_IN_TITLE)
    matches = [
        AnyMatch(count, tiers.get(document_id, Tier.IN_COMMENTS), document_id)
        for document_id, count in words.items()
    ]
    return AnyMatches(parts, sorted(matches, reverse=True))
