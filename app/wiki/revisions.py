"""Reading what a page said before."""

from typing import Any

from sqlalchemy import select

from app.accounts import user_refs
from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.pagination import Page
from app.database.pagination import page as paginate
from app.database.session import by_id
from app.wiki import loaders
from app.wiki.builders import revision_json, revision_row_json
from app.wiki.models import WikiRevision


@operation(Access.READ)
def list_revisions(
    actor: Actor,
    page_id: str,
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool = False,
) -> Page:
    """The page's revisions, newest first, without their bodies."""
    page = _page(actor, page_id, include_deleted)
    columns = [column for column in WikiRevision.__table__.columns if column.name != "body"]

    def build(rows: Any) -> list[dict[str, Any]]:
        authors = user_refs.summaries(row.author_user_id for row in rows)
        return [revision_row_json(row, authors[row.author_user_id]) for row in rows]

    return paginate(
        select(*columns).where(WikiRevision.page_id == page),
        kind="revision",
        sort=WikiRevision.created_at,
        id_column=WikiRevision.id,
        limit=limit,
        cursor=cursor,
        build=build,
    )


@operation(Access.READ)
def get_revision(
    actor: Actor, page_id: str, revision_id: str, *, include_deleted: bool = False
) -> dict[str, Any]:
    """One revision with its body; raises NotFound."""
    page = _page(actor, page_id, include_deleted)
    revision = by_id(WikiRevision, revision_id)
    if revision is None or revision.page_id != page:
        raise NotFound("revision", revision_id)
    authors = user_refs.summaries([revision.author_user_id])
    return revision_json(revision, authors[revision.author_user_id])


def _page(actor: Actor, page_id: str, include_deleted: bool) -> str:
    """The id of the page in the path, which must be a UUID."""
    if as_uuid(page_id) is None:
        raise NotFound("wiki_page", page_id)
    return loaders.visible(actor, page_id, include_deleted=include_deleted).id
