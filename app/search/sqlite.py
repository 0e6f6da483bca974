"""The index on SQLite: one FTS5 table whose rowid is the document id.

FTS5 only stores and finds terms. ``documents.py`` makes them, and the tokenizer just splits at
spaces.

FTS5 writes a segment for each transaction and merges segments repeatedly: a document stored alone
costs three times what it costs among thirty, while other writers wait. So a change only records
that its document is pending. The flusher (``flush.py``) or the next search stores it. A query reads
every segment, so flushing all merges segments as well.
"""

import os
import secrets
import typing
from collections.abc import Mapping, Sequence
from functools import partial

import orjson
from sqlalchemy import BigInteger, String, bindparam, column, delete, select, table, text

from app.core.lanes import Lane, require
from app.database.columns import Id
from app.database.session import (
    AnySelect,
    Prepared,
    between_snapshots,
    is_writing,
    reading,
    run_write,
)
from app.search.documents import ASSIGN_ID, MarkKind, SearchDoc, Terms, analyzed
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without, some
from app.search.ranking import END, Tier, TierQuery
from app.search.sources import source_of
from app.search.words import stem

FLUSH_DELAY_SECONDS = 0.2
# Documents stored in one transaction, which blocks all other writers.
BATCH = 32
# A prefix that begins more words is not expanded: each word costs a lookup in every tier.
MAX_EXPANSIONS = 4

