"""The index on PostgreSQL: a tsvector for each document, and a GIN index over them.

The server neither parses nor stems: vectors and queries are composed of our own terms, so they are
always valid and independent of the server's dictionaries. Three measures keep it fast:

- GIN returns all matches of a term, unordered. So each document has a term for its block of 4,096
  document ids. A search scans the newest block, then more blocks at a time, until it has enough.
- Adding a document alone costs five times what it costs among thirty. So GIN keeps new documents
  in a pending list, which each query reads, and adds them together on ``flush``.
- GIN has no positions. So it finds the documents with all words of a phrase, and their vectors
  are read, newest first, until enough of them have the phrase.

While a flush moves a document to the index, GIN may find one of its terms and not yet another. So
an exclusion is also checked against the vectors.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from sqlalchemy import BigInteger, Integer, Text, bindparam, column, select, table, text
from sqlalchemy.exc import SQLAlchemyError

from app.database.columns import Id
from app.database.locks import Lock, acquire
from app.database.session import AnySelect, Prepared, discard, run_write, session
from app.search.documents import INSERT, SearchDoc, Terms, analyzed, beginning, with_display_id
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without, without
from app.search.ranking import END, Tier, TierQuery

FLUSH_DELAY_SECONDS = 1.0
BLOCK_BITS = 12
# Each scan covers WIDER times as many blocks as the previous one, up to WIDEST. It names each block
# by its term: with sixteen it takes as long as a scan of all of a million documents with four
# thousand matches, with sixty-four ten times as long (PERFORMANCE.md).
WIDER = 4
WIDEST = 16
# If at most FEW_MATCHES are expected in total, the next scan covers the rest. The estimate needs
# SAMPLE document ids, as the newest block may contain any number.
FEW_MATCHES = 4000
SAMPLE = 1 << (BLOCK_BITS - 1)
# Tiers that few documents belong to.
_SMALL = (Tier.DISPLAY_ID, Tier.EXACT_TITLE, Tier.ALL_IN_TITLE)
# Begins the terms of blocks; no word contains it.
_BLOCK = "\u00d7"

_WRITE = Prepared(
    text(
        "INSERT INTO search_fts (place, terms) VALUES (:document_id, CAST(:terms AS tsvector)) "
        "ON CONFLICT (place) DO UPDATE SET terms = excluded.terms"
    ).columns()
)
# One round trip for both tables.
_WRITE_NEW = Prepared(
    text(
        f"WITH added AS ({INSERT}) INSERT INTO search_fts (place, terms) "  # noqa: S608 - constants
        "SELECT place, CAST(:terms AS tsvector) || "
        f"array_to_tsvector(ARRAY['{_BLOCK}' || (place >> {BLOCK_BITS})]) FROM added "
        "ON CONFLICT (place) DO UPDATE SET terms = excluded.terms"
    )
    .bindparams(bindparam("id", type_=Id))
    .columns()
)
_ERASE = text("DELETE FROM search_fts WHERE place = :document_id")
# Does nothing if the index does not exist, as during its rebuild.
_FLUSH = text("SELECT gin_clean_pending_list(to_regclass('ix_search_fts_terms'))")
_MATCHING = (
    "SELECT {number} AS number, place FROM search_fts "
    "WHERE terms @@ CAST(:query_{number} AS tsquery) AND place + 0 < :below_{number} "
    "ORDER BY place + 0 DESC LIMIT :limit"
)
_CHECKED = (
    "SELECT {number} AS number, place FROM (SELECT place, place + 0 AS at, terms FROM search_fts "
    "WHERE terms @@ CAST(:query_{number} AS tsquery) AND place + 0 < :below_{number} "
    "ORDER BY at DESC OFFSET 0) AS found_{number} "
    "WHERE terms @@ CAST(:exact_{number} AS tsquery) ORDER BY at DESC LIMIT :limit"
)
# The planner does not know that reading a vector is expensive, and prefers a scan of the table or
# of its primary key. This setting and the ``place + 0`` above leave it only the GIN index.
_BEGIN = Prepared(
    text(
        "SELECT (SELECT max(place) FROM search_fts) AS newest, "
        "set_config('enable_seqscan', 'off', false)"
    ).columns(newest=BigInteger, set_config=Text)
)
_END = Prepared(text("RESET enable_seqscan").columns())


def write(document_id: int, doc: SearchDoc, *, is_new: bool, may_wait: bool) -> None:
    _WRITE.all(document_id=document_id, terms=vector(document_id, analyzed(doc)))


def terms_of(doc: SearchDoc) -> Terms:
    return analyzed(doc)


def write_new(doc: SearchDoc, terms: Terms | None) -> None:
    terms = terms or analyzed(doc)
    if doc.display_id is not None:
        terms = with_display_id(terms, doc.display_id)
    _WRITE_NEW.all(id=doc.id, kind=str(doc.kind), terms=_as_vector(terms))


def erase(document_id: int) -> None:
    session.execute(_ERASE, {"document_id": document_id})


def flush(*, own: bool) -> bool:
    """Add the whole pending list to the index; waits for another process that is doing so."""

    def clean_pending_list() -> None:
        acquire(Lock.INDEX)
        session.execute(_FLUSH)

    run_write(clean_pending_list, async_commit=True)
    return False


def refresh() -> None:
    """Do nothing: queries read the pending list."""


def vector(document_id: int, terms: Terms) -> str:
    """The terms of the document as the text of a tsvector."""
    return f"{_as_vector(terms)} '{_BLOCK}{document_id >> BLOCK_BITS}'"


def _as_vector(terms: Terms) -> str:
    positions: dict[str, list[str]] = {}
    for position, word in enumerate(terms.words, start=1):
        positions.setdefault(word, []).append(str(position))
    words = " ".join(f"'{word}':{','.join(of_word[:255])}" for word, of_word in positions.items())
    marks = terms.marks.replace(" ", "' '")
    return f"{words} '{marks}'"


def matching(expression: Expression) -> AnySelect:
    condition = text("terms @@ CAST(:query AS tsquery)").bindparams(query=rendered(expression))
    return select(column("place")).select_from(table("search_fts")).where(condition)


@dataclass(slots=True)
class TierScan:
    """The progress of one tier's query: blocks are scanned from the newest down."""

    tier: Tier
    expression: Expression
    # All relevant document ids are below this one.
    below: int
    # The total number of blocks.
    blocks: int
    # The number of blocks not yet scanned: the oldest ones.
    blocks_left: int
    # The number of blocks of the next scan.
    size: int = 1
    document_ids: list[int] = field(default_factory=list)

    @property
    def next_oldest(self) -> int:
        """The oldest block of the next scan."""
        return max(self.blocks_left - self.size, 0)

    def advance(self, document_ids: list[int]) -> None:
        """Add the matches of a scan and set the size of the next one."""
        self.document_ids += sorted(document_ids, reverse=True)
        self.blocks_left = self.next_oldest
        are_few = self._scanned >= SAMPLE and not self.is_over(FEW_MATCHES)
        self.size = max(self.blocks_left if are_few else min(self.size * WIDER, WIDEST), 1)

    @property
    def _scanned(self) -> int:
        return self.below - (self.blocks_left << BLOCK_BITS)

    def is_over(self, limit: int) -> bool:
        """Whether there are more matches than this, or would be if older blocks are as dense."""
        found = len(self.document_ids)
        is_known = self._scanned >= SAMPLE
        return found > limit or (is_known and found * self.below > limit * self._scanned)


