"""The link graph: what pages name, which page a slug means, backlinks and broken links.

A ``[[slug]]`` means the page of its own scope, else the global one, else it is broken. That is
decided when the graph is read, so a page made later heals links and a deleted one breaks them.
"""

from functools import lru_cache

from sqlalchemy import ColumnElement, and_, bindparam, delete, exists, insert, or_, select
from sqlalchemy.orm import aliased

from app import markdown
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.pagination import Page
from app.database.pagination import page as paginate
from app.database.session import AnySelect, session
from app.wiki import loaders
from app.wiki.builders import page_summary
from app.wiki.models import WikiLink, WikiPage, WikiTicketLink


def store(wiki_page: WikiPage) -> None:
    """Keep what the page's body names now; links that stay keep their rows."""
    found = markdown.parse(wiki_page.body)
    _replace_slugs(wiki_page.id, set(found.slugs))
    session.execute(delete(WikiTicketLink).where(WikiTicketLink.page_id == wiki_page.id))
    if found.tickets:
        session.execute(
            insert(WikiTicketLink),
            [{"page_id": wiki_page.id, "display_id": display_id} for display_id in found.tickets],
        )


def _replace_slugs(page_id: str, wanted: set[str]) -> None:
    before = set(session.scalars(select(WikiLink.target_slug).where(WikiLink.page_id == page_id)))
    gone = before - wanted
    if gone:
        session.execute(
            delete(WikiLink).where(WikiLink.page_id == page_id, WikiLink.target_slug.in_(gone))
        )
    rows = []
    for slug in sorted(wanted - before):
        identifier = ids.new_id()
        rows.append(
            {
                "id": identifier,
                "page_id": page_id,
                "target_slug": slug,
                "created_at": ids.created_ms(identifier),
            }
        )
    if rows:
        session.execute(insert(WikiLink), rows)


def _has_own_page() -> ColumnElement[bool]:
    """Whether the linking page's own scope has a live page of the slug."""
    own = aliased(WikiPage, name="own")
    return exists(
        select(own.id).where(
            own.slug == WikiLink.target_slug,
            own.deleted_at.is_(None),
            own.project_id == WikiPage.project_id,
        )
    )


def _has_global_page() -> ColumnElement[bool]:
    common = aliased(WikiPage, name="common")
    return exists(
        select(common.id).where(
            common.slug == WikiLink.target_slug,
            common.deleted_at.is_(None),
            common.project_id.is_(None),
        )
    )


@lru_cache
def _linking(fenced: bool) -> AnySelect:
    """Links of live pages that an actor can see (``loaders.fence``)."""
    return (
        select(
            WikiLink.id.label("link_id"),
            WikiLink.created_at,
            WikiLink.target_slug,
            WikiPage.id,
            WikiPage.slug,
            WikiPage.title,
            WikiPage.project_id,
        )
        .join(WikiPage, WikiPage.id == WikiLink.page_id)
        .where(WikiPage.deleted_at.is_(None), loaders.seen(fenced=fenced))
    )


@lru_cache
def _meaning(fenced: bool, is_global: bool) -> AnySelect:
    """Links of a slug that mean the global page of it, or a project's."""
    statement = _linking(fenced).where(WikiLink.target_slug == bindparam("slug"))
    if is_global:
        return statement.where(or_(WikiPage.project_id.is_(None), ~_has_own_page()))
    return statement.where(WikiPage.project_id == bindparam("project_id"))


@lru_cache
def _broken(fenced: bool) -> AnySelect:
    return _linking(fenced).where(and_(~_has_own_page(), ~_has_global_page()))


@operation(Access.READ)
def list_backlinks(
    actor: Actor,
    page_id: str,
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool = False,
) -> Page:
    """The pages whose links mean this one, each once, the newest link first."""
    if as_uuid(page_id) is None:
        raise NotFound("wiki_page", page_id)
    target = loaders.visible(actor, page_id, include_deleted=include_deleted)
    return links_to(actor, target.slug, target.project_id, limit=limit, cursor=cursor)


def links_to(
    actor: Actor, slug: str, project_id: str | None, *, limit: int, cursor: str | None = None
) -> Page:
    """The pages whose links mean the page of this slug and scope, the newest link first."""
    fence = loaders.fence(actor)
    scope = {"project_id": project_id} if project_id is not None else {}
    return paginate(
        _meaning(bool(fence), project_id is None),
        kind="backlink",
        sort=WikiLink.created_at,
        id_column=WikiLink.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [page_summary(row) for row in rows],
        id_key="link_id",
        values={"slug": slug, **scope, **fence},
    )


@operation(Access.READ)
def list_broken_links(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """Links that mean no page, one row per page and target, the newest first."""
    fence = loaders.fence(actor)
    return paginate(
        _broken(bool(fence)),
        kind="broken_link",
        sort=WikiLink.created_at,
        id_column=WikiLink.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [
            {"target_slug": row.target_slug, "page": page_summary(row)} for row in rows
        ],
        id_key="link_id",
        values=fence,
    )
