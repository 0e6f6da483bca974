"""The index on PostgreSQL: a tsvector for each document's place, and a GIN index over them.

The server neither parses nor stems; vectors and queries are put together from terms of ours, so
they cannot fail and no dictionary of the server matters. Two things are done for speed:

- GIN gives all matches of a term, in no order. So each document has a term for the block of 4,096
  places that it is in, and a query looks into the newest block, then into more at a time, until it
  has enough.
- GIN knows no positions. So it finds the documents with all words of a phrase, and their vectors
  are read, the newest first, until enough of them have the phrase.
"""

from sqlalchemy import column, select, table, text

from app.core.db import AnySelect, session
from app.search.documents import Terms, beginning
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without, without

BLOCK_BITS = 12
# A sign that no word holds.
_BLOCK = "\u00d7"

# How many times as many blocks each look takes in than the one before.
WIDER = 4
# Where fewer than so many times the rows wanted are expected in all, the next look is the last.
SCARCE = 4

_WRITE = text(
    "INSERT INTO search_fts (place, terms) VALUES (:place, CAST(:terms AS tsvector)) "
    "ON CONFLICT (place) DO UPDATE SET terms = excluded.terms"
)
_ERASE = text("DELETE FROM search_fts WHERE place = :place")
_MATCHING = text(
    "SELECT place FROM search_fts WHERE terms @@ CAST(:query AS tsquery) AND place < :below "
    "ORDER BY place + 0 DESC LIMIT :limit"
)
_WITH_PHRASE = text(
    "SELECT place FROM (SELECT place, place + 0 AS at, terms FROM search_fts "
    "WHERE terms @@ CAST(:query AS tsquery) AND place < :below ORDER BY at DESC OFFSET 0) AS found "
    "WHERE terms @@ CAST(:exact AS tsquery) ORDER BY at DESC LIMIT :limit"
)
# The planner does not know that reading a vector is dear, and would rather read them all, one after
# another or in the order of places, than ask the index. This and the sum above leave it the index.
_NEWEST_PLACE = text(
    "SELECT (SELECT max(place) FROM search_fts), set_config('enable_seqscan', 'off', true)"
)


def write(place: int, terms: Terms, *, is_new: bool) -> None:
    """Store the terms of the document at this place, instead of those it has, if any."""
    session.execute(_WRITE, {"place": place, "terms": vector(place, terms)})


def erase(place: int) -> None:
    """Forget the terms of the document at this place."""
    session.execute(_ERASE, {"place": place})


def vector(place: int, terms: Terms) -> str:
    """The terms as the text of a tsvector."""
    positions: dict[str, list[str]] = {}
    for number, word in enumerate(terms.words, start=1):
        positions.setdefault(word, []).append(str(number))
    placed = (f"'{word}':{','.join(found[:255])}" for word, found in positions.items())
    others = {f"{_BLOCK}{place >> BLOCK_BITS}", *terms.marks}
    return " ".join([*placed, *(f"'{term}'" for term in others)])


def matching(expression: Expression) -> AnySelect:
    """A query for the places of all documents that fit."""
    condition = text("terms @@ CAST(:query AS tsquery)").bindparams(query=rendered(expression))
    return select(column("place")).select_from(table("search_fts")).where(condition)


def newest(expression: Expression, below: int, limit: int) -> list[int]:
    """The places of the newest documents that fit, in falling order, all under ``below``."""
    newest_place = session.scalar(_NEWEST_PLACE) or 0
    # Blocks from ``left`` on have been looked into.
    blocks = left = (min(below - 1, newest_place) >> BLOCK_BITS) + 1
    found: list[int] = []
    size = 1
    while left > 0 and len(found) < limit:
        first = max(left - size, 0)
        within = range(first, left) if first else None
        found += _look(expression, within, below, limit - len(found))
        left, below = first, min(below, first << BLOCK_BITS)
        is_scarce = len(found) * blocks < SCARCE * limit * (blocks - left)
        size = left if is_scarce else size * WIDER
    return found


def _look(expression: Expression, within: range | None, below: int, limit: int) -> list[int]:
    """The newest places in these blocks, or in all."""
    likely = _without_phrases(expression)
    query = rendered(likely)
    if within is not None:
        query += " & (" + " | ".join(f"'{_BLOCK}{block}'" for block in within) + ")"
    values = {"query": query, "below": below, "limit": limit}
    if likely == expression:
        return list(session.scalars(_MATCHING, values))
    return list(session.scalars(_WITH_PHRASE, values | {"exact": rendered(expression)}))


def _without_phrases(expression: Expression) -> Expression:
    """What fits whatever order words are in; all that fits the expression fits this as well."""
    match expression:
        case Phrase(words, is_open):
            *closed, last = words
            mark = beginning("", last) if is_open else last
            return All((*map(Term, closed), Prefix(last) if mark is None else Term(mark)))
        case All(parts):
            return All(tuple(map(_without_phrases, parts)))
        case Any(parts):
            return Any(tuple(map(_without_phrases, parts)))
        case Without(wanted, unwanted):
            likely = _without_phrases(wanted)
            parts = unwanted.parts if isinstance(unwanted, Any) else (unwanted,)
            certain = [part for part in parts if _without_phrases(part) == part]
            return without(likely, certain)
    return expression


def rendered(expression: Expression) -> str:
    """The expression in the language of tsquery; every term is quoted."""
    match expression:
        case Term(term):
            return f"'{term}'"
        case Prefix(letters):
            return f"'{letters}':*"
        case Phrase(words, is_open):
            *closed, last = (f"'{word}'" for word in words)
            return "(" + " <-> ".join([*closed, last + (":*" if is_open else "")]) + ")"
        case All(parts):
            return "(" + " & ".join(rendered(part) for part in parts) + ")"
        case Any(parts):
            return "(" + " | ".join(rendered(part) for part in parts) + ")"
        case Without(wanted, unwanted):
            return f"({rendered(wanted)} & !{rendered(unwanted)})"
