"""On SQLite: documents that were put and are not in the index yet.

FTS5 writes a piece of its index for each transaction, and merges the pieces again and again: a
document that comes alone costs three times what it costs among thirty, while all other writers
wait. So a change only notes that its document waits. A search looks at those itself, and a thread
puts them in together a moment later (``settling.py``).
"""

import os
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, String, bindparam, column, delete, table, text

from app.core.columns import Id
from app.core.db import Prepared, after_commit
from app.search.documents import SearchDoc, analyzed
from app.search.fitting import Stored, stored
from app.search.sources import source

# Each search looks at all that wait, so they are few and short; others go in at once.
MOST = 128
LONGEST = 8_000
# So many go in by one transaction, for which all other writers wait.
BATCH = 32

# The version tells the texts of one document apart; the process is the one that put it.
_NOTE = Prepared(
    text(
        "INSERT INTO search_fts_waiting (place, version, process) "
        "SELECT :place, :version, :process "
        "WHERE (SELECT count(*) FROM search_fts_waiting) < :most ON CONFLICT (place) DO UPDATE "
        "SET version = excluded.version, process = excluded.process RETURNING place"
    ).columns(place=BigInteger)
)
_TABLE = table("search_fts_waiting", column("place", BigInteger))
_FORGET = Prepared(delete(_TABLE).where(_TABLE.c.place.in_(bindparam("places", expanding=True))))
_READ = (
    "SELECT place, version, kind, id FROM search_fts_waiting LEFT JOIN search_docs USING (place) "
    "WHERE {condition} ORDER BY place LIMIT :most"
)
_ALL, _OWN = (
    Prepared(
        text(_READ.format(condition=condition)).columns(
            place=BigInteger, version=BigInteger, kind=String, id=Id
        )
    )
    for condition in ("true", "process = :process")
)

# What was analyzed before, by version.
_known: dict[int, Stored] = {}


def note(place: int, doc: SearchDoc) -> bool:
    """Have the document at this place wait; False where it should go in at once."""
    if len(doc.body) > LONGEST:
        return False
    version = secrets.randbits(62)
    if not _NOTE.all(place=place, version=version, process=os.getpid(), most=MOST):
        return False
    # Once nobody waits for this writer any more.
    after_commit(lambda: _keep({version: stored(analyzed(doc))}))
    return True


def forget(places: list[int]) -> None:
    """Have the documents at these places wait no longer."""
    _FORGET.all(places=places)


def documents() -> dict[int, Stored]:
    """All that wait, by place."""
    rows = _ALL.all(most=-1)
    known = _analyzed(rows)
    for version in _known.keys() - known.keys():
        # Settled, by whichever process.
        _known.pop(version, None)
    return {row.place: known[row.version] for row in rows if row.version in known}


@dataclass(frozen=True, slots=True)
class Due:
    """A document that waits, with its terms; None for one that is no more."""

    place: int
    version: int
    stored: Stored | None


def batch(*, own: bool) -> list[Due]:
    """Some that wait: of those that this process put, or of all."""
    rows = _OWN.all(process=os.getpid(), most=BATCH) if own else _ALL.all(most=BATCH)
    known = _analyzed(rows)
    return [Due(row.place, row.version, known.get(row.version)) for row in rows]


def settled(done: list[Due]) -> None:
    """Remember these no longer: they are in the index."""
    for due in done:
        _known.pop(due.version, None)


def _analyzed(rows: list[Any]) -> dict[int, Stored]:
    """What these documents hold, by version."""
    known = {row.version: found for row in rows if (found := _known.get(row.version)) is not None}
    missing = {(row.kind, row.id): row.version for row in rows if row.version not in known}
    for kind in {kind for kind, _ in missing if kind is not None}:
        for doc in source(kind).docs([identifier for one, identifier in missing if one == kind]):
            known[missing[kind, doc.id]] = stored(analyzed(doc))
    _keep(known)
    return known


def _keep(known: dict[int, Stored]) -> None:
    """Remember these; of texts that changed again while they waited, nothing was forgotten."""
    if len(_known) > 2 * MOST:
        _known.clear()
    _known.update(known)
