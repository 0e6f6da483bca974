"""The index on SQLite: one FTS5 table whose rowid is the document's place.

FTS5 only keeps the terms and finds them: they are made in ``documents.py``, and its tokenizer just
splits at spaces, since it takes every character outside ASCII for part of a word. Documents that
were put a moment ago are not in it yet (``waiting.py``); those are looked at one by one.
"""

from collections.abc import Sequence

import orjson
from sqlalchemy import (
    BigInteger,
    bindparam,
    column,
    delete,
    func,
    select,
    table,
    text,
    union_all,
)

from app.core.db import AnySelect, Prepared, reading, run_write
from app.search import waiting
from app.search.documents import SearchDoc, Terms, analyzed
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without
from app.search.fitting import Stored, fits, stored
from app.search.places import added
from app.search.ranking import END, Tier, Wanted
from app.search.vocabulary import Vocabulary
from app.search.waiting import Due

# How long after a change its document may wait for others to go in with it.
GATHERING_SECONDS = 0.2

_FTS = table("search_fts", column("rowid"), column("words"), column("marks"))
# One statement for all: Python, which other threads want too, is let go and taken back but once.
_INSERT = Prepared(
    text(
        "INSERT INTO search_fts (rowid, words, marks) SELECT json_extract(value, '$[0]'), "
        "json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:documents)"
    ).columns()
)
_DELETE = Prepared(delete(_FTS).where(_FTS.c.rowid.in_(bindparam("places", expanding=True))))
_IS_SETTLED = "rowid NOT IN (SELECT place FROM search_fts_waiting)"
_NEWEST = (
    "SELECT rowid AS place FROM search_fts WHERE search_fts MATCH :match AND rowid < :below "
    "AND {condition} ORDER BY rowid DESC LIMIT :limit"
)
_NEWEST_OF_ALL, _NEWEST_SETTLED = (
    Prepared(text(_NEWEST.format(condition=condition)).columns(place=BigInteger))
    for condition in ("true", _IS_SETTLED)
)


def write(place: int, doc: SearchDoc, *, is_new: bool, may_wait: bool) -> None:
    """Have the document at this place wait, or store its terms, instead of those it has."""
    if may_wait and waiting.note(place, doc):
        return
    if not is_new:
        erase(place)
    _store({place: stored(analyzed(doc))})


def terms_of(doc: SearchDoc) -> None:
    """None: they are made once nobody waits for the writer any more."""


def write_new(doc: SearchDoc, terms: Terms | None) -> None:
    """Have a document wait that has no place yet, or store its terms."""
    write(added(doc), doc, is_new=True, may_wait=True)


def _store(documents: dict[int, Stored]) -> None:
    rows = [(place, found.words, found.marks) for place, found in documents.items()]
    _INSERT.all(documents=orjson.dumps(rows).decode())


def erase(place: int) -> None:
    """Forget the terms of the document at this place."""
    waiting.forget([place])
    _DELETE.all(places=[place])


def settle(*, own: bool) -> bool:
    """Store the terms of some documents that wait; whether there may be more.

    Of those that this process put, or of all. Opens its own units of work.
    """
    with reading():
        # Analyzed while others can write.
        if not waiting.batch(own=own):
            return False
    done = run_write(lambda: _settle(own=own), async_commit=True)
    waiting.settled(done)
    return len(done) == waiting.BATCH


def _settle(*, own: bool) -> list[Due]:
    dues = waiting.batch(own=own)
    places = [due.place for due in dues]
    _DELETE.all(places=places)
    _store({due.place: due.stored for due in dues if due.stored is not None})
    waiting.forget(places)
    return dues


def matching(expression: Expression) -> AnySelect:
    """A query for the places of all documents that fit."""
    apart = waiting.documents()
    settled = select(_FTS.c.rowid).where(
        text("search_fts MATCH :match").bindparams(match=rendered(Vocabulary().closed(expression)))
    )
    if not apart:
        return settled
    return select(
        union_all(
            settled.where(text(_IS_SETTLED)),
            select(column("value")).select_from(
                func.json_each(orjson.dumps(_fitting(expression, apart)).decode())
            ),
        ).subquery()
    )


def best(
    wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    """The places of the best documents, the best first, and of which tier each is.

    ``everything`` says what fits in any tier but for a display id, what is found faster before.
    Where few fit at all, tiers are asked for until each of those has its own.
    """
    look = _Look(limit)
    few = _few(everything, look)
    found: dict[int, Tier] = {}
    for asked in wanted:
        if asked.tier is not Tier.DISPLAY_ID and few is not None and few <= found.keys():
            break
        newest = look.newest(asked.expression, asked.below)
        places = [place for place in newest if place not in found]
        found |= dict.fromkeys(places[: limit - len(found)], asked.tier)
        if len(found) == limit:
            break
    return list(found.items())


def _few(everything: Sequence[Expression], look: "_Look") -> set[int] | None:
    """The places of all that fits; None where that is more than asked for, or not known."""
    places: list[int] | None = None
    for expression in everything:
        places = look.newest(expression, END)
        if len(places) >= look.limit:
            return None
    return set(places) if places is not None else None


class _Look:
    """One search: the index is asked for nothing twice."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._apart = waiting.documents()
        self._vocabulary = Vocabulary()
        self._settled: dict[tuple[str, int], list[int]] = {}

    def newest(self, expression: Expression, below: int) -> list[int]:
        """The places of the newest documents that fit, in falling order, all under ``below``."""
        places = self._newest(rendered(self._vocabulary.closed(expression)), below)
        if not self._apart:
            return places
        others = [place for place in _fitting(expression, self._apart) if place < below]
        return sorted([*places, *others], reverse=True)[: self.limit]

    def _newest(self, match: str, below: int) -> list[int]:
        """Those of the index."""
        places = self._settled.get((match, below))
        if places is None:
            statement = _NEWEST_SETTLED if self._apart else _NEWEST_OF_ALL
            rows = statement.all(match=match, below=below, limit=self.limit)
            places = self._settled[match, below] = [row.place for row in rows]
        return places


def _fitting(expression: Expression, apart: dict[int, Stored]) -> list[int]:
    """The places of those that wait and fit."""
    return [place for place, document in apart.items() if fits(expression, document)]


def rendered(expression: Expression) -> str:
    """The expression in the language of MATCH; every term is quoted."""
    match expression:
        case Term(term):
            return f'"{term}"'
        case Prefix():
            return f'"{expression.text}" *'
        case Phrase(words, is_open):
            # Words beyond the last position stand among the marks in no order.
            return f'words : "{" ".join(words)}"' + (" *" if is_open else "")
        case All(parts):
            return "(" + " AND ".join(rendered(part) for part in parts) + ")"
        case Any(parts):
            return "(" + " OR ".join(rendered(part) for part in parts) + ")"
        case Without(wanted, unwanted):
            return f"({rendered(wanted)} NOT {rendered(unwanted)})"
