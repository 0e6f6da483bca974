"""What the wiki's pages for people read, in a fixed number of statements.

The API's lists come a page at a time; an index, a tree or a reader shows all of it at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, cast, exists, func, literal_column, or_, select
from sqlalchemy.orm import aliased

from app.accounts import lookup
from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.core.actor import Access, Actor, operation
from app.core.db import AnyRow, Prepared, session
from app.core.errors import Gone, NotFound
from app.core.etag import etag
from app.core.ids import as_uuid
from app.projects.loaders import SeenProject
from app.projects.models import Project
from app.wiki import loaders
from app.wiki.models import WikiLink, WikiPage, WikiRevision

# Pages that an index shows, revisions that a history shows at once, links that one page resolves.
INDEX_SHOWN = 2000
REVISIONS_SHOWN = 50
# Pages of one slug: a live one in each scope, and deleted ones.
PLACES = 50


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page as its readers see it."""

    id: str
    project_id: str | None
    slug: str
    title: str
    body: str
    revision_number: int
    updated_at: int

    @property
    def etag(self) -> str:
        """The weak ETag of this version."""
        return etag(self.updated_at, self.id)


@dataclass(frozen=True, slots=True)
class Found:
    """The page of a reference in a scope, who edited it last, and its namesakes elsewhere.

    The scope is a project, or none.
    """

    project: SeenProject | None
    page: SeenPage
    editor: UserSummary
    elsewhere: list[dict[str, Any]]


def _scope(project_id: str | None) -> Any:
    return WikiPage.project_id == project_id if project_id else WikiPage.project_id.is_(None)


@lru_cache
def _namesakes(by_id: bool, fenced: bool) -> Prepared:
    """Pages of an id or slug with their projects and last editors, live ones first."""
    named = WikiPage.id if by_id else WikiPage.slug
    return Prepared(
        select(
            WikiPage.id,
            WikiPage.project_id,
            WikiPage.slug,
            WikiPage.title,
            WikiPage.body,
            WikiPage.revision_number,
            WikiPage.updated_at,
            WikiPage.deleted_at,
            Project.key,
            Project.name,
            Project.description,
            Project.owner_user_id,
            Project.created_at.label("project_created_at"),
            Project.updated_at.label("project_updated_at"),
            User.id.label("user_id"),
            User.type,
            User.username,
            User.display_name,
        )
        .join(User, User.id == WikiPage.updated_by_user_id)
        .outerjoin(Project, Project.id == WikiPage.project_id)
        .where(named == bindparam("reference"), loaders.seen(fenced=fenced))
        .order_by(WikiPage.deleted_at.is_not(None), WikiPage.created_at.desc(), WikiPage.id.desc())
        .limit(literal_column(str(PLACES), Integer))
    )


@dataclass(frozen=True, slots=True)
class Namesakes:
    """The pages of a slug, or the one of an id, that an actor can see."""

    reference: str
    rows: Sequence[AnyRow]

    def at(self, key: str | None) -> Found | None:
        """The live one in the project of this key, or in none; None where there is no such page.

        The project was not asked for then: whoever wants to know why looks for that first.
        """
        return next((self._found(row) for row in self._live() if row.key == key), None)

    def within(self, project_id: str | None) -> Found:
        """The live one in exactly this scope; raises NotFound or Gone."""
        row = next((row for row in self.rows if row.project_id == project_id), None)
        if row is None:
            raise NotFound("wiki_page", self.reference)
        if row.deleted_at is not None:
            raise Gone("wiki_page", self.reference)
        return self._found(row)

    def places(self) -> list[dict[str, Any]]:
        """Where all live ones are."""
        return [_place(row) for row in self._live()]

    def _live(self) -> list[AnyRow]:
        return [row for row in self.rows if row.deleted_at is None]

    def _found(self, row: AnyRow) -> Found:
        return Found(
            _project(row),
            SeenPage(
                row.id,
                row.project_id,
                row.slug,
                row.title,
                row.body,
                row.revision_number,
                row.updated_at,
            ),
            user_summary(row.user_id, row.type, row.username, row.display_name),
            [_place(other) for other in self._live() if other.id != row.id],
        )


def _project(row: AnyRow) -> SeenProject | None:
    if row.project_id is None:
        return None
    return SeenProject(
        row.project_id,
        row.key,
        row.name,
        row.description,
        row.owner_user_id,
        row.project_created_at,
        row.project_updated_at,
    )


def _place(row: AnyRow) -> dict[str, Any]:
    return {"id": row.id, "slug": row.slug, "title": row.title, "key": row.key, "name": row.name}


@operation(Access.READ)
def namesakes(actor: Actor, reference: str) -> Namesakes:
    """The pages of a slug in all scopes, or the one of an id."""
    fence = loaders.fence(actor)
    identifier = as_uuid(reference)
    statement = _namesakes(identifier is not None, bool(fence))
    return Namesakes(reference, statement.all(reference=identifier or reference, **fence))


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
    authors = lookup.summaries(row.author_user_id for row in rows.values())
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
