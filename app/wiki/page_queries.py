"""What the wiki's pages for people read, in a fixed number of statements.

The API's lists come a page at a time; an index, a tree or a reader shows all of it at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, cast, exists, func, or_, select
from sqlalchemy.orm import aliased

from app.accounts import user_refs
from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.core.actor import Access, Actor, operation
from app.core.errors import Gone, NotFound
from app.core.ids import as_uuid
from app.database.session import AnyRow, Prepared, session
from app.projects.models import Project
from app.wiki import loaders
from app.wiki.models import WikiLink, WikiPage, WikiRevision
from app.wiki.slug_resolution import SeenPage


@dataclass(frozen=True, slots=True)
class LastSave:
    """The revision that a page has, who saved it, and when."""

    revision_number: int
    by: UserSummary
    at: int


@lru_cache
def _same_slug(by_id: bool, fenced: bool) -> Prepared:
    return Prepared(
        select(
            WikiPage.project_id,
            WikiPage.revision_number,
            WikiPage.updated_at,
            WikiPage.deleted_at,
            User.id.label("user_id"),
            User.type,
            User.username,
            User.display_name,
        )
        .join(User, User.id == WikiPage.updated_by_user_id)
        .where(
            (WikiPage.id if by_id else WikiPage.slug) == bindparam("reference"),
            loaders.seen(fenced=fenced),
        )
        .order_by(WikiPage.deleted_at.is_not(None))
    )


@operation(Access.READ)
def last_save(actor: Actor, reference: str, project_id: str | None) -> LastSave:
    """The last save of a slug or id in exactly this scope; raises NotFound or Gone."""
    identifier = as_uuid(reference)
    fence = loaders.fence(actor)
    rows = _same_slug(identifier is not None, bool(fence)).all(
        reference=identifier or reference, **fence
    )
    row = next((row for row in rows if row.project_id == project_id), None)
    if row is None:
        raise NotFound("wiki_page", reference)
    if row.deleted_at is not None:
        raise Gone("wiki_page", reference)
    by = user_summary(row.user_id, row.type, row.username, row.display_name)
    return LastSave(row.revision_number, by, row.updated_at)


# Pages that an index shows, and revisions that a history shows at once.
INDEX_SHOWN = 2000
REVISIONS_SHOWN = 50


def _scope(project_id: str | None) -> Any:
    return WikiPage.project_id == project_id if project_id else WikiPage.project_id.is_(None)


@operation(Access.READ)
def index(actor: Actor, project_id: str | None, *, orphans: bool = False) -> Sequence[AnyRow]:
    """The live pages of a scope by title, with who edited them last; only so many."""
    statement = (
        select(
            WikiPage.id,
            WikiPage.slug,
            WikiPage.title,
            WikiPage.updated_at,
            WikiPage.revision_number,
            User.display_name,
        )
        .join(User, User.id == WikiPage.updated_by_user_id)
        .where(_scope(project_id), WikiPage.deleted_at.is_(None), loaders.seen_by(actor))
        .order_by(func.lower(WikiPage.title), WikiPage.id)
        .limit(INDEX_SHOWN)
    )
    if orphans:
        source = aliased(WikiPage, name="source")
        linked = exists(
            select(WikiLink.id)
            .join(source, source.id == WikiLink.page_id)
            .where(
                WikiLink.target_slug == WikiPage.slug,
                source.id != WikiPage.id,
                source.deleted_at.is_(None),
                or_(source.project_id == WikiPage.project_id, WikiPage.project_id.is_(None)),
            )
        )
        statement = statement.where(~linked)
    return session.execute(statement).all()


@operation(Access.READ)
def history(
    actor: Actor, page: SeenPage, *, before: int | None = None
) -> tuple[list[dict[str, Any]], bool]:
    """The page's revisions without their bodies, newest first, and whether there are older ones."""
    statement = (
        select(
            WikiRevision.id,
            WikiRevision.revision_number,
            WikiRevision.title,
            WikiRevision.summary,
            WikiRevision.created_at,
            cast(func.length(WikiRevision.body), Integer).label("length"),
            User.id.label("user_id"),
            User.type,
            User.username,
            User.display_name,
        )
        .join(User, User.id == WikiRevision.author_user_id)
        .where(WikiRevision.page_id == page.id)
        .order_by(WikiRevision.revision_number.desc())
        # One more gives the length that the last one shown grew from.
        .limit(REVISIONS_SHOWN + 1)
    )
    if before is not None:
        statement = statement.where(WikiRevision.revision_number < before)
    rows = session.execute(statement).all()
    lengths = [row.length for row in rows[1:]] + [0]
    shown = [
        {
            "id": row.id,
            "revision_number": row.revision_number,
            "title": row.title,
            "summary": row.summary,
            "created_at": row.created_at,
            "grown": row.length - earlier,
            "author": user_summary(row.user_id, row.type, row.username, row.display_name),
        }
        for row, earlier in zip(rows, lengths, strict=True)
    ]
    return shown[:REVISIONS_SHOWN], len(shown) > REVISIONS_SHOWN


@operation(Access.READ)
def numbered(actor: Actor, page: SeenPage, *numbers: int) -> list[dict[str, Any]]:
    """The page's revisions of these numbers, in that order, with their bodies; raises NotFound."""
    largest = max(numbers)
    if largest > page.revision_number:
        raise NotFound("revision", str(largest))
    rows = {
        row.revision_number: row
        for row in session.scalars(
            select(WikiRevision).where(
                WikiRevision.page_id == page.id, WikiRevision.revision_number.in_(numbers)
            )
        )
    }
    missing = [number for number in numbers if number not in rows]
    if missing:
        raise NotFound("revision", str(missing[0]))
    authors = user_refs.summaries(row.author_user_id for row in rows.values())
    return [
        {
            "id": row.id,
            "revision_number": row.revision_number,
            "title": row.title,
            "body": row.body,
            "summary": row.summary,
            "created_at": row.created_at,
            "author": authors[row.author_user_id],
        }
        for row in (rows[number] for number in numbers)
    ]


def keys_of(project_ids: Iterable[str | None]) -> dict[str | None, str]:
    """The keys of these projects by id."""
    wanted = {one for one in project_ids if one is not None}
    if not wanted:
        return {}
    rows = session.execute(select(Project.id, Project.key).where(Project.id.in_(wanted)))
    return {row.id: row.key for row in rows}