_FTS = table("search_fts", column("rowid"), column("words"), column("marks"))
# One statement for all documents, so that Python's lock is released and taken only once.
_INSERT = Prepared(
    text(
        "INSERT INTO search_fts (rowid, words, marks) SELECT json_extract(value, '$[0]'), "
        "json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:documents)"
    ).columns()
)
# It writes about 64 pages, which takes a few milliseconds in which other writers wait.
_MERGE = Prepared(text("INSERT INTO search_fts(search_fts, rank) VALUES ('merge', 64)").columns())
_CHANGES = Prepared(text("SELECT total_changes() AS number").columns(number=BigInteger))
_DELETE = Prepared(delete(_FTS).where(_FTS.c.rowid.in_(bindparam("document_ids", expanding=True))))
_NEWEST = Prepared(
    text(
        "SELECT rowid AS document_id FROM search_fts WHERE search_fts MATCH :match "
        "AND rowid < :below ORDER BY rowid DESC LIMIT :limit"
    ).columns(document_id=BigInteger)
)
# Few and short, because a search may have to store all of them; others are stored at once.
MAX_PENDING = 512
MAX_PENDING_LENGTH = 8_000
# Each change has its own version; the process is the one that made the change.
_ADD_PENDING = Prepared(
    text(
        "INSERT INTO search_fts_waiting (place, version, process) "
        "SELECT :document_id, :version, :process "
        "WHERE (SELECT count(*) FROM search_fts_waiting) < :limit ON CONFLICT (place) DO UPDATE "
        "SET version = excluded.version, process = excluded.process RETURNING place"
    ).columns(place=BigInteger)
)
_PENDING = table("search_fts_waiting", column("place", BigInteger))
_DISCARD_PENDING = Prepared(
    delete(_PENDING).where(_PENDING.c.place.in_(bindparam("document_ids", expanding=True)))
)
_PENDING_IDS = "SELECT place FROM search_fts_waiting WHERE {condition} ORDER BY place"
_ALL_PENDING, _OWN_PENDING = (
    Prepared(text(_PENDING_IDS.format(condition=condition)).columns(place=BigInteger))
    for condition in ("true", "process = :process")
)
_PENDING_VERSIONS = Prepared(
    text(
        "SELECT place, version, kind, id FROM search_fts_waiting "
        "LEFT JOIN search_docs USING (place) WHERE place IN :document_ids ORDER BY place"
    )
    .bindparams(bindparam("document_ids", expanding=True))
    .columns(place=BigInteger, version=BigInteger, kind=String, id=Id)
)
_NEWEST_PENDING = Prepared(
    text(
        "SELECT id FROM search_fts_waiting JOIN search_docs USING (place) "
        "ORDER BY place DESC LIMIT :limit"
    ).columns(id=Id)
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
    if may_wait and _add_pending(document_id, doc):
        return
    if not is_new:
        erase(document_id)
    _store({document_id: analyzed(doc)})


def terms_of(doc: SearchDoc) -> None:
    """None: the flusher computes them while nobody waits for the writer."""


def write_new(doc: SearchDoc, terms: Terms | None) -> None:
    row = ASSIGN_ID.first(id=doc.id, kind=str(doc.kind))
    write(row.place, doc, is_new=True, may_wait=True)


def erase(document_id: int) -> None:
    _discard_pending([document_id])
    _DELETE.all(document_ids=[document_id])


def _store(documents: Mapping[int, Terms]) -> None:
    rows = [
        (document_id, " ".join(terms.words), terms.marks)
        for document_id, terms in documents.items()
    ]
    _INSERT.all(documents=orjson.dumps(rows).decode())


def flush(*, own: bool) -> bool:
    with reading():
        _flush(own=own)
    return not own and run_write(_merge, async_commit=True)


def refresh() -> None:
    """Store all pending documents; a read-only unit of work then gets a new snapshot."""
    _flush(own=False)


def _merge() -> bool:
    """Merge some pages of segments; False if none were left to be merged."""
    before = _CHANGES.first().number
    _MERGE.all()
    # The statement itself counts as one.
    return bool(_CHANGES.first().number - before > 1)


def _flush(*, own: bool) -> None:
    document_ids = _pending_ids(own=own)
    if not document_ids:
        return
    require(Lane.POOL)
    for start in range(0, len(document_ids), BATCH):
        batch = document_ids[start : start + BATCH]
        if is_writing():
            _flush_batch(batch, {})
            continue
        # Computed here, while others can write.
        known = _pending_terms(_pending_versions(batch), {})
        with between_snapshots():
            run_write(partial(_flush_batch, batch, known), async_commit=True)


def _flush_batch(document_ids: Sequence[int], known: Mapping[int, Terms]) -> None:
    """Store those of the documents that are still pending, in their current versions."""
    rows = _pending_versions(document_ids)
    if not rows:
        return
    terms = _pending_terms(rows, known)
    flushed = [row.place for row in rows]
    _DELETE.all(document_ids=flushed)
    _store({row.place: terms[row.version] for row in rows if row.version in terms})
    _discard_pending(flushed)


def _add_pending(document_id: int, doc: SearchDoc) -> bool:
    """Record that a document is pending; False if it must be stored at once."""
    if len(doc.body) + sum(map(len, doc.comments)) > MAX_PENDING_LENGTH:
        return False
    version = secrets.randbits(62)
    return bool(
        _ADD_PENDING.all(
            document_id=document_id, version=version, process=os.getpid(), limit=MAX_PENDING
        )
    )


def _discard_pending(document_ids: Sequence[int]) -> None:
    """Record that these documents are no longer pending."""
    _DISCARD_PENDING.all(document_ids=list(document_ids))


def _pending_ids(*, own: bool) -> list[int]:
    """The pending documents, or those that this process put."""
    rows = _OWN_PENDING.all(process=os.getpid()) if own else _ALL_PENDING.all()
    return [row.place for row in rows]


def _pending_versions(document_ids: Sequence[int]) -> list[typing.Any]:
    """The current versions of those documents that are pending."""
    return _PENDING_VERSIONS.all(document_ids=list(document_ids))


def _pending_terms(rows: Sequence[typing.Any], known: Mapping[int, Terms]) -> dict[int, Terms]:
    """The terms of documents by version; deleted documents have none.

    ``known`` has terms that were computed before.
    """
    by_version = {row.version: known[row.version] for row in rows if row.version in known}
    missing = {(row.kind, row.id): row.version for row in rows if row.version not in by_version}
    for kind in {kind for kind, _ in missing if kind is not None}:
        identifiers = [identifier for its_kind, identifier in missing if its_kind == kind]
        for doc in source_of(kind).docs(identifiers):
            by_version[missing[kind, doc.id]] = analyzed(doc)
    return by_version


def matching(expression: Expression) -> AnySelect:
    match = rendered(Vocabulary().expanded(expression))
    return select(_FTS.c.rowid).where(text("search_fts MATCH :match").bindparams(match=match))


def best(
    queries: Sequence[TierQuery], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    lookup = _Lookup(limit)
    all_ids = _all_matches(everything, lookup)
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


def rare(expressions: Sequence[Expression], limit: int) -> list[list[int] | None]:
    return [ids if len(ids) <= limit else None for ids in newest(expressions, limit + 1)]


def pending_ids(limit: int) -> list[str]:
    return [row.id for row in _NEWEST_PENDING.all(limit=limit)]


def _all_matches(everything: Sequence[Expression], lookup: "_Lookup") -> set[int] | None:
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
                    # If no term is left, another part finds all words of the prefix, by stem.
                    expanded += [self.expanded(part)] if terms is None else terms
                return some(expanded)
            case Without(wanted, unwanted):
                return Without(self.expanded(wanted), self.expanded(unwanted))
        return expression

    def _terms(self, prefix: Prefix) -> list[Expression] | None:
        """The words of a prefix, without those of its stem; None if there are too many."""
        # A title word is also in the index without its mark; a comment word is not.
        start = prefix.text if prefix.mark == MarkKind.COMMENT_WORD else prefix.letters
        if start not in self._longer:
            self._longer[start] = _longer(start)
        longer = self._longer[start]
        if longer is None:
            return None
        return [
            Term(prefix.mark + word)
            for found in (prefix.letters, *longer)
            if stem(word := found.removeprefix(prefix.mark)) != prefix.stem
        ]


def _longer(letters: str) -> list[str] | None:
    """The longer words with these first letters, in order; None if there are too many."""
    rows = _LONGER.all(
        after=letters + _BEFORE, before=_BEFORE, end=letters + _AFTER, limit=MAX_EXPANSIONS + 1
    )
    return [row.term for row in rows] if len(rows) <= MAX_EXPANSIONS else None


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
