"""Rebuilding the index in small transactions while the server runs.

Verbs index changes made in the meantime. A batch locks the rows that it reads, so the later of two
writes always has the newer text.
"""

import logging
from collections.abc import Iterator, Sequence
from functools import partial

from sqlalchemy import func, select, text

from app.core.ids import NIL_ID
from app.database.session import is_postgresql, reading, run_write, session
from app.search import index
from app.search.documents import DocumentKind, SearchDoc, SearchDocument
from app.search.sources import HitSource, source_of, sources

log = logging.getLogger(__name__)

BATCH = 200


def total() -> int:
    """The number of documents to index; in a unit of work."""
    return sum(_count(source) for source in sources())


def build_lost() -> None:
    """Rebuild an empty index, which is newer than the data or was lost."""
    with reading():
        is_lost = (
            session.scalar(select(SearchDocument.document_id).limit(1)) is None and total() > 0
        )
    if is_lost:
        log.warning("the search index is empty and is built anew")
        for _ in reindex():
            pass


def reindex() -> Iterator[int]:
    """Index every live document and remove the others; yields the documents of each step.

    Documents of all kinds are indexed in the order of their creation, so that a lost index gets its
    order back.
    """
    after = NIL_ID
    while True:
        indexed, after = run_write(partial(_index_step, after))
        if not indexed:
            break
        yield indexed
    document_id: int | None = 0
    while document_id is not None:
        document_id = run_write(partial(_removal_step, document_id))
    while index.flush(own=False):
        pass
    run_write(_analyze)


def _analyze() -> None:
    """Update the statistics of PostgreSQL's planner at once."""
    if is_postgresql():
        session.execute(text("ANALYZE search_docs, search_fts"))


def _index_step(after: str) -> tuple[int, str]:
    """Index the documents after this id; returns their number and the id of the last one."""
    docs = [doc for source in sources() for doc in _batch(source, after)]
    docs.sort(key=lambda doc: doc.id)
    for doc in docs[:BATCH]:
        index.put(doc, may_wait=False)
    return len(docs[:BATCH]), docs[:BATCH][-1].id if docs else after


def _removal_step(after: int) -> int | None:
    """Remove dead documents after this document id; returns the last one checked, or None."""
    rows = session.execute(
        select(SearchDocument.document_id, SearchDocument.kind, SearchDocument.id)
        .where(SearchDocument.document_id > after)
        .order_by(SearchDocument.document_id)
        .limit(BATCH)
    ).all()
    for kind in DocumentKind:
        identifiers = [row.id for row in rows if row.kind == kind]
        live = _live(source_of(kind), identifiers) if identifiers else set()
        for identifier in set(identifiers) - live:
            index.remove(identifier)
    return rows[-1].document_id if rows else None


def _count(source: HitSource) -> int:
    return session.scalar(select(func.count()).where(source.model.deleted_at.is_(None))) or 0


# The next two functions lock the rows until the transaction ends, so that a concurrent change waits
# and is indexed after them.


def _batch(source: HitSource, after: str) -> list[SearchDoc]:
    model = source.model
    rows = session.scalars(
        select(model)
        .where(model.id > after, model.deleted_at.is_(None))
        .order_by(model.id)
        .limit(BATCH)
        .with_for_update(key_share=True)
    )
    return [source.document(row) for row in rows]


def _live(source: HitSource, identifiers: Sequence[str]) -> set[str]:
    model = source.model
    statement = select(model.id).where(model.id.in_(identifiers), model.deleted_at.is_(None))
    return set(session.scalars(statement.with_for_update(key_share=True)))
