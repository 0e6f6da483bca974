"""The index on SQLite: one FTS5 table whose rowid is the document id.

FTS5 only stores and finds terms. ``documents.py`` makes them, and the tokenizer just splits at
spaces. Changed documents may be pending (``pending.py``); a search stores those first.
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
from app.search.documents import MarkKind, SearchDoc, Terms, analyzed
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without, some
from app.search.models import assign_document_id
from app.search.ranking import END, Tier, TierQuery
from app.search.words import stem

FLUSH_DELAY_SECONDS = 0.2
# Documents stored in one transaction, which blocks all other writers.
BATCH = 32
# A prefix that begins more words is not expanded: each word costs a lookup in every tier.
MOST = 4

_FTS = table("search_fts", column("rowid"), column("words"), column("marks"))
# One statement for all documents, so that Python's lock is released and taken only once.
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
# No word has the first character, and none sorts after the second.
_BEFORE = "\x01"
_AFTER = "\U0010ffff"
# The vocabulary has a row for each occurrence: each step skips to the first row of the next word.
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


def write(document_id: int, doc: SearchDoc, *, is_new: bool, may_wait: bool) -> None:
    if may_wait and pending.add(document_id, doc):
        return
    if not is_new:
        erase(document_id)
    _store({document_id: analyzed(doc)})


def terms_of(doc: SearchDoc) -> None:
    """None: the flusher computes them, while nobody waits for the writer."""


def write_new(doc: SearchDoc, terms: Terms | None) -> None:
    write(assign_document_id(doc), doc, is_new=True, may_wait=True)


def erase(document_id: int) -> None:
    pending.discard([document_id])
    _DELETE.all(document_ids=[document_id])


def _store(documents: Mapping[int, Terms]) -> None:
    rows = [
        (document_id, " ".join(terms.words), terms.marks)
        for document_id, terms in documents.items()
    ]
    _INSERT.all(documents=orjson.dumps(rows).decode())


def flush(*, own: bool) -> None:
    with reading():
        _flush(own=own)


def refresh() -> None:
    """Store all pending documents; a unit of work that only reads then has a new snapshot."""
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
        # Computed while others can write.
        known = pending.terms(pending.versions(batch), {})
        with between_snapshots():
            run_write(partial(_flush_batch, batch, known), async_commit=True)


def _flush_batch(document_ids: Sequence[int], known: Mapping[int, Terms]) -> None:
    """Store those of the documents that are still pending, in their current versions."""
    rows = pending.versions(document_ids)
    if not rows:
        return
    terms = pending.terms(rows, known)
    flushed = [row.place for row in rows]
    _DELETE.all(document_ids=flushed)
    _store({row.place: terms[row.version] for row in rows if row.version in terms})
    pending.discard(flushed)


def matching(expression: Expression) -> AnySelect:
    match = rendered(Vocabulary().expanded(expression))
    return select(_FTS.c.rowid).where(text("search_fts MATCH :match").bindparams(match=match))


def best(
    queries: Sequence[TierQuery], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    lookup = _Lookup(limit)
    all_ids = _few(everything, lookup)
    ranked: dict[int, Tier] = {}
    for query in queries:
        if query.tier is not Tier.DISPLAY_ID and all_ids is not None and all_ids <= ranked.keys():
            break
        for document_id in lookup.newest(query.expression, query.below):
            if len(ranked) < limit:
                ranked.setdefault(document_id, query.tier)
        if len(ranked) == limit:
            break
    return list(ranked.items())


def newest(expressions: Sequence[Expression], limit: int) -> list[list[int]]:
    lookup = _Lookup(limit)
    return [lookup.newest(expression, END) for expression in expressions]


def pending_ids(limit: int) -> list[str]:
    return pending.newest_ids(limit)


def _few(everything: Sequence[Expression], lookup: "_Lookup") -> set[int] | None:
    """The ids of all matches; None if they are not known, or more than the limit."""
    document_ids: list[int] | None = None
    for expression in everything:
        document_ids = lookup.newest(expression, END)
        if len(document_ids) >= lookup.limit:
            return None
    return set(document_ids) if document_ids is not None else None


class _Lookup:
    """The queries of one search; none runs twice."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._vocabulary = Vocabulary()
        self._results: dict[tuple[str, int], list[int]] = {}

    def newest(self, expression: Expression, below: int) -> list[int]:
        """The largest ids of matching documents, all under ``below``, in descending order."""
        match = rendered(self._vocabulary.expanded(expression))
        document_ids = self._results.get((match, below))
        if document_ids is None:
            rows = _NEWEST.all(match=match, below=below, limit=self.limit)
            document_ids = self._results[match, below] = [row.document_id for row in rows]
        return document_ids


class Vocabulary:
    """The words of the index during one search; each prefix is looked up once."""

    def __init__(self) -> None:
        self._longer: dict[str, list[str] | None] = {}

    def expanded(self, expression: Expression) -> Expression:
        """An expression with the same matches; prefixes of few words are replaced by the words."""
        match expression:
            case Prefix():
                return some(self._terms(expression) or [expression])
            case All(parts):
                return All(tuple(map(self.expanded, parts)))
            case Any(parts):
                expanded: list[Expression] = []
                for part in parts:
                    terms = self._terms(part) if isinstance(part, Prefix) else None
                    # Where no term is left, another part finds all words of the prefix, by stem.
                    expanded += [self.expanded(part)] if terms is None else terms
                return some(expanded)
            case Without(wanted, unwanted):
                return Without(self.expanded(wanted), self.expanded(unwanted))
        return expression

    def _terms(self, prefix: Prefix) -> list[Expression] | None:
        """The words of a prefix, without those of its stem; None if there are too many."""
        # A word of a title is in the index without its mark too, one of a comment is not.
        start = prefix.text if prefix.mark == MarkKind.COMMENT_WORD else prefix.letters
        if start not in self._longer:
            self._longer[start] = _longer(start)
        longer = self._longer[start]
        if longer is None:
            return None
        words = [prefix.letters, *(word.removeprefix(prefix.mark) for word in longer)]
        return [Term(prefix.mark + word) for word in words if stem(word) != prefix.stem]


def _longer(letters: str) -> list[str] | None:
    """The longer words with these first letters, in order; None if there are too many."""
    rows = _LONGER.all(
        after=letters + _BEFORE, before=_BEFORE, end=letters + _AFTER, limit=MOST + 1
    )
    return [row.term for row in rows] if len(rows) <= MOST else None


def rendered(expression: Expression) -> str:
    """The expression in the syntax of MATCH, with every term quoted."""
    match expression:
        case Term(term):
            return f'"{term}"'
        case Prefix():
            return f'"{expression.text}" *'
        case Phrase(words, is_open):
            # Words beyond the last position are among the marks, in no order.
            return f'words : "{" ".join(words)}"' + (" *" if is_open else "")
        case All(parts):
            return "(" + " AND ".join(map(rendered, parts)) + ")"
        case Any(parts):
            return "(" + " OR ".join(map(rendered, parts)) + ")"
        case Without(wanted, unwanted):
            return f"({rendered(wanted)} NOT {rendered(unwanted)})"
