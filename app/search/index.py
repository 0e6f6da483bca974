"""The search index: storing and removing documents, and finding the best matches.

Verbs call ``put`` and ``remove`` in the transaction of the change; there are no triggers. The
differences between the two databases are in ``sqlite.py`` and ``postgres.py``.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from sqlalchemy import bindparam, delete, func, select

from app.database.session import AfterCommitSignal, AnySelect, Prepared, is_postgresql, session
from app.search import postgres, sqlite
from app.search.documents import ASSIGN_ID, SearchDoc, SearchDocument, Terms
from app.search.expressions import Expression
from app.search.ranking import Tier, TierQuery


class Engine(Protocol):
    """What differs between the databases."""

    # How long a changed document stays pending, to be flushed together with others.
    FLUSH_DELAY_SECONDS: float

    def write(self, document_id: int, doc: SearchDoc, *, is_new: bool, may_wait: bool) -> None:
        """Replace the terms of the document; with ``may_wait`` they may stay pending for a while.

        Searches find the document as it is, pending or not.
        """

    def terms_of(self, doc: SearchDoc) -> Terms | None:
        """The terms of a new document; None if they are computed later."""

    def write_new(self, doc: SearchDoc, terms: Terms | None) -> None:
        """Store a document that has no document id; it may stay pending for a while.

        ``terms`` were computed when it had no display id.
        """

    def erase(self, document_id: int) -> None:
        """Remove the terms of the document."""

    def flush(self, *, own: bool) -> bool:
        """Store the terms of pending documents: those of this process, or all.

        Opens its own units of work. Returns True if flushing all again makes searches faster.
        """

    def refresh(self) -> None:
        """Make the next search of this unit of work find all documents, including pending ones.

        Raises LaneRequired on the event loop, and Unavailable if a write is needed and impossible.
        """

    def matching(self, expression: Expression) -> AnySelect:
        """A query for the document ids of all matches."""

    def best(
        self, queries: Sequence[TierQuery], everything: Sequence[Expression], limit: int
    ) -> list[tuple[int, Tier]]:
        """The ids of the best documents with their tiers, best first.

        The expressions of ``everything`` match in any tier but DISPLAY_ID; the last one is
        complete, the others are faster. If they have few matches, tiers are queried only until the
        tier of each match is known. Empty for a single tier, and after the first page.
        """

    def newest(self, expressions: Sequence[Expression], limit: int) -> list[list[int]]:
        """For each expression, the ids of its newest matches, in descending order."""

    def rare(self, expressions: Sequence[Expression], limit: int) -> list[list[int] | None]:
        """All matches of each expression, None for one that has more than ``limit``.

        The number is estimated if counting would take long.
        """

    def pending_ids(self, limit: int) -> list[str]:
        """The ids of the newest pending tickets and pages that ``newest`` does not find."""


_DOCUMENTS = Prepared(
    select(SearchDocument.document_id, SearchDocument.kind, SearchDocument.id).where(
        SearchDocument.document_id.in_(bindparam("document_ids", expanding=True))
    ),
    planned_once=True,
)
_DOCUMENT_ID = Prepared(
    select(SearchDocument.document_id).where(SearchDocument.id == bindparam("id"))
)


# Emitted after the commit of a document that may be pending.
document_put = AfterCommitSignal()


def _engine() -> Engine:
    return postgres if is_postgresql() else sqlite


def put(doc: SearchDoc, *, may_wait: bool = True) -> None:
    """Index a new or changed document; searches find it at once, and it keeps its document id.

    With ``may_wait``, the flusher stores its terms together with others, which costs less.
    """
    document_id = document_id_of(doc.id)
    is_new = document_id is None
    if document_id is None:
        document_id = int(ASSIGN_ID.first(id=doc.id, kind=str(doc.kind)).place)
    _engine().write(document_id, doc, is_new=is_new, may_wait=may_wait)
    if may_wait:
        document_put.emit_after_commit()


def terms_of(doc: SearchDoc) -> Terms | None:
    """The slow part of ``put_new``, for a document that has no display id yet.

    Call it before a ticket takes its number: other creations wait for the commit from then on.
    """
    return _engine().terms_of(doc)


def put_new(doc: SearchDoc, terms: Terms | None) -> None:
    """Index a document that is not in the index, like ``put``."""
    _engine().write_new(doc, terms)
    document_put.emit_after_commit()


def remove(identifier: str) -> None:
    """Remove a ticket or page, if it is in the index."""
    document_id = session.scalar(
        delete(SearchDocument)
        .where(SearchDocument.id == identifier)
        .returning(SearchDocument.document_id)
        .execution_options(synchronize_session=False)
    )
    if document_id is not None:
        _engine().erase(document_id)


def flush(*, own: bool) -> bool:
    """See ``Engine.flush``."""
    return _engine().flush(own=own)


def flush_delay_seconds() -> float:
    return _engine().FLUSH_DELAY_SECONDS


def document_id_of(identifier: str) -> int | None:
    """The document id of a ticket or page; None if it is not in the index."""
    row = _DOCUMENT_ID.first(id=identifier)
    return row.document_id if row is not None else None


def document_id_after(identifier: str) -> int:
    """A bound above the document ids of all older documents, whether this one is indexed or not."""
    document_id = document_id_of(identifier)
    if document_id is not None:
        return document_id
    older = select(func.max(SearchDocument.document_id)).where(SearchDocument.id < identifier)
    return (session.scalar(older) or 0) + 1


def best(
    queries: Sequence[TierQuery], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    """See ``Engine.best``; raises the errors of ``Engine.refresh``."""
    engine = _engine()
    engine.refresh()
    return engine.best(queries, everything, limit)


def newest(expressions: Sequence[Expression], limit: int) -> list[list[int]]:
    """See ``Engine.newest``; finds nothing that is pending unless ``best`` was called before."""
    return _engine().newest(expressions, limit)


def rare(expressions: Sequence[Expression], limit: int) -> list[list[int] | None]:
    """See ``Engine.rare``; finds nothing that is pending."""
    return _engine().rare(expressions, limit)


def pending_ids(limit: int) -> list[str]:
    """The ids of the newest tickets and pages that are pending, which ``newest`` does not find."""
    return _engine().pending_ids(limit)


def ids_matching(expression: Expression) -> AnySelect:
    """A query for the ids of all matching tickets and pages, for a condition of another query.

    Raises the errors of ``Engine.refresh``.
    """
    engine = _engine()
    engine.refresh()
    document_ids = engine.matching(expression)
    return select(SearchDocument.id).where(SearchDocument.document_id.in_(document_ids))


def documents(document_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """By document id, the kind and id of the ticket or page."""
    rows = _DOCUMENTS.all(document_ids=list(document_ids))
    return {row.document_id: (row.kind, row.id) for row in rows}
