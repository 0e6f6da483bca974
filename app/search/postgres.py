"""The index on PostgreSQL: a tsvector for each document's place, and a GIN index over them.

The server neither parses nor stems; vectors and queries are put together from terms of ours, so
they cannot fail and no dictionary of the server matters. GIN gives all matches of a term, in no
order. So each document has a term for the block of 4,096 places that it is in, and a query looks
into the newest block, then into more at a time, until it has enough.
"""

from collections.abc import Iterator

from sqlalchemy import column, select, table, text

from app.core.db import AnySelect, session
from app.search.documents import Terms
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without

BLOCK_BITS = 12
# A sign that no word holds.
_BLOCK = "\u00d7"

# How many blocks the first, second, third look takes in; the one after them, all the rest.
LOOKS = (1, 4, 16)

_WRITE = text(
    "INSERT INTO search_fts (place, terms) VALUES (:place, CAST(:terms AS tsvector)) "
    "ON CONFLICT (place) DO UPDATE SET terms = excluded.terms"
)
_ERASE = text("DELETE FROM search_fts WHERE place = :place")
_NEWEST_PLACE = text("SELECT max(place) FROM search_fts")
_MATCHING = text(
    "SELECT place FROM search_fts WHERE terms @@ CAST(:query AS tsquery) AND place < :below "
    "ORDER BY place DESC LIMIT :limit"
)


def write(place: int, terms: Terms) -> None:
    """Store the terms of the document at this place, instead of those it had."""
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
    found: list[int] = []
    wanted = rendered(expression)
    newest_place = session.scalar(_NEWEST_PLACE) or 0
    for blocks in _looks(min(below - 1, newest_place) >> BLOCK_BITS):
        looked = " | ".join(f"'{_BLOCK}{block}'" for block in blocks)
        query = f"{wanted} & ({looked})" if blocks else wanted
        values = {"query": query, "below": below, "limit": limit - len(found)}
        found += session.scalars(_MATCHING, values)
        if len(found) == limit:
            break
        if blocks:
            below = min(below, blocks[-1] << BLOCK_BITS)
    return found


def _looks(top: int) -> Iterator[range]:
    """Blocks to look into, the newest first; an empty range stands for all that are left."""
    for size in LOOKS:
        if top < 0:
            return
        yield range(top, max(top - size, -1), -1)
        top -= size
    if top >= 0:
        yield range(0)


def rendered(expression: Expression) -> str:
    """The expression in the language of tsquery; every term is quoted."""
    match expression:
        case Term(term):
            return f"'{term}'"
        case Prefix(beginning):
            return f"'{beginning}':*"
        case Phrase(words, is_open):
            *closed, last = (f"'{word}'" for word in words)
            return "(" + " <-> ".join([*closed, last + (":*" if is_open else "")]) + ")"
        case All(parts):
            return "(" + " & ".join(rendered(part) for part in parts) + ")"
        case Any(parts):
            return "(" + " | ".join(rendered(part) for part in parts) + ")"
        case Without(wanted, unwanted):
            return f"({rendered(wanted)} & !{rendered(unwanted)})"
