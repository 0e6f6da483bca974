"""The index on PostgreSQL: a tsvector for each document, and a GIN index over them.

The server neither parses nor stems; vectors and queries are put together from terms of ours, so
they cannot fail and no dictionary of the server matters. Three things are done for speed:

- GIN gives all matches of a term, in no order. So each document has a term for its block of 4,096
  document ids, and a query looks into the newest block, then into more at a time, until it has
  enough.
- A document alone takes the index five times as long as one among thirty. So it keeps the newest in
  a list, which each query reads through, and takes them in together when it is told to (``flush``;
  a vacuum would do so much later).
- GIN knows no positions. So it finds the documents with all words of a phrase, and their vectors
  are read, the newest first, until enough of them have the phrase.
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
from app.search.document_ids import ADD
from app.search.documents import SearchDoc, Terms, analyzed, beginning, with_display_id
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without, without
from app.search.ranking import END, Tier, Wanted

BLOCK_BITS = 12

# How many times as many blocks each look takes in than the one before, up to so many: it asks for
# each block by its term, so a look at sixteen takes as long as one at all of a million documents
# where four thousand of them fit, and a look at sixty-four ten times as long (PERFORMANCE.md).
WIDER = 4
WIDEST = 16
# Where no more documents than these are expected to fit in all, the next look is the last; expected
# by no fewer documents than those, as the newest block may hold any number.
FEW = 4000
SAMPLE = 1 << (BLOCK_BITS - 1)


@dataclass(slots=True)
class Search:
    """How far one tier was looked for: from the block ``left`` on, to the newest of ``blocks``."""

    tier: Tier
    expression: Expression
    # All document ids looked for are under this one.
    below: int
    blocks: int
    left: int
    size: int = 1
    found: list[int] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The oldest block of the next look."""
        return max(self.left - self.size, 0)

    def went_on(self, document_ids: list[int]) -> None:
        """Note what the look at the next blocks found."""
        self.found += sorted(document_ids, reverse=True)
        self.left = self.first
        # If they lie as densely as among those looked at.
        looked_at = self.below - (self.left << BLOCK_BITS)
        are_few = looked_at >= SAMPLE and len(self.found) * self.below <= FEW * looked_at
        self.size = max(self.left if are_few else min(self.size * WIDER, WIDEST), 1)


def search_for(asked: Wanted, newest_id: int) -> Search:
    """One that has not begun."""
    below = min(asked.below, newest_id + 1)
    blocks = ((below - 1) >> BLOCK_BITS) + 1
    return Search(asked.tier, asked.expression, below, blocks, blocks)


def without_phrases(expression: Expression) -> Expression:
    """What fits whatever order words are in; all that fits the expression fits this as well."""
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
            likely = without_phrases(wanted)
            parts = unwanted.parts if isinstance(unwanted, Any) else (unwanted,)
            certain = [part for part in parts if without_phrases(part) == part]
            return without(likely, certain)
    return expression


def rendered(expression: Expression) -> str:
    """The expression in the language of tsquery; every term is quoted."""
    match expression:
        case Term(term):
            return f"'{term}'"
        case Prefix():
            return f"'{expression.text}':*"
        case Phrase(words, is_open):
            *closed, last = (f"'{word}'" for word in words)
            return "(" + " <-> ".join([*closed, last + (":*" if is_open else "")]) + ")"
        case All(parts):
            return "(" + " & ".join(rendered(part) for part in parts) + ")"
        case Any(parts):
            return "(" + " | ".join(rendered(part) for part in parts) + ")"
        case Without(wanted, unwanted):
            return f"({rendered(wanted)} & !{rendered(unwanted)})"


# How long after a change its document stays in the pending list of the index.
FLUSH_DELAY_SECONDS = 1.0

# A sign that no word holds.
_BLOCK = "\u00d7"

# The tiers of which one document in many is.
_SMALL = (Tier.DISPLAY_ID, Tier.EXACT_TITLE, Tier.ALL_IN_TITLE)

