"""Building the index anew, in small transactions, while the server runs.

A change made meanwhile is indexed by its own verb; a batch locks the rows it reads, so the later of
the two writes what is newer.
"""

import logging
from collections.abc import Callable, Iterator

from sqlalchemy import select, text

from app.database.session import is_postgresql, reading, run_write, session
from app.search import index
from app.search.documents import DocumentKind
from app.search.models import SearchDocument
from app.search.sources import source, sources

log = logging.getLogger(__name__)

BATCH = 200
# Before all ids.
FIRST = "00000000-0000-0000-0000-000000000000"


def total() -> int:
    """How many documents there are to index; in a unit of work."""
    return sum(one.count() for one in sources())


def build_lost() -> None:
    """Index everything where nothing is indexed: what is older than the index, or a lost one."""
    with reading():
        is_lost = (
            session.scalar(select(SearchDocument.document_id).limit(1)) is None and total() > 0
        )
    if is_lost:
        log.warning("the search index is empty and is built anew")
        for _ in reindex():
            pass


def reindex() -> Iterator[int]:
    """Index every live document anew and drop the others; yields how many each step dealt with.

    Documents come in the order in which they were made, whatever their kind, so an index that was
    lost comes back with every document in its order.
    """
    after = FIRST
    while True:
        indexed, after = run_write(_step(after))
        if not indexed:
            break
        yield indexed
    _drop_dead()
    index.flush(own=False)
    run_write(_count)


def _count() -> None:
    """Tell PostgreSQL's planner what there is now, before it finds out by itself."""
    if is_postgresql():
        session.execute(text("ANALYZE search_docs, search_fts"))


def _step(after: str) -> Callable[[], tuple[int, str]]:
    def work() -> tuple[int, str]:
        docs = [doc for one in sources() for doc in one.batch(after, BATCH)]
        docs.sort(key=lambda doc: doc.id)
        for doc in docs[:BATCH]:
            index.put(doc, may_wait=False)
        return len(docs[:BATCH]), docs[:BATCH][-1].id if docs else after

    return work


def _drop_dead() -> None:
    """Take out what is indexed and no longer live."""
    after = 0
    while True:
        done = run_write(_drop_step(after))
        if done is None:
            return
        after = done


def _drop_step(after: int) -> Callable[[], int | None]:
    def work() -> int | None:
        rows = session.execute(
            select(SearchDocument.document_id, SearchDocument.kind, SearchDocument.id)
            .where(SearchDocument.document_id > after)
            .order_by(SearchDocument.document_id)
            .limit(BATCH)
        ).all()
        for kind in DocumentKind:
            wanted = [row.id for row in rows if row.kind == kind]
            for identifier in set(wanted) - (source(kind).live(wanted) if wanted else set()):
                index.remove(identifier)
        return rows[-1].document_id if rows else None

    return work
