"""The index on SQLite: one FTS5 table whose rowid is the document's place.

FTS5 only keeps the terms and finds them: they are made in ``documents.py``, and its tokenizer just
splits at spaces, since it takes every character outside ASCII for part of a word.
"""

from collections.abc import Sequence

from sqlalchemy import BigInteger, column, delete, insert, select, table, text

from app.core.db import AnySelect, Prepared, session
from app.search.documents import Terms
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without
from app.search.ranking import END, Tier, Wanted

_FTS = table("search_fts", column("rowid"), column("words"), column("marks"))
_INSERT = Prepared(insert(_FTS))
_MATCHING = Prepared(
    text(
        "SELECT rowid AS place FROM search_fts WHERE search_fts MATCH :match AND rowid < :below "
        "ORDER BY rowid DESC LIMIT :limit"
    ).columns(place=BigInteger)
)


def write(place: int, terms: Terms, *, is_new: bool) -> None:
    """Store the terms of the document at this place, instead of those it has unless new."""
    if not is_new:
        erase(place)
    _INSERT.all(rowid=place, words=" ".join(terms.words), marks=" ".join(terms.marks))


def erase(place: int) -> None:
    """Forget the terms of the document at this place."""
    session.execute(delete(_FTS).where(_FTS.c.rowid == place))


def matching(expression: Expression) -> AnySelect:
    """A query for the places of all documents that fit."""
    return select(_FTS.c.rowid).where(
        text("search_fts MATCH :match").bindparams(match=rendered(expression))
    )


def best(
    wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    """The places of the best documents, the best first, and of which tier each is.

    ``everything`` says what fits in any tier but for a display id, what is found faster before.
    Where few fit at all, tiers are asked for until each of those has its own.
    """
    found: list[tuple[int, Tier]] = []
    left = _few(everything, limit)
    for asked in wanted:
        if asked.tier is not Tier.DISPLAY_ID and left is not None and not left:
            break
        if left is not None and asked.tier is Tier.ANYWHERE:
            places = sorted(left, reverse=True)
        else:
            places = newest(asked.expression, asked.below, limit - len(found))
        found += [(place, asked.tier) for place in places]
        if left is not None:
            left.difference_update(places)
        if len(found) == limit:
            break
    return found


def _few(everything: Sequence[Expression], limit: int) -> set[int] | None:
    """The places of all that fits; None where that is more than asked for, or not known."""
    places: list[int] | None = None
    for expression in everything:
        places = newest(expression, END, limit)
        if len(places) >= limit:
            return None
    return set(places) if places is not None else None


def newest(expression: Expression, below: int, limit: int) -> list[int]:
    """The places of the newest documents that fit, in falling order, all under ``below``."""
    rows = _MATCHING.all(match=rendered(expression), below=below, limit=limit)
    return [row.place for row in rows]


def rendered(expression: Expression) -> str:
    """The expression in the language of MATCH; every term is quoted."""
    match expression:
        case Term(term):
            return f'"{term}"'
        case Prefix(beginning):
            return f'"{beginning}" *'
        case Phrase(words, is_open):
            # Words beyond the last position stand among the marks in no order.
            return f'words : "{" ".join(words)}"' + (" *" if is_open else "")
        case All(parts):
            return "(" + " AND ".join(rendered(part) for part in parts) + ")"
        case Any(parts):
            return "(" + " OR ".join(rendered(part) for part in parts) + ")"
        case Without(wanted, unwanted):
            return f"({rendered(wanted)} NOT {rendered(unwanted)})"