_WRITE = Prepared(
    text(
        "INSERT INTO search_fts (place, terms) VALUES (:document_id, CAST(:terms AS tsvector)) "
        "ON CONFLICT (place) DO UPDATE SET terms = excluded.terms"
    ).columns()
)
# In one turn to the server.
_WRITE_NEW = Prepared(
    text(
        f"WITH added AS ({ADD}) INSERT INTO search_fts (place, terms) "  # noqa: S608 - constants
        "SELECT place, CAST(:terms AS tsvector) || "
        f"array_to_tsvector(ARRAY['{_BLOCK}' || (place >> {BLOCK_BITS})]) FROM added "
        "ON CONFLICT (place) DO UPDATE SET terms = excluded.terms"
    )
    .bindparams(bindparam("id", type_=Id))
    .columns()
)
_ERASE = text("DELETE FROM search_fts WHERE place = :document_id")
# Does nothing while there is no such index, as when it is made anew.
_FLUSH = text("SELECT gin_clean_pending_list(to_regclass('ix_search_fts_terms'))")
_MATCHING = (
    "SELECT {number} AS number, place FROM search_fts "
    "WHERE terms @@ CAST(:query_{number} AS tsquery) AND place + 0 < :below_{number} "
    "ORDER BY place + 0 DESC LIMIT :limit"
)
_WITH_PHRASE = (
    "SELECT {number} AS number, place FROM (SELECT place, place + 0 AS at, terms FROM search_fts "
    "WHERE terms @@ CAST(:query_{number} AS tsquery) AND place + 0 < :below_{number} "
    "ORDER BY at DESC OFFSET 0) AS found_{number} "
    "WHERE terms @@ CAST(:exact_{number} AS tsquery) ORDER BY at DESC LIMIT :limit"
)
# The planner does not know that reading a vector is dear, and would rather read them all, one after
# another or by document id, than ask the index. This and the sums above leave it the index.
_BEGIN = Prepared(
    text(
        "SELECT (SELECT max(place) FROM search_fts) AS newest, "
        "set_config('enable_seqscan', 'off', false)"
    ).columns(newest=BigInteger, set_config=Text)
)
_END = Prepared(text("RESET enable_seqscan").columns())


def write(document_id: int, doc: SearchDoc, *, is_new: bool, may_wait: bool) -> None:
    """Store the terms of the document, instead of those it has, if any."""
    _WRITE.all(document_id=document_id, terms=vector(document_id, analyzed(doc)))


def terms_of(doc: SearchDoc) -> Terms:
    """The terms of a document that is to be put for the first time."""
    return analyzed(doc)


def write_new(doc: SearchDoc, terms: Terms | None) -> None:
    """Store the terms of a document that has no document id yet, and give it one."""
    known = terms or analyzed(doc)
    if doc.display_id is not None:
        known = with_display_id(known, doc.display_id)
    _WRITE_NEW.all(id=doc.id, kind=str(doc.kind), terms=_as_vector(known))


def erase(document_id: int) -> None:
    """Forget the terms of the document."""
    session.execute(_ERASE, {"document_id": document_id})


def flush(*, own: bool) -> None:
    """Have the index take in its pending list, whoever put it.

    Opens its own unit of work. Waits for another process that is at it.
    """

    def take_in() -> None:
        acquire(Lock.INDEX)
        session.execute(_FLUSH)

    run_write(take_in, async_commit=True)


def refresh() -> None:
    """Do nothing: PostgreSQL reads the pending list with the index."""


def vector(document_id: int, terms: Terms) -> str:
    """The terms of the document as the text of a tsvector."""
    return f"{_as_vector(terms)} '{_BLOCK}{document_id >> BLOCK_BITS}'"


def _as_vector(terms: Terms) -> str:
    positions: dict[str, list[str]] = {}
    for number, word in enumerate(terms.words, start=1):
        positions.setdefault(word, []).append(str(number))
    placed = " ".join(f"'{word}':{','.join(found[:255])}" for word, found in positions.items())
    others = terms.marks.replace(" ", "' '")
    return f"{placed} '{others}'"


def matching(expression: Expression) -> AnySelect:
    """A query for the ids of all documents that fit."""
    condition = text("terms @@ CAST(:query AS tsquery)").bindparams(query=rendered(expression))
    return select(column("place")).select_from(table("search_fts")).where(condition)


