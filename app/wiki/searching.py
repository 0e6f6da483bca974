"""Wiki pages in search: what is indexed, and the content of a hit."""

from collections.abc import Sequence

from sqlalchemy import bindparam, select

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


SOURCE = HitSource(
    kind=DocumentKind.WIKI_PAGE, model=WikiPage, document=document, found=_found, docs=_docs
)