def _scan_of(query: TierQuery, newest_id: int) -> TierScan:
    below = min(query.below, newest_id + 1)
    blocks = ((below - 1) >> BLOCK_BITS) + 1
    return TierScan(query.tier, query.expression, below, blocks, blocks)


def best(
    queries: Sequence[TierQuery], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    with _index_preferred() as newest_id:
        return _best(queries, everything, limit, newest_id)


def _best(
    queries: Sequence[TierQuery], everything: Sequence[Expression], limit: int, newest_id: int
) -> list[tuple[int, Tier]]:
    all_ids, are_few = _all_matches(everything, newest_id, limit)
    scans = [_scan_of(query, newest_id) for query in queries]
    for scan in scans:
        if are_few:
            # No tier can have more, and one scan of all blocks saves a round trip.
            scan.size = scan.blocks
        if all_ids is not None and scan.tier is Tier.IN_COMMENTS:
            scan.blocks_left = 0
    while due := _due(scans, limit, all_ids):
        for scan, document_ids in zip(due, _scan(due, limit), strict=True):
            scan.advance(document_ids)
    ranked: dict[int, Tier] = {}
    for scan in scans:
        for document_id in scan.document_ids:
            ranked.setdefault(document_id, scan.tier)
    for document_id in sorted(all_ids or (), reverse=True):
        ranked.setdefault(document_id, Tier.IN_COMMENTS)
    return list(ranked.items())[:limit]


def newest(expressions: Sequence[Expression], limit: int) -> list[list[int]]:
    scans = _newest(expressions, limit, None)
    return [scan.document_ids[:limit] for scan in scans]


def rare(expressions: Sequence[Expression], limit: int) -> list[list[int] | None]:
    scans = _newest(expressions, limit + 1, limit)
    return [None if scan.is_over(limit) else scan.document_ids for scan in scans]


def _newest(
    expressions: Sequence[Expression], limit: int, max_matches: int | None
) -> list[TierScan]:
    """Scan until each expression has ``limit`` matches, or seems to have over ``max_matches``."""
    with _index_preferred() as newest_id:
        scans = [_scan_of(TierQuery(Tier.ANYWHERE, one, END), newest_id) for one in expressions]
        # Phrases last, to limit the number of statements: each sequence of kinds has its own.
        in_order = sorted(
            scans, key=lambda scan: without_phrases(scan.expression) != scan.expression
        )
        while due := [
            scan
            for scan in in_order
            if scan.blocks_left > 0
            and len(scan.document_ids) < limit
            and not (max_matches is not None and scan.is_over(max_matches))
        ]:
            for scan, document_ids in zip(due, _scan(due, limit), strict=True):
                scan.advance(document_ids)
    return scans


def pending_ids(limit: int) -> list[str]:
    """Empty, because queries also read the pending list."""
    return []


@contextmanager
def _index_preferred() -> Iterator[int]:
    """Make the planner use the index in this block; yields the newest document id.

    A setting local to a separate transaction would take two more round trips.
    """
    newest_id: int = _BEGIN.all()[0].newest or 0
    try:
        yield newest_id
    except BaseException:
        try:
            _END.all()
        except SQLAlchemyError:
            # The connection was lost or is in a failed transaction; it must not keep the setting.
            discard()
        raise
    _END.all()


def _all_matches(
    everything: Sequence[Expression], newest_id: int, limit: int
) -> tuple[set[int] | None, bool]:
    """The ids of all matches; None if they are not known, or at least ``limit``.

    Also returns whether there are so few that all blocks can be scanned at once.
    """
    document_ids: list[int] | None = None
    for expression in everything:
        scan = _scan_of(TierQuery(Tier.IN_COMMENTS, expression, END), newest_id)
        if document_ids is not None:
            # The faster expression had few matches, so this one is expected to have few.
            scan.size = scan.blocks
        while due := _due([scan], limit, None):
            scan.advance(_scan(due, limit)[0])
        document_ids = scan.document_ids
        if len(document_ids) >= limit:
            # Only the last expression includes prefixes, which can have many matches.
            return None, scan.blocks_left == 0 and expression is everything[-1]
    return (set(document_ids), True) if document_ids is not None else (None, False)


def _due(scans: list[TierScan], limit: int, all_ids: set[int] | None) -> list[TierScan]:
    """The scans to continue while documents are missing: the first that has blocks left.

    Scans of small tiers after it join, as they cost less than another round trip.
    """
    due: list[TierScan] = []
    ranked: set[int] = set()
    for scan in scans:
        have_all = all_ids is not None and all_ids <= ranked and scan.tier is not Tier.DISPLAY_ID
        if len(ranked) >= limit or have_all:
            break
        if scan.blocks_left > 0 and len(ranked.union(scan.document_ids)) < limit:
            if due and scan.tier not in _SMALL:
                break
            due.append(scan)
        ranked.update(scan.document_ids)
    return due


def _scan(scans: list[TierScan], limit: int) -> list[list[int]]:
    """For each tier, the newest matching document ids in its next blocks."""
    values: dict[str, object] = {"limit": limit}
    checks = []
    for number, scan in enumerate(scans):
        likely = without_phrases(scan.expression)
        is_checked = likely != scan.expression or excludes(likely)
        query = rendered(likely)
        if scan.next_oldest > 0:
            blocks = range(scan.next_oldest, scan.blocks_left)
            query += " & (" + " | ".join(f"'{_BLOCK}{block}'" for block in blocks) + ")"
        values[f"query_{number}"] = query
        values[f"below_{number}"] = min(scan.below, scan.blocks_left << BLOCK_BITS)
        if is_checked:
            values[f"exact_{number}"] = rendered(scan.expression)
        checks.append(is_checked)
    document_ids: list[list[int]] = [[] for _ in scans]
    for row in _scan_statement(tuple(checks)).all(**values):
        document_ids[row.number].append(row.place)
    return document_ids


def without_phrases(expression: Expression) -> Expression:
    """The expression with the words of phrases in any order; it matches at least as much."""
    match expression:
        case Phrase(words, is_open):
            *closed, last = words
            mark = beginning("", last) if is_open else last
            return All((*map(Term, closed), Prefix(last) if mark is None else Term(mark)))
        case All(parts):
            return All(tuple(map(without_phrases, parts)))
        case Any(parts):
            return Any(tuple(map(without_phrases, parts)))
        case Without(wanted, unwanted):
            parts = unwanted.parts if isinstance(unwanted, Any) else (unwanted,)
            # Excluding the words of a phrase in any order would exclude too much.
            certain = [part for part in parts if without_phrases(part) == part]
            return without(without_phrases(wanted), certain)
    return expression


def excludes(expression: Expression) -> bool:
    """Whether the expression matches only documents without some term."""
    match expression:
        case All(parts) | Any(parts):
            return any(map(excludes, parts))
    return isinstance(expression, Without)


def rendered(expression: Expression) -> str:
    """The expression in the syntax of tsquery, with every term quoted."""
    match expression:
        case Term(term):
            return f"'{term}'"
        case Prefix():
            return f"'{expression.text}':*"
        case Phrase(words, is_open):
            *closed, last = (f"'{word}'" for word in words)
            return "(" + " <-> ".join([*closed, last + (":*" if is_open else "")]) + ")"
        case All(parts):
            return "(" + " & ".join(map(rendered, parts)) + ")"
        case Any(parts):
            return "(" + " | ".join(map(rendered, parts)) + ")"
        case Without(wanted, unwanted):
            return f"({rendered(wanted)} & !{rendered(unwanted)})"


@cache
def _scan_statement(checks: tuple[bool, ...]) -> Prepared:
    parts = [
        f"({(_CHECKED if is_checked else _MATCHING).format(number=number)})"
        for number, is_checked in enumerate(checks)
    ]
    return Prepared(text(" UNION ALL ".join(parts)).columns(number=Integer, place=BigInteger))