def best(
    wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    """The ids of the best documents, the best first, and of which tier each is.

    ``everything`` says what fits in any tier but for a display id, what is found faster before.
    Where few fit at all, tiers are looked for until each of those has its own.
    """
    with _looking_in_index() as newest_id:
        return _best(wanted, everything, limit, newest_id)


def _best(
    wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int, newest_id: int
) -> list[tuple[int, Tier]]:
    left, are_few = _few(everything, newest_id, limit)
    searches = [search_for(asked, newest_id) for asked in wanted]
    for search in searches:
        if are_few:
            # Nor are there more of any tier, and one look is a turn less to the server than two.
            search.size = search.blocks
        if left is not None and search.tier is Tier.ANYWHERE:
            search.left = 0
    while lookers := _lookers(searches, limit, left):
        for search, document_ids in zip(lookers, _scan(lookers, limit), strict=True):
            search.went_on(document_ids)
    found: dict[int, Tier] = {}
    for search in searches:
        for document_id in search.found:
            found.setdefault(document_id, search.tier)
    for document_id in sorted(left or (), reverse=True):
        found.setdefault(document_id, Tier.ANYWHERE)
    return list(found.items())[:limit]


@contextmanager
def _looking_in_index() -> Iterator[int]:
    """Have the index asked meanwhile; the newest document id.

    Not by a transaction of its own, which would take two more turns to the server.
    """
    newest_id: int = _BEGIN.all()[0].newest or 0
    try:
        yield newest_id
    except BaseException:
        try:
            _END.all()
        except SQLAlchemyError:
            # It was lost, or a transaction failed; nobody is to meet the setting in it.
            discard()
        raise
    _END.all()


def _few(
    everything: Sequence[Expression], newest_id: int, limit: int
) -> tuple[set[int] | None, bool]:
    """The ids of all that fits; None where that is more than asked for, or not known.

    And whether so few fit that they were looked for in all blocks at once.
    """
    document_ids: list[int] | None = None
    for expression in everything:
        search = search_for(Wanted(Tier.ANYWHERE, expression, END), newest_id)
        if document_ids is not None:
            # As there is little of what is found faster, there is little of all.
            search.size = search.blocks
        while lookers := _lookers([search], limit, None):
            search.went_on(_scan(lookers, limit)[0])
        document_ids = search.found
        if len(document_ids) >= limit:
            # What was looked for first may leave out beginnings, of which there can be many.
            return None, search.left == 0 and expression is everything[-1]
    return (set(document_ids), True) if document_ids is not None else (None, False)


def _lookers(searches: list[Search], limit: int, left: set[int] | None) -> list[Search]:
    """The tiers to look for next: the first that is not known to its end, while too few fit.

    And those of few documents with it, which cost less than another turn to the server.
    """
    lookers: list[Search] = []
    found: set[int] = set()
    for search in searches:
        tier = search.tier
        have_all = left is not None and left <= found and tier is not Tier.DISPLAY_ID
        if len(found) >= limit or have_all:
            break
        if search.left > 0 and len(found.union(search.found)) < limit:
            if lookers and tier not in _SMALL:
                break
            lookers.append(search)
        found.update(search.found)
    return lookers


def _scan(searches: list[Search], limit: int) -> list[list[int]]:
    """The newest document ids of each in the next blocks."""
    values: dict[str, object] = {"limit": limit}
    have_phrases = []
    for number, search in enumerate(searches):
        expression = search.expression
        likely = without_phrases(expression)
        query = rendered(likely)
        if search.first > 0:
            blocks = range(search.first, search.left)
            query += " & (" + " | ".join(f"'{_BLOCK}{block}'" for block in blocks) + ")"
        values[f"query_{number}"] = query
        values[f"below_{number}"] = min(search.below, search.left << BLOCK_BITS)
        have_phrases.append(likely != expression)
        if likely != expression:
            values[f"exact_{number}"] = rendered(expression)
    found: list[list[int]] = [[] for _ in searches]
    for row in _looking(tuple(have_phrases)).all(**values):
        found[row.number].append(row.place)
    return found


@cache
def _looking(have_phrases: tuple[bool, ...]) -> Prepared:
    """One statement for so many tiers, with phrases or without."""
    parts = [
        f"({(_WITH_PHRASE if has_phrase else _MATCHING).format(number=number)})"
        for number, has_phrase in enumerate(have_phrases)
    ]
    return Prepared(text(" UNION ALL ".join(parts)).columns(number=Integer, place=BigInteger))
