"""The index on SQLite: one FTS5 table whose rowid is the document id.

FTS5 only keeps the terms and finds them: they are made in ``documents.py``, and its tokenizer just
splits at spaces, since it takes every character outside ASCII for part of a word. Documents that
were put a moment ago may be pending (``pending.py``); a search stores those first.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import orjson
from sqlalchemy import BigInteger, String, bindparam, column, delete, select, table, text

from app.core.lanes import Lane, require
from app.database.session import (
    AnySelect,
    Prepared,
    between_snapshots,
    is_writing,
    reading,
    run_write,
)
from app.search import pending
from app.search.document_ids import added
from app.search.documents import SearchDoc, Terms, analyzed
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without, some
from app.search.ranking import END, Tier, Wanted
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


# How long after a change its document stays pending, for others to be stored with it.
FLUSH_DELAY_SECONDS = 0.2
# So many are stored by one transaction, for which all other writers wait.
BATCH = 32

_FTS = table("search_fts", column("rowid"), column("words"), column("marks"))
# One statement for all: Python, which other threads want too, is let go and taken back but once.
_INSERT = Prepared(
    text(
        "INSERT INTO search_fts (rowid, words, marks) SELECT json_extract(value, '$[0]'), "
        "json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:documents)"
    ).columns()
)
_DELETE = Prepared(delete(_FTS).where(_FTS.c.rowid.in_(bindparam("document_ids", expanding=True))))
_NEWEST = Prepared(
    text(
        "SELECT rowid AS document_id FROM search_fts WHERE search_fts MATCH :match "
        "AND rowid < :below ORDER BY rowid DESC LIMIT :limit"
    ).columns(document_id=BigInteger)
)


def write(document_id: int, doc: SearchDoc, *, is_new: bool, may_wait: bool) -> None:
    """Note that the document is pending, or store its terms, instead of those it has."""
    if may_wait and pending.add(document_id, doc):
        return
    if not is_new:
        erase(document_id)
    _store({document_id: analyzed(doc)})


def terms_of(doc: SearchDoc) -> None:
    """None: they are made once nobody waits for the writer any more."""


def write_new(doc: SearchDoc, terms: Terms | None) -> None:
    """Note that a new document is pending, or store its terms."""
    write(added(doc), doc, is_new=True, may_wait=True)


def _store(documents: Mapping[int, Terms]) -> None:
    rows = [
        (document_id, " ".join(terms.words), terms.marks)
        for document_id, terms in documents.items()
    ]
    _INSERT.all(documents=orjson.dumps(rows).decode())


def erase(document_id: int) -> None:
    """Forget the terms of the document."""
    pending.discard([document_id])
    _DELETE.all(document_ids=[document_id])


def flush(*, own: bool) -> None:
    """Store the terms of the documents that are pending: of this process, or of all.

    Opens its own units of work.
    """
    with reading():
        _flush(own=own)


def refresh() -> None:
    """Store all documents that are pending, as a search comes next in this unit of work.

    Where there are any, one that only reads goes on with a new snapshot. Raises LaneRequired on the
    event loop, and Unavailable where nothing can be written.
    """
    _flush(own=False)


def _flush(*, own: bool) -> None:
    document_ids = pending.document_ids(own=own)
    if not document_ids:
        return
    require(Lane.POOL)
    for start in range(0, len(document_ids), BATCH):
        batch = document_ids[start : start + BATCH]
        if is_writing():
            _flush_batch(batch, {})
            continue
        # Analyzed while others can write.
        known = pending.terms(pending.versions(batch), {})
        with between_snapshots():
            run_write(partial(_flush_batch, batch, known), async_commit=True)


def _flush_batch(document_ids: Sequence[int], known: Mapping[int, Terms]) -> None:
    """Store those of these documents that are still pending, as they are now."""
    rows = pending.versions(document_ids)
    if not rows:
        return
    terms = pending.terms(rows, known)
    left = [row.place for row in rows]
    _DELETE.all(document_ids=left)
    _store({row.place: terms[row.version] for row in rows if row.version in terms})
    pending.discard(left)


def matching(expression: Expression) -> AnySelect:
    """A query for the ids of all documents that fit."""
    match = rendered(Vocabulary().closed(expression))
    return select(_FTS.c.rowid).where(text("search_fts MATCH :match").bindparams(match=match))


def best(
    wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    """The ids of the best documents, the best first, and of which tier each is.

    ``everything`` says what fits in any tier but for a display id, what is found faster before.
    Where few fit at all, tiers are asked for until each of those has its own.
    """
    lookup = _Lookup(limit)
    few = _few(everything, lookup)
    found: dict[int, Tier] = {}
    for asked in wanted:
        if asked.tier is not Tier.DISPLAY_ID and few is not None and few <= found.keys():
            break
        newest = lookup.newest(asked.expression, asked.below)
        document_ids = [one for one in newest if one not in found]
        found |= dict.fromkeys(document_ids[: limit - len(found)], asked.tier)
        if len(found) == limit:
            break
    return list(found.items())


def _few(everything: Sequence[Expression], lookup: "_Lookup") -> set[int] | None:
    """The ids of all that fits; None where that is more than asked for, or not known."""
    document_ids: list[int] | None = None
    for expression in everything:
        document_ids = lookup.newest(expression, END)
        if len(document_ids) >= lookup.limit:
            return None
    return set(document_ids) if document_ids is not None else None


class _Lookup:
    """One search: the index is asked for nothing twice."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._vocabulary = Vocabulary()
        self._found: dict[tuple[str, int], list[int]] = {}

    def newest(self, expression: Expression, below: int) -> list[int]:
        """The ids of the newest documents that fit, in falling order, all under ``below``."""
        match = rendered(self._vocabulary.closed(expression))
        found = self._found.get((match, below))
        if found is None:
            rows = _NEWEST.all(match=match, below=below, limit=self.limit)
            found = self._found[match, below] = [row.document_id for row in rows]
        return found


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
