"""Wiki pages in search: what is indexed, and what a hit shows."""

from collections.abc import Sequence

from sqlalchemy import bindparam, func, select

from app.database.session import Prepared, session
from app.database.sql_functions import Beginning
from app.search import index
from app.search.documents import DocumentKind, SearchDoc
from app.search.sources import BODY_SHOWN, FoundDocument, HitSource
from app.wiki.models import WikiPage


def document(page: WikiPage) -> SearchDoc:
    return SearchDoc(
        kind=DocumentKind.WIKI_PAGE,
        id=page.id,
        project_id=page.project_id,
        title=page.title,
        body=page.body,
    )


def put(page: WikiPage) -> None:
    """Index the page in the transaction of its change."""
    index.put(document(page))


def remove(page: WikiPage) -> None:
    """Remove the page from the index in the transaction of its deletion."""
    index.remove(page.id)


def _count() -> int:
    return session.scalar(select(func.count()).where(WikiPage.deleted_at.is_(None))) or 0


_HITS = Prepared(
    select(
        WikiPage.id,
        WikiPage.project_id,
        WikiPage.title,
        Beginning(WikiPage.body, BODY_SHOWN).label("body"),
        WikiPage.created_at,
        WikiPage.updated_at,
        WikiPage.slug,
    ).where(
        WikiPage.id.in_(bindparam("identifiers", expanding=True)), WikiPage.deleted_at.is_(None)
    ),
    planned_once=True,
)


def _found(identifiers: Sequence[str]) -> list[FoundDocument]:
    return [
        FoundDocument(
            id=row.id,
            project_id=row.project_id,
            title=row.title,
            body=row.body,
            created_at=row.created_at,
            updated_at=row.updated_at,
            details={"slug": row.slug},
        )
        for row in _HITS.all(identifiers=list(identifiers))
    ]


def _docs(identifiers: Sequence[str]) -> list[SearchDoc]:
    statement = select(WikiPage).where(WikiPage.id.in_(identifiers), WikiPage.deleted_at.is_(None))
    return [document(page) for page in session.scalars(statement)]


def _batch(after: str, size: int) -> list[SearchDoc]:
    pages = session.scalars(
        select(WikiPage)
        .where(WikiPage.id > after, WikiPage.deleted_at.is_(None))
        .order_by(WikiPage.id)
        .limit(size)
        .with_for_update(key_share=True)
    )
    return [document(page) for page in pages]


def _live(identifiers: Sequence[str]) -> set[str]:
    statement = select(WikiPage.id).where(
        WikiPage.id.in_(identifiers), WikiPage.deleted_at.is_(None)
    )
    return set(session.scalars(statement.with_for_update(key_share=True)))


SOURCE = HitSource(
    kind=DocumentKind.WIKI_PAGE, count=_count, found=_found, docs=_docs, batch=_batch, live=_live
)
