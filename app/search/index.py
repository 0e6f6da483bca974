"""The index: putting documents in, taking them out, and finding the newest that fit.

``put`` and ``remove`` are called by the verbs, in the transaction of the change; there are no
triggers. What the two databases do differently is in ``sqlite.py`` and ``postgres.py``.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from sqlalchemy import bindparam, delete, func, select

from app.core.bells import Bell
from app.core.db import AnySelect, Prepared, is_postgresql, session
from app.search import postgres, sqlite
from app.search.documents import SearchDoc, Terms
from app.search.expressions import Expression
from app.search.models import SearchDocument
from app.search.places import added
from app.search.ranking import Tier, Wanted


class Engine(Protocol):
    """What each database has its own of."""

    # How long after a change its document may wait for others, which are settled with it.
    GATHERING_SECONDS: float

    def write(self, place: int, doc: SearchDoc, *, is_new: bool, may_wait: bool) -> None:
        """Find the document at this place from now on as it is, not as it was unless new.

        It may wait for others and settle with them; the same is found meanwhile.
        """

    def terms_of(self, doc: SearchDoc) -> Terms | None:
        """The terms of a document that is to be put for the first time; None if made later."""

    def write_new(self, doc: SearchDoc, terms: Terms | None) -> None:
        """Find from now on a document that has no place yet; it may wait.

        Its ``terms`` were made when it had no display id yet.
        """

    def erase(self, place: int) -> None:
        """Forget the terms of the document at this place."""

    def settle(self, *, own: bool) -> bool:
        """Settle some that wait; whether there may be more. Opens its own units of work.

        Of those that this process put, or of all.
        """

    def matching(self, expression: Expression) -> AnySelect:
        """A query for the places of all documents that fit."""

    def best(
        self, wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int
    ) -> list[tuple[int, Tier]]:
        """The places of the best documents, the best first, and of which tier each is.

        ``everything`` says what fits in any tier but for a display id, what is found faster before;
        it is empty where a query has but one tier, or goes on after a page.
        """


_AT = Prepared(
    select(SearchDocument.place, SearchDocument.kind, SearchDocument.id).where(
        SearchDocument.place.in_(bindparam("places", expanding=True))
    ),
    planned_once=True,
)
_PLACE = Prepared(select(SearchDocument.place).where(SearchDocument.id == bindparam("id")))


# Whether a thread of this process should soon ``settle``.
something_waits = Bell()


def _engine() -> Engine:
    return postgres if is_postgresql() else sqlite


def put(doc: SearchDoc, *, may_wait: bool = True) -> None:
    """Index a document, or index it anew; it keeps its place.

    It is found at once. Where it may wait, it settles with others a moment later, which costs less;
    the bell tells the thread that sees to it.
    """
    place = place_of(doc.id)
    is_new = place is None
    if place is None:
        place = added(doc)
    _engine().write(place, doc, is_new=is_new, may_wait=may_wait)
    if may_wait:
        something_waits.ring_after_commit()


def terms_of(doc: SearchDoc) -> Terms | None:
    """What ``put_new`` needs and takes a while to make, of a document without its display id.

    This is for before its number is taken, as all who want the next one wait until whoever took it
    has committed.
    """
    return _engine().terms_of(doc)


def put_new(doc: SearchDoc, terms: Terms | None) -> None:
    """Index a document that was not there before, as ``put`` does."""
    _engine().write_new(doc, terms)
    something_waits.ring_after_commit()


def remove(identifier: str) -> None:
    """Take a document out, if it is in."""
    place = session.scalar(
        delete(SearchDocument)
        .where(SearchDocument.id == identifier)
        .returning(SearchDocument.place)
        .execution_options(synchronize_session=False)
    )
    if place is not None:
        _engine().erase(place)


def settle(*, own: bool) -> bool:
    """Settle some of the documents that wait; whether there may be more.

    Of those that this process put, or of all. Opens its own units of work.
    """
    return _engine().settle(own=own)


def gathering_seconds() -> float:
    """How long after a change its document may wait for others to settle with it."""
    return _engine().GATHERING_SECONDS


def place_of(identifier: str) -> int | None:
    """The place of a document; None where it is not in the index."""
    row = _PLACE.first(id=identifier)
    return row.place if row is not None else None


def place_after(identifier: str) -> int:
    """The place that all documents made before this one are under, be it in the index or not."""
    place = place_of(identifier)
    if place is not None:
        return place
    older = select(func.max(SearchDocument.place)).where(SearchDocument.id < identifier)
    return (session.scalar(older) or 0) + 1


def best(
    wanted: Sequence[Wanted], everything: Sequence[Expression], limit: int
) -> list[tuple[int, Tier]]:
    """The places of the best documents, the best first, and of which tier each is.

    What ``everything`` is for: see ``Engine``.
    """
    return _engine().best(wanted, everything, limit)


def newest(expression: Expression, below: int, limit: int) -> list[int]:
    """The places of the newest documents that fit, in falling order, all under ``below``."""
    return [place for place, _ in best([Wanted(Tier.ANYWHERE, expression, below)], [], limit)]


def ids_matching(expression: Expression) -> AnySelect:
    """A query for the ids of all documents that fit, to be a condition of another query."""
    places = _engine().matching(expression)
    return select(SearchDocument.id).where(SearchDocument.place.in_(places))


def documents_at(places: Iterable[int]) -> dict[int, tuple[str, str]]:
    """The kind and id of the document at each of these places."""
    rows = _AT.all(places=list(places))
    return {row.place: (row.kind, row.id) for row in rows}
