"""The verbs of wiki pages. Every save that changes a page adds a revision."""

from typing import Any

from sqlalchemy import select

from app.accounts import user_refs
from app.audit import deletions
from app.audit.service import record
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.clock import next_version
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.etag import check_if_match
from app.core.ids import as_uuid
from app.database.locks import Lock, acquire
from app.database.pagination import Page
from app.database.pagination import page as paginate
from app.database.session import by_id, by_id_or_not_found, session
from app.database.versions import apply_changes, duplicate_is_conflict, touch
from app.projects import loaders as projects
from app.wiki import links, loaders, messages, searching, slugs
from app.wiki.builders import page_json, revision_json, revision_row_json, row_json
from app.wiki.models import WikiPage, WikiRevision, in_scope

BODY_LENGTH = 1_048_576
SUMMARY_LENGTH = 200
MAX_REVISION_NUMBER = 2**31 - 1


@operation(Access.READ)
def list_pages(
    actor: Actor,
    *,
    limit: int,
    cursor: str | None,
    project_id: str | None = None,
    include_deleted: bool = False,
) -> Page:
    """Pages that the actor can see, without bodies, newest first.

    ``project_id`` is an id, or ``null`` for global pages.
    """
    columns = [column for column in WikiPage.__table__.columns if column.name != "body"]
    statement = select(*columns)
    if not include_deleted:
        statement = statement.where(loaders.seen_by(actor), WikiPage.deleted_at.is_(None))
    if project_id == loaders.GLOBAL:
        statement = statement.where(WikiPage.project_id.is_(None))
    elif project_id is not None:
        statement = statement.where(WikiPage.project_id == project_id)
    return paginate(
        statement,
        kind="wiki_page",
        sort=WikiPage.created_at,
        id_column=WikiPage.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [row_json(row) for row in rows],
    )


@operation(Access.READ)
def get_page(
    actor: Actor, reference: str, *, project_id: str | None = None, include_deleted: bool = False
) -> WikiPage:
    return loaders.visible(actor, reference, project_id=project_id, include_deleted=include_deleted)


@operation(Access.WRITE)
def create_page(
    actor: Actor,
    *,
    title: str,
    slug: str | None = None,
    body: str = "",
    project_id: str | None = None,
) -> WikiPage:
    """Create a page with its first revision; by default, the slug is made from the title.

    Raises InvalidField, Conflict ``duplicate_key`` for a slug that is taken in its scope, and
    OutsideAllowlist or Forbidden for a bot that may not write there.
    """
    _check_writable_scope(actor, project_id)
    title = text.line(title, "title")
    text.body(body, "body", BODY_LENGTH)
    acquire(Lock.WIKI_SLUGS)
    if slug is None:
        slug = slugs.from_title(title, project_id)
    elif _is_taken(slugs.checked(slug), project_id):
        raise Conflict("duplicate_key", messages.slug_taken(slug), field="slug")
    identifier = ids.new_id()
    created_at = ids.created_ms(identifier)
    page = WikiPage(
        id=identifier,
        project_id=project_id,
        slug=slug,
        title=title,
        body=body,
        revision_number=1,
        created_by_user_id=actor.id,
        updated_by_user_id=actor.id,
        created_at=created_at,
        updated_at=created_at,
    )
    session.add(page)
    with duplicate_is_conflict("slug", messages.slug_taken(slug)):
        session.flush()
    revision = _add_revision(actor, page, "")
    links.store(page)
    searching.put(page)
    record(
        actor,
        "wiki.created",
        loaders.target(page),
        slug=slug,
        title=title,
        project_id=project_id,
        revision_id=revision.id,
    )
    return page


@operation(Access.WRITE)
def update_page(
    actor: Actor,
    page_id: str,
    *,
    if_match: str | None = None,
    title: str | None = None,
    body: str | None = None,
    summary: str = "",
) -> WikiPage:
    """Save a page as a new revision; a save without changes adds and records nothing.

    ``summary`` is a note on the revision. Raises Conflict ``etag_mismatch``, InvalidField.
    """
    page = loaders.writable(actor, page_id)
    check_if_match(if_match, page.etag)
    fields: dict[str, Any] = {}
    if title is not None:
        fields["title"] = text.line(title, "title")
    if body is not None:
        fields["body"] = text.body(body, "body", BODY_LENGTH)
    text.checked(summary, "summary", SUMMARY_LENGTH)
    changed = apply_changes(page, fields)
    if not changed:
        return page
    page.revision_number += 1
    page.updated_by_user_id = actor.id
    session.flush()
    revision = _add_revision(actor, page, summary)
    body_changed = changed.pop("body", None) is not None
    if body_changed:
        links.store(page)
    searching.put(page)
    record(
        actor,
        "wiki.updated",
        loaders.target(page),
        slug=page.slug,
        changes=changed,
        # A body can be a megabyte, so the event only names its revision.
        body_changed=body_changed,
        revision_id=revision.id,
        revision_number=page.revision_number,
        summary=revision.summary,
    )
    return page


