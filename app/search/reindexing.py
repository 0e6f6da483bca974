"""Rebuilding the index in small transactions while the server runs.

Verbs index the changes made meanwhile. A batch locks the rows that it reads, so the later of two
writes always has the newer text.
"""

import logging
from collections.abc import Callable, Iterator

from sqlalchemy import select, text

from app.database.session import is_postgresql, reading, run_write, session
from app.search import index
from app.search.documents import DocumentKind
from app.search.models import SearchDocument
from app.search.sources import source_of, sources

log = logging.getLogger(__name__)

BATCH = 200
# Less than all ids.
FIRST = "00000000-0000-0000-0000-000000000000"


def total() -> int:
    """The number of documents to index; in a unit of work."""
    return sum(source.count() for source in sources())


def build_lost() -> None:
    """Rebuild an empty index: the data is older than it, or it was lost."""
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

    Documents of all kinds come in the order of their creation, so that an index that was lost gets
    its order back.
    """
    after = FIRST
    while True:
        indexed, after = run_write(_step(after))
        if not indexed:
            break
        yield indexed
    _drop_dead()
    index.flush(own=False)
    run_write(_analyze)


def _analyze() -> None:
    """Update the statistics of PostgreSQL's planner at once."""
    if is_postgresql():
        session.execute(text("ANALYZE search_docs, search_fts"))


def _step(after: str) -> Callable[[], tuple[int, str]]:
    def work() -> tuple[int, str]:
        docs = [doc for source in sources() for doc in source.batch(after, BATCH)]
        docs.sort(key=lambda doc: doc.id)
        for doc in docs[:BATCH]:
            index.put(doc, may_wait=False)
        return len(docs[:BATCH]), docs[:BATCH][-1].id if docs else after

    return work


def _drop_dead() -> None:
    """Remove documents that are not live."""
    after: int | None = 0
    while after is not None:
        after = run_write(_drop_step(after))


def _drop_step(after: int) -> Callable[[], int | None]:
    def work() -> int | None:
        rows = session.execute(
            select(SearchDocument.document_id, SearchDocument.kind, SearchDocument.id)
            .where(SearchDocument.document_id > after)
            .order_by(SearchDocument.document_id)
            .limit(BATCH)
        ).all()
        for kind in DocumentKind:
            identifiers = [row.id for row in rows if row.kind == kind]
            live = source_of(kind).live(identifiers) if identifiers else set()
            for identifier in set(identifiers) - live:
                index.remove(identifier)
        return rows[-1].document_id if rows else None

    return work
