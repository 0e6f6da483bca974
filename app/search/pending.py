"""On SQLite: documents that were put and are not in the index yet.

FTS5 writes a segment of its index for each transaction, and merges segments again and again: a
document that comes alone costs three times what it costs among thirty, while all other writers
wait. So a change only notes that its document is pending. A thread stores them together a moment
later (``flush.py``), and a search that comes before stores them itself.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, String, bindparam, column, delete, table, text

from app.database.columns import Id
from app.database.session import Prepared
from app.search.documents import SearchDoc, Terms, analyzed
from app.search.sources import source

# A search may have to store all of them, so they are few and short; others are stored at once.
MOST = 512
LONGEST = 8_000

# The version tells the texts of one document apart; the process is the one that put it.
_ADD = Prepared(
    text(
        "INSERT INTO search_fts_waiting (place, version, process) "
        "SELECT :document_id, :version, :process "
        "WHERE (SELECT count(*) FROM search_fts_waiting) < :most ON CONFLICT (place) DO UPDATE "
        "SET version = excluded.version, process = excluded.process RETURNING place"
    ).columns(place=BigInteger)
)
_TABLE = table("search_fts_waiting", column("place", BigInteger))
_DISCARD = Prepared(
    delete(_TABLE).where(_TABLE.c.place.in_(bindparam("document_ids", expanding=True)))
)
_DOCUMENT_IDS = "SELECT place FROM search_fts_waiting WHERE {condition} ORDER BY place"
_ALL, _OWN = (
    Prepared(text(_DOCUMENT_IDS.format(condition=condition)).columns(place=BigInteger))
    for condition in ("true", "process = :process")
)
_VERSIONS = Prepared(
    text(
        "SELECT place, version, kind, id FROM search_fts_waiting "
        "LEFT JOIN search_docs USING (place) WHERE place IN :document_ids ORDER BY place"
    )
    .bindparams(bindparam("document_ids", expanding=True))
    .columns(place=BigInteger, version=BigInteger, kind=String, id=Id)
)


def add(document_id: int, doc: SearchDoc) -> bool:
    """Note that a document is pending; False where it should be stored at once."""
    if len(doc.body) > LONGEST:
        return False
    version = secrets.randbits(62)
    return bool(_ADD.all(document_id=document_id, version=version, process=os.getpid(), most=MOST))


def discard(document_ids: Sequence[int]) -> None:
    """Note that these documents are no longer pending."""
    _DISCARD.all(document_ids=list(document_ids))


def document_ids(*, own: bool) -> list[int]:
    """All that are pending, or those that this process put."""
    rows = _OWN.all(process=os.getpid()) if own else _ALL.all()
    return [row.place for row in rows]


def versions(document_ids: Sequence[int]) -> list[Any]:
    """Those of these documents that are pending, with their versions."""
    return _VERSIONS.all(document_ids=list(document_ids))


def terms(rows: Sequence[Any], known: Mapping[int, Terms]) -> dict[int, Terms]:
    """The terms of documents by version; documents that were deleted have none.

    ``known`` holds what was analyzed before.
    """
    found = {row.version: known[row.version] for row in rows if row.version in known}
    missing = {(row.kind, row.id): row.version for row in rows if row.version not in found}
    for kind in {kind for kind, _ in missing if kind is not None}:
        for doc in source(kind).docs([identifier for one, identifier in missing if one == kind]):
            found[missing[kind, doc.id]] = analyzed(doc)
    return found