@operation(Access.WRITE)
def delete_page(actor: Actor, page_id: str, *, if_match: str | None = None) -> None:
    """Soft-delete a page: its revisions stay, links to it break."""
    page = loaders.writable(actor, page_id)
    check_if_match(if_match, page.etag)
    page.deleted_at = page.updated_at = next_version(page.updated_at)
    session.flush()
    searching.remove(page)
    record(
        actor,
        "wiki.deleted",
        loaders.target(page),
        slug=page.slug,
        title=page.title,
        revision_number=page.revision_number,
    )


@operation(Access.WRITE)
def restore_page(actor: Actor, reference: str, *, project_id: str | None = None) -> WikiPage:
    """Restore a deleted page with its revisions; links to it work again.

    ``reference`` is its id, or its slug within ``project_id`` (None: the global pages). If several
    deleted pages have the slug, the one deleted last is restored. Raises NotFound, Gone for a
    deleted project, Conflict for a page that is not deleted or whose slug is taken, and Forbidden.
    """
    acquire(Lock.WIKI_SLUGS)
    page = loaders.writable(actor, _deleted(reference, project_id).id, include_deleted=True)
    deletions.check_own(actor, "wiki.deleted", page_id=page.id)
    if _is_taken(page.slug, page.project_id):
        raise Conflict("duplicate_key", messages.another_has_slug(page.slug), field="slug")
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
        page = by_id_or_not_found(WikiPage, reference, "wiki_page")
        if not page.is_deleted:
            raise Conflict("invariant_violation", messages.not_deleted(page.slug))
        return page
    latest = session.scalars(
        select(WikiPage)
        .where(WikiPage.slug == reference, WikiPage.deleted_at.is_not(None), in_scope(project_id))
        .order_by(WikiPage.deleted_at.desc(), WikiPage.id.desc())
    ).first()
    if latest is None:
        raise NotFound("wiki_page", reference)
    return latest


@operation(Access.READ)
def list_revisions(
    actor: Actor,
    page_id: str,
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool = False,
) -> Page:
    """The page's revisions without bodies, newest first."""
    page = loaders.visible_by_id(actor, page_id, include_deleted=include_deleted)
    columns = [column for column in WikiRevision.__table__.columns if column.name != "body"]

    def build(rows: Any) -> list[dict[str, Any]]:
        authors = user_refs.summaries(row.author_user_id for row in rows)
        return [revision_row_json(row, authors[row.author_user_id]) for row in rows]

    return paginate(
        select(*columns).where(WikiRevision.page_id == page.id),
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
    page = loaders.visible_by_id(actor, page_id, include_deleted=include_deleted)
    revision = by_id(WikiRevision, revision_id)
    if revision is None or revision.page_id != page.id:
        raise NotFound("revision", revision_id)
    authors = user_refs.summaries([revision.author_user_id])
    return revision_json(revision, authors[revision.author_user_id])


@operation(Access.READ)
def get_numbered_revision(actor: Actor, page_id: str, number: int) -> dict[str, Any]:
    """One revision with its body by its number; raises NotFound."""
    page = loaders.visible_by_id(actor, page_id)
    statement = select(WikiRevision).where(
        WikiRevision.page_id == page.id, WikiRevision.revision_number == number
    )
    # The column cannot count more revisions than this.
    is_possible = 0 < number <= MAX_REVISION_NUMBER
    revision = session.scalars(statement).first() if is_possible else None
    if revision is None:
        raise NotFound("revision", str(number))
    authors = user_refs.summaries([revision.author_user_id])
    return revision_json(revision, authors[revision.author_user_id])


def saved_json(page: WikiPage) -> dict[str, Any]:
    """The response to a save: the page and its broken links, if there are any."""
    broken = links.broken_of(page)
    return {**page_json(page), **({"broken_links": broken} if broken else {})}


def created_json(page: WikiPage, slug: str | None) -> dict[str, Any]:
    """The response to a create with this slug; ``taken_slug`` is the one made from its title."""
    from_title = slugs.from_words(page.title) if slug is None else page.slug
    taken = {"taken_slug": from_title} if page.slug != from_title else {}
    return {**saved_json(page), **taken}


def _check_writable_scope(actor: Actor, project_id: str | None) -> None:
    """Raise InvalidField, not NotFound, for an unknown project: the request body names it."""
    if project_id is None:
        loaders.check_global(actor)
        return
    try:
        projects.writable(actor, project_id)
    except NotFound as error:
        raise InvalidField("project_id", "not_found", messages.PROJECT_NOT_FOUND) from error


def _is_taken(slug: str, project_id: str | None) -> bool:
    live_page = select(WikiPage.id).where(
        WikiPage.slug == slug, in_scope(project_id), WikiPage.deleted_at.is_(None)
    )
    return session.scalar(live_page) is not None


def _add_revision(actor: Actor, page: WikiPage, summary: str) -> WikiRevision:
    identifier = ids.new_id()
    revision = WikiRevision(
        id=identifier,
        page_id=page.id,
        revision_number=page.revision_number,
        title=page.title,
        body=page.body,
        summary=summary,
        author_user_id=actor.id,
        created_at=ids.created_ms(identifier),
    )
    session.add(revision)
    session.flush()
    return revision
