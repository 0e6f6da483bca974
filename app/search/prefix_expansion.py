"""On SQLite: which words of the index begin so, to look for those instead of for a beginning.

FTS5 answers a beginning by putting together all documents of all its words, before the first one is
found, however few are wanted; single words it reads only as far as it must. Mostly what was typed
is a whole word, and one or two others begin so.
"""

from sqlalchemy import String, text

from app.database.session import Prepared
from app.search.expressions import All, Any, Expression, Prefix, Term, Without, some
from app.search.stemming import stem

# Each further word is looked for in every tier, and finding it out takes another look.
MOST = 4

# No word holds the one character, nor does any come after the other.
_BEFORE = "\x01"
_AFTER = "\U0010ffff"
# Of each word the index is asked for one occurrence, and then for what comes behind that word.
_LONGER = Prepared(
    text(
        "WITH RECURSIVE longer(term) AS ("
        "SELECT (SELECT term FROM search_fts_vocabulary WHERE term >= :after AND term < :end "
        "ORDER BY term LIMIT 1) UNION ALL "
        "SELECT (SELECT term FROM search_fts_vocabulary "
        "WHERE term >= longer.term || :before AND term < :end "
        "ORDER BY term LIMIT 1) "
        "FROM longer WHERE longer.term IS NOT NULL LIMIT :limit) "
        "SELECT term FROM longer WHERE term IS NOT NULL"
    ).columns(term=String)
)


class Vocabulary:
    """The words of the index as one search sees them, each beginning looked up once."""

    def __init__(self) -> None:
        self._longer: dict[str, list[str] | None] = {}

    def closed(self, expression: Expression) -> Expression:
        """What finds the same documents of the index, with few beginnings or none in it."""
        match expression:
            case Prefix():
                return some(self._terms(expression) or [expression])
            case All(parts):
                return All(tuple(map(self.closed, parts)))
            case Any(parts):
                return some(one for part in parts for one in self._parts(part))
            case Without(wanted, unwanted):
                return Without(self.closed(wanted), self.closed(unwanted))
        return expression

    def _parts(self, part: Expression) -> list[Expression]:
        """What a part of several becomes, of which others find what it covers."""
        terms = self._terms(part) if isinstance(part, Prefix) else None
        return [self.closed(part)] if terms is None else terms

    def _terms(self, prefix: Prefix) -> list[Expression] | None:
        """The words that begin so, but for those of its stem; None where they are many."""
        if prefix.letters not in self._longer:
            self._longer[prefix.letters] = _longer(prefix.letters)
        longer = self._longer[prefix.letters]
        if longer is None:
            return None
        words = [prefix.letters, *longer]
        return [Term(prefix.mark + word) for word in words if stem(word) != prefix.stem]


def _longer(letters: str) -> list[str] | None:
    """The words that begin so and are longer, in order; None where they are many."""
    rows = _LONGER.all(
        after=letters + _BEFORE, before=_BEFORE, end=letters + _AFTER, limit=MOST + 1
    )
    return [row.term for row in rows] if len(rows) <= MOST else None
