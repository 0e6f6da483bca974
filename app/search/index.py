"""The index: putting documents in, taking them out, and finding the newest that fit.

``put`` and ``remove`` are called by the verbs, in the transaction of the change; there are no
triggers. A document has a number, its document id, which grows with each new document. What the two
databases do differently is in ``sqlite.py`` and ``postgres.py``.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from sqlalchemy import bindparam, delete, func, select

from app.database.session import AfterCommitSignal, AnySelect, Prepared, is_postgresql, session
from app.search import postgres, sqlite
from app.search.document_ids import added
from app.search.documents import SearchDoc, Terms
from app.search.expressions import Expression
from app.search.models import SearchDocument
from app.search.ranking import Tier, Wanted


class Engine(Protocol):
    """What each database has its own of."""

    # How long after a change its document stays pending, for others to be flushed with it.
    FLUSH_DELAY_SECONDS: float

    def write(self, document_id: int, doc: SearchDoc, *, is_new: bool, may_wait: bool) -> None:
        """Find the document from now on as it is, not as it was unless new.

        Where it may wait, its terms may be stored later, but before any search.
        """

    def terms_of(self, doc: SearchDoc) -> Terms | None:
        """The terms of a document that is to be put for the first time; None if made later."""

    def write_new(self, doc: SearchDoc, terms: Terms | None) -> None:
        """Find from now on a document that has no document id yet; it may wait.

        Its ``terms`` were made when it had no display id yet.
        """

    def erase(self, document_id: int) -> None:
        """Forget the terms of the document."""

    def flush(self, *, own: bool) -> None:
        """Store the terms of documents that are pending: of this process, or of all.

        Opens its own units of work.
        """

    def refresh(self) -> None:
        """Have the next search of this unit of work find all that was put.

        Raises LaneRequired on the event loop, and Unavailable where that takes a write and none is
        possible.
        """

    def matching(self, expression: Expression) -> AnySelect:
        """A query for the document ids of all documents that fit."""

    def best(
        self, wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int
    ) -> list[tuple[int, Tier]]:
        """The ids of the best documents, the best first, and of which tier each is.

        ``everything`` says what fits in any tier but for a display id, what is found faster before;
        it is empty where a query has but one tier, or goes on after a page.
        """


_DOCUMENTS = Prepared(
    select(SearchDocument.document_id, SearchDocument.kind, SearchDocument.id).where(
        SearchDocument.document_id.in_(bindparam("document_ids", expanding=True))
    ),
    planned_once=True,
)
_DOCUMENT_ID = Prepared(
    select(SearchDocument.document_id).where(SearchDocument.id == bindparam("id"))
)


# Rung when a document was put that may be pending.
document_put = AfterCommitSignal()


def _engine() -> Engine:
    return postgres if is_postgresql() else sqlite


def put(doc: SearchDoc, *, may_wait: bool = True) -> None:
    """Index a document, or index it anew; it keeps its document id.

    It is found at once. Where it may wait, its terms are stored with those of others a moment
    later, which costs less; the bell tells the thread that sees to it.
    """
    document_id = document_id_of(doc.id)
    is_new = document_id is None
    if document_id is None:
        document_id = added(doc)
    _engine().write(document_id, doc, is_new=is_new, may_wait=may_wait)
    if may_wait:
        document_put.emit_after_commit()


def terms_of(doc: SearchDoc) -> Terms | None:
    """What ``put_new`` needs and takes a while to make, of a document without its display id.

    This is for before its number is taken, as all who want the next one wait until whoever took it
    has committed.
    """
    return _engine().terms_of(doc)


def put_new(doc: SearchDoc, terms: Terms | None) -> None:
    """Index a document that was not there before, as ``put`` does."""
    _engine().write_new(doc, terms)
    document_put.emit_after_commit()


def remove(identifier: str) -> None:
    """Take a document out, if it is in."""
    document_id = session.scalar(
        delete(SearchDocument)
        .where(SearchDocument.id == identifier)
        .returning(SearchDocument.document_id)
        .execution_options(synchronize_session=False)
    )
    if document_id is not None:
        _engine().erase(document_id)


def flush(*, own: bool) -> None:
    """Store the terms of documents that are pending: of those that this process put, or of all.

    Opens its own units of work.
    """
    _engine().flush(own=own)


def flush_delay_seconds() -> float:
    """How long after a change its document stays pending, for others to be flushed with it."""
    return _engine().FLUSH_DELAY_SECONDS


def document_id_of(identifier: str) -> int | None:
    """The document id of a ticket or page; None where it is not in the index."""
    row = _DOCUMENT_ID.first(id=identifier)
    return row.document_id if row is not None else None


def document_id_after(identifier: str) -> int:
    """A bound above the ids of all documents made before this one, be it in the index or not."""
    document_id = document_id_of(identifier)
    if document_id is not None:
        return document_id
    older = select(func.max(SearchDocument.document_id)).where(SearchDocument.id < identifier)
    return (session.scalar(older) or 0) + 1


def best(
    wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    """The ids of the best documents, the best first, and of which tier each is.

    What ``everything`` is for, and what is raised: see ``Engine``.
    """
    engine = _engine()
    engine.refresh()
    return engine.best(wanted, everything, limit)


def newest(expression: Expression, below: int, limit: int) -> list[int]:
    """The ids of the newest documents that fit, in falling order, all under ``below``."""
    return [
        document_id
        for document_id, _ in best([Wanted(Tier.ANYWHERE, expression, below)], [], limit)
    ]


def ids_matching(expression: Expression) -> AnySelect:
    """A query for the ids of all tickets and pages that fit, to be a condition of another query.

    Raises as ``Engine.refresh`` does.
    """
    engine = _engine()
    engine.refresh()
    document_ids = engine.matching(expression)
    return select(SearchDocument.id).where(SearchDocument.document_id.in_(document_ids))


def documents(document_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """The kind and id of the ticket or page of each of these documents."""
    rows = _DOCUMENTS.all(document_ids=list(document_ids))
    return {row.document_id: (row.kind, row.id) for row in rows}
