"""Undoing the deletion of a wiki page: a command's business alone."""

from sqlalchemy import ColumnElement, select

from app.audit.service import record
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, Gone, NotFound
from app.core.ids import as_uuid
from app.database.locks import Lock, hold
from app.database.session import by_id, session
from app.database.versions import touch
from app.projects.models import Project
from app.wiki import loaders, searching
from app.wiki.models import WikiPage


@operation(Access.HUMAN)
def restore_page(actor: Actor, reference: str, *, project_id: str | None = None) -> WikiPage:
    """Bring a deleted page back, with its revisions; links to it heal.

    ``reference`` is its id, or its slug within ``project_id`` (None: the global pages); of several
    deleted pages of a slug, the one deleted last. Raises NotFound, Gone for a deleted project, and
    Conflict where the page is not deleted or a live one has its slug.
    """
    hold(Lock.WIKI_SLUGS)
    page = _deleted(reference, project_id)
    if page.project_id is not None and session.get_one(Project, page.project_id).is_deleted:
        raise Gone("project", page.project_id)
    live = select(WikiPage.id).where(
        WikiPage.slug == page.slug, WikiPage.deleted_at.is_(None), _in_scope(page.project_id)
    )
    if session.scalar(live) is not None:
        raise Conflict("duplicate_key", f"A live page has the slug {page.slug}.", field="slug")
    page.deleted_at = None
    touch(page)
    session.flush()
    searching.put(page)
    record(
        actor,
        "wiki.restored",
        loaders.target(page),
        slug=page.slug,
        title=page.title,
        revision_number=page.revision_number,
    )
    return page


def _deleted(reference: str, project_id: str | None) -> WikiPage:
    if as_uuid(reference) is not None:
        page = by_id(WikiPage, reference)
        if page is None:
            raise NotFound("wiki_page", reference)
        if not page.is_deleted:
            raise Conflict("invariant_violation", f"The page {page.slug} is not deleted.")
        return page
    found = session.scalars(
        select(WikiPage)
        .where(WikiPage.slug == reference, WikiPage.deleted_at.is_not(None), _in_scope(project_id))
        .order_by(WikiPage.deleted_at.desc(), WikiPage.id.desc())
    ).first()
    if found is None:
        raise NotFound("wiki_page", reference)
    return found


def _in_scope(project_id: str | None) -> ColumnElement[bool]:
    return WikiPage.project_id == project_id if project_id else WikiPage.project_id.is_(None)
