"""SQLite only: documents that verbs have put but that are not in the index yet.

FTS5 writes a segment for each transaction and merges segments repeatedly: a document stored alone
costs three times what it costs among thirty, while other writers wait. So a change only records
that its document is pending. The flusher (``flush.py``) or the next search stores it.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, String, bindparam, column, delete, table, text

from app.database.columns import Id
from app.database.session import Prepared
from app.search.documents import SearchDoc, Terms, analyzed
from app.search.sources import source_of

# Few and short, as a search may have to store all of them; other documents are stored at once.
MOST = 512
LONGEST = 8_000

# Each change has its own version; the process is the one that made it.
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
_NEWEST = Prepared(
    text(
        "SELECT id FROM search_fts_waiting JOIN search_docs USING (place) "
        "ORDER BY place DESC LIMIT :limit"
    ).columns(id=Id)
)


def add(document_id: int, doc: SearchDoc) -> bool:
    """Record that a document is pending; False if it must be stored at once."""
    if doc.length > LONGEST:
        return False
    version = secrets.randbits(62)
    return bool(_ADD.all(document_id=document_id, version=version, process=os.getpid(), most=MOST))


def discard(document_ids: Sequence[int]) -> None:
    """Record that these documents are no longer pending."""
    _DISCARD.all(document_ids=list(document_ids))


def document_ids(*, own: bool) -> list[int]:
    """The pending documents, or those that this process put."""
    rows = _OWN.all(process=os.getpid()) if own else _ALL.all()
    return [row.place for row in rows]


def newest_ids(limit: int) -> list[str]:
    """The ids of the newest pending tickets and pages."""
    return [row.id for row in _NEWEST.all(limit=limit)]


def versions(document_ids: Sequence[int]) -> list[Any]:
    """The current versions of those documents that are pending."""
    return _VERSIONS.all(document_ids=list(document_ids))


def terms(rows: Sequence[Any], known: Mapping[int, Terms]) -> dict[int, Terms]:
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
